/** The answer to a request of the playground, as events in canonical form. */
import type { GenerateEvent, GenerateRequest } from "../../canonical/generate.ts";
import { isJsonObject, type JsonObject, parseJson } from "../../canonical/json.ts";
import type { RequestContext } from "../../context/request_context.ts";
import type { WireClient } from "../../contract/driver.ts";
import { GatewayError, toGatewayError } from "../../errors.ts";
import { formatFrame } from "../../http/framing.ts";
import type { ByteSource } from "../../platform/transport.ts";
import { FrameSource } from "../../upstream/frames.ts";
import { readEvents } from "../../upstream/read_events.ts";
import { runSliced } from "../../util/sliced_work.ts";

/** A request as its wire writes it. */
export interface Written {
  wire: string;
  /** Below the gateway's address. */
  path: string;
  body: JsonObject;
  /** The changes that the wire made necessary. */
  notes: string[];
}

/** How far back the entry of a request that has just ended may stand in the feed. */
const LATEST = 500;
/** How much of an answer is kept that is no stream, in characters. */
const LONGEST_REST = 65_536;

/**
 * Turns the answer into server-sent events: `head`, the events of the answer, and `ended`, the request's line in the log.
 * A refusal is an `error` event.
 */
export function answerAsEvents(input: GenerateRequest, written: Written, client: WireClient, context: RequestContext) {
  return (answer: Response): Response => {
    const { gateway: { observe: { feed, captures } } } = context;
    const id = answer.headers.get("x-request-id") ?? "";
    const head = {
      type: "head",
      id,
      status: answer.status,
      target: answer.headers.get("x-laneway-target") ?? undefined,
      notes: answer.headers.get("x-laneway-notes") ?? undefined,
      path: written.path,
      lost: written.notes,
      isRecorded: captures !== undefined,
    };
    const ended = () => {
      const entry = feed?.since(feed.count - LATEST).findLast((one) => one.id === id);
      return { type: "ended", entry };
    };
    const events = new Events(answer, input, client);
    const steps = (async function* () {
      yield [head];
      try {
        for (let read = await events.next(); read; read = await events.next()) yield read;
      } catch (thrown) {
        const { code, message } = toGatewayError(thrown);
        yield [{ type: "error", error: { code, message } }];
      }
      yield [ended()];
    })();
    return new Response(bodyOf(steps, () => events.cancel()), {
      headers: { "content-type": "text/event-stream; charset=utf-8", "cache-control": "no-store" },
    });
  };
}

/** Reads no further than the page does, and ends the request when the page leaves. */
function bodyOf(steps: AsyncGenerator<readonly object[]>, cancel: () => Promise<void>): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  return new ReadableStream({
    async pull(controller) {
      const { value, done } = await steps.next();
      if (done) return controller.close();
      const text = value.map((event) => formatFrame({ data: JSON.stringify(event, plainError) })).join("");
      // A batch without events is a sign of life.
      controller.enqueue(encoder.encode(text || formatFrame({ comment: "keep-alive" })));
    },
    cancel,
  }, { highWaterMark: 0 });
}

/** An error has more fields than the page needs. */
function plainError(_: string, value: unknown): unknown {
  return value instanceof GatewayError ? { code: value.code, message: value.message } : value;
}

/** The events in the body of an answer, one batch per read. */
class Events {
  readonly #answer: Response;
  readonly #bytes: ByteSource;
  readonly #frames: FrameSource;
  readonly #reader: ReturnType<WireClient["stream"]["reader"]>;
  #isOver = false;

  constructor(answer: Response, input: GenerateRequest, { stream }: WireClient) {
    this.#answer = answer;
    const body = answer.body?.getReader();
    this.#bytes = {
      read: async () => (await body?.read())?.value,
      cancel: async () => await body?.cancel(),
    };
    this.#frames = new FrameSource(this.#bytes, stream.framing);
    const target = { upstream: "", model: "", systemMessages: "first" as const };
    this.#reader = stream.reader(input, target, { clientWire: "", note() {}, inputTokens: 0 });
  }

  async next(): Promise<readonly GenerateEvent[] | undefined> {
    if (this.#isOver) return undefined;
    if (!this.#answer.ok) throw await this.#refusal();
    const events: GenerateEvent[] = [];
    const emit = (event: GenerateEvent) => void events.push(event);
    const frames = await this.#frames.next();
    if (!frames) this.#isOver = true;
    try {
      if (frames && !this.#reader.done) await readEvents(frames, this.#reader, emit);
      const work = frames || this.#reader.done ? undefined : this.#reader.end(emit);
      if (work) await runSliced(work);
    } catch (failure) {
      await this.#readToEnd();
      throw failure;
    }
    return events;
  }

  async cancel(): Promise<void> {
    this.#isOver = true;
    await this.#bytes.cancel();
  }

  /** The error in the shape of its wire: a text, or an object with one. */
  async #refusal(): Promise<GatewayError> {
    const body = parseJson(await this.#readToEnd());
    const error = isJsonObject(body) ? body.error : undefined;
    const message = isJsonObject(error) ? error.message : error;
    const says = typeof message === "string" ? message : `The gateway answered ${this.#answer.status}`;
    return new GatewayError("invalid_request", says);
  }

  /** The request is in the log once its answer has ended. */
  async #readToEnd(): Promise<string> {
    this.#isOver = true;
    const decoder = new TextDecoder();
    let text = "";
    for (let read = await this.#bytes.read(); read; read = await this.#bytes.read()) {
      if (text.length < LONGEST_REST) text += decoder.decode(read, { stream: true });
    }
    return text;
  }
}
