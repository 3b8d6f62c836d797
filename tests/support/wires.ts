import { chatDriver, chatProtocols } from "../../plugins/chat/mod.ts";
import { messagesDriver, messagesProtocols } from "../../plugins/messages/mod.ts";
import { responsesDriver, responsesProtocols } from "../../plugins/responses/mod.ts";
import { geminiProtocols } from "../../plugins/gemini/mod.ts";
import { ollamaProtocols } from "../../plugins/ollama/mod.ts";
import type { GenerateEvent, GenerateRequest, GenerateResponse } from "../../src/canonical/generate.ts";
import type { JsonValue } from "../../src/canonical/json.ts";
import type { AnswerContext, Context, WireRequest } from "../../src/contract/context.ts";
import type { Driver, Target, UpstreamOperation } from "../../src/contract/driver.ts";
import type { Frame } from "../../src/contract/frame.ts";
import type { AnyProtocol, Protocol } from "../../src/contract/protocol.ts";
import type { GatewayError } from "../../src/errors.ts";
import { formatFrame } from "../../src/http/framing.ts";
import { readFrames } from "./sources.ts";
import { toArray } from "./chunks.ts";
import { prepareFor } from "./prepare.ts";
import { newContext, newExchange, type TestExchange } from "./context.ts";
import { type Fixture, isStream, reply, wireRequest } from "./fixtures.ts";
import { readEvents, writeFrames } from "../../src/programs/testing/stages.ts";

/** The texts at the end of a stream: after a complete answer, and after a failure. */
interface Marks {
  done: string | RegExp;
  error: string;
}

/** A conversational wire as clients speak it, with its verbs ready to be called in a test. */
export class ClientWire<M extends Marks = Marks> {
  /** That of the wire, which its fixtures and contexts have too. */
  readonly name: string;
  readonly marks: M;
  readonly #protocol: Protocol<"generate">;

  constructor(protocols: readonly AnyProtocol[], marks: M) {
    this.#protocol = protocols.find((protocol) => protocol.operation === "generate")!;
    this.name = this.#protocol.wire;
    this.marks = marks;
  }

  parseRequest(wire: WireRequest, context: Context): GenerateRequest {
    return this.#protocol.parse(wire, context);
  }

  async serializeResponse(output: GenerateResponse, exchange: TestExchange): Promise<JsonValue> {
    return await this.#protocol.serialize(output, exchange).json();
  }

  /** The frames of a stream of these events. */
  writeFrames(events: Iterable<GenerateEvent>, exchange: TestExchange): Frame[] {
    return writeFrames(this.#protocol.stream!.writer(exchange), events);
  }

  /** Like `writeFrames`, as text with the wire's framing. */
  writeText(events: Iterable<GenerateEvent>, exchange: TestExchange): string {
    const format = this.#protocol.stream!.framing === "sse" ? formatFrame : ({ data }: Frame) => `${data}\n`;
    return this.writeFrames(events, exchange).map(format).join("");
  }

  serializeError(error: GatewayError): Response {
    return this.#protocol.serializeError(error, { requestId: "request-1" });
  }

  newExchange(input: GenerateRequest, wire: WireRequest): TestExchange {
    return newExchange(this.name, input, wire, this.#protocol.idPrefix);
  }
}

/** A conversational wire in both roles. */
export class Wire extends ClientWire<Marks & { ending: RegExp }> {
  readonly #driver: Driver;
  readonly vendors: string;

  /**
   * `marks.ending`: where a stream says how the answer ended. `vendors`: a model that knows all of the wire, where others do not:
   * clients of the same wire are sent there.
   */
  constructor(
    protocols: readonly AnyProtocol[],
    driver: Driver,
    marks: Marks & { ending: RegExp },
    vendors = TARGET.model,
  ) {
    super(protocols, marks);
    this.#driver = driver;
    this.vendors = vendors;
  }

  /** The body for the upstream. */
  serializeRequest(input: GenerateRequest, context: Context): JsonValue {
    const target = context.clientWire === this.name ? { ...TARGET, model: this.vendors } : TARGET;
    const prepared = prepareFor(this.#driver, input, target, context);
    const call = this.#operation().request(prepared, target, context);
    if (Array.isArray(call) || call.body instanceof Uint8Array || call.body instanceof Blob) {
      throw new TypeError("One call with JSON was expected");
    }
    return call.body ?? null;
  }

  parseResponse(body: JsonValue, input: GenerateRequest, context: AnswerContext): GenerateResponse {
    return this.#operation().response([{ status: 200, headers: new Headers(), body }], input, TARGET, context);
  }

  /** The events of a stream of these frames. Its failure is the last; `failure`: what breaks the connection after the frames. */
  readEvents(
    frames: Iterable<Frame>,
    input: GenerateRequest,
    context: AnswerContext,
    failure?: unknown,
  ): GenerateEvent[] {
    return readEvents(this.#operation().stream!.reader(input, TARGET, context), frames, failure);
  }

  /** All events that come of a body which answers the fixture's request. */
  async readStream(fixture: Fixture, body: ReadableStream<Uint8Array>): Promise<GenerateEvent[]> {
    return this.readEvents(await toArray(readFrames(body)), this.inputOf(fixture), newContext(this.name));
  }

  /** The fixture's request; a plain one where the gateway refuses it. */
  inputOf(fixture: Fixture): GenerateRequest {
    try {
      return this.parseRequest(wireRequest(fixture), newContext(this.name));
    } catch {
      return { model: "plain", messages: [], stream: isStream(fixture) };
    }
  }

  parseError(fixture: Fixture): GatewayError {
    return this.#driver.parseError(reply(fixture));
  }

  #operation(): UpstreamOperation<"generate"> {
    return this.#driver.operations.generate as UpstreamOperation<"generate">;
  }
}

/** Where requests go in tests. */
export const TARGET: Target = { upstream: "upstream", model: "org/model", systemMessages: "first" };

export const CHAT = new Wire(chatProtocols, chatDriver, {
  done: "data: [DONE]\n\n",
  error: 'data: {"error":{',
  ending: /"finish_reason"\s*:\s*"[^"]|\[DONE\]/,
});

export const MESSAGES = new Wire(messagesProtocols, messagesDriver, {
  done: "event: message_stop\n",
  error: "event: error\n",
  ending: /"stop_reason"\s*:\s*"|"message_stop"/,
}, "claude-opus-5-5");

/** `[DONE]` comes after a failure too; only the event before it tells the two apart. */
export const RESPONSES = new Wire(responsesProtocols, responsesDriver, {
  done: /event: response\.(?:completed|incomplete)\n/,
  error: "event: response.failed\n",
  ending: /(?:"|event: )response\.(?:completed|incomplete|failed)\b/,
}, "gpt-5.2");

/** Spoken to clients only. */
export const OLLAMA = new ClientWire(ollamaProtocols, { done: '"done":true', error: '{"error":"' });

/** Spoken to clients only. The last piece of an answer states its end. */
export const GEMINI = new ClientWire(geminiProtocols, { done: '"finishReason":', error: 'data: {"error":{' });

for (const { load } of [...ollamaProtocols, ...geminiProtocols]) await load?.();

/** Every conversational wire that upstreams speak as well as clients. The golden tables and the laws run over these lists. */
export const WIRES: readonly Wire[] = [CHAT, MESSAGES, RESPONSES];
/** Every conversational wire that clients speak. */
export const CLIENT_WIRES: readonly ClientWire[] = [...WIRES, OLLAMA, GEMINI];
