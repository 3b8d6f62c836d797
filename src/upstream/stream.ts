/** One operation at one upstream, streamed: bytes are read, split into frames and parsed as events. */
import type { Message, ToolCallPart } from "../canonical/generate.ts";
import type { Input, ModelOperation, StreamEvent } from "../canonical/operations.ts";
import { withoutConversation } from "../canonical/relay.ts";
import { REPLAY } from "../canonical/replay.ts";
import { type EventSource, opening, sourceOf, type Steps } from "../util/event_source.ts";
import { runSliced, runStep, type SlicedWork } from "../util/sliced_work.ts";
import type { UpstreamOperation } from "../contract/driver.ts";
import type { Frame } from "../contract/frame.ts";
import type { StreamReader } from "../contract/stream.ts";
import type { GatewayError } from "../errors.ts";
import type { ByteSource, TransportResponse } from "../platform/transport.ts";
import { LimitedEvents } from "./answer_text.ts";
import { type AnswerBill, type Attempt, cannotStream, isGivenUp, wayOf } from "./attempt.ts";
import { describe, open } from "./call.ts";
import { Watch } from "./deadlines.ts";
import { BEGINS_EVENTS, FrameSource, isEvent } from "./frames.ts";
import { readEvents } from "./read_events.ts";
import { answer, respond } from "./run.ts";
import { brokenOff, parserFor, readReply } from "./send.ts";

/** The streamed answer. Fails if the upstream fails. Cancelling it ends the call. */
export function stream<K extends ModelOperation>(attempt: Attempt<K>): EventSource<StreamEvent<K>> {
  return opening(() => openStream(attempt));
}

async function openStream<K extends ModelOperation>(attempt: Attempt<K>): Promise<EventSource<StreamEvent<K>>> {
  const way = wayOf(attempt);
  const replay = REPLAY[attempt.operation];
  if ("local" in way || !way.stream) {
    if (!replay) throw cannotStream(attempt);
    return sourceOf(replay(await answer(attempt)));
  }
  const opened = attempt.bill?.();
  const bill = opened instanceof Promise ? await opened : opened;
  try {
    return await openCall(attempt, way, bill);
  } catch (thrown) {
    bill?.ended(isGivenUp(attempt));
    throw thrown;
  }
}

async function openCall<K extends ModelOperation>(
  attempt: Attempt<K>,
  way: UpstreamOperation<K>,
  bill: AnswerBill<K> | undefined,
): Promise<EventSource<StreamEvent<K>>> {
  const { operation, input, context, upstream } = attempt;
  const { timeouts, answerBytes, json } = upstream;
  const [call] = await runStep(() => describe(attempt, way));
  if (!call || !way.stream) throw cannotStream(attempt);
  const watch = new Watch(attempt.signal, timeouts.totalMs);
  try {
    watch.begin(timeouts.headMs, "begin to answer");
    const response = await open(call, attempt, watch.signal);
    watch.begin(timeouts.firstEventMs, "send a first event");
    const isStream = isEventStream(response, operation);
    const body = isStream || !response.body ? response.body : await peek(response.body);
    if (body && (isStream || "isEvents" in body && body.isEvents)) {
      const { described: target = attempt.target } = attempt;
      const reader = way.stream.reader(forReader(input), target, context);
      const framing = way.stream.framingAt?.(target) ?? way.stream.framing;
      return new AnswerStream(body, reader, framing, watch, attempt, bill);
    }
    // Some servers send a whole answer although a stream was requested.
    const replay = REPLAY[operation];
    if (!replay) throw cannotStream(attempt);
    const { status, ok, headers } = response;
    const reply = await readReply({ status, ok, headers, body }, answerBytes, json, parserFor(operation));
    const whole = await respond([reply], attempt, way, bill);
    watch.stop();
    return sourceOf(replay(whole));
  } catch (thrown) {
    watch.stop();
    watch.signal.throwIfAborted();
    throw thrown;
  }
}

/**
 * The part of a request that a reader needs. The reader lives as long as the answer, so it keeps only the
 * conversation's tool calls, and nothing of a conversation that is relayed.
 */
function forReader<K extends ModelOperation>(input: Input<K>): Input<K> {
  if ("body" in input) return withoutConversation(input) as Input<K>;
  if ("prompts" in input) return withoutPrompts(input) as Input<K>;
  return "messages" in input
    ? { ...input, messages: [{ role: "assistant", content: callsIn(input.messages) }] }
    : input;
}

/** Only an echo needs the prompts. Whether there are files decides the form of the request, and so where its answer is cut. */
function withoutPrompts({ files, prompts, suffix, ...rest }: Input<"complete">): Input<"complete"> {
  return {
    ...rest,
    prompts: rest.echo ? prompts : prompts.map(() => ""),
    ...(suffix !== undefined && { suffix: "" }),
    ...(files && { files: files.slice(0, 1).map(() => ({ text: "" })) }),
  };
}

/** The tool calls without their arguments. */
function callsIn(messages: readonly Message[]): ToolCallPart[] {
  const calls: ToolCallPart[] = [];
  for (const { role, content } of messages) {
    if (role !== "assistant") continue;
    for (const part of content) if (part.type === "tool-call") calls.push({ ...part, input: "" });
  }
  return calls;
}

/** Some servers and proxies declare a stream as plain text or bytes. A transcript can really be plain text. */
function isEventStream({ headers }: TransportResponse, operation: ModelOperation): boolean {
  const type = headers.get("content-type") ?? "";
  return operation === "transcribe" ? /event-stream/.test(type) : !/[/+]json|html/.test(type);
}

/** The length of the longest beginning of an event stream, and how much blank space may come before it, in characters. */
const [TELLING, MOST_BLANK] = ["retry:".length, 65_536];

/** Reads the first bytes to find out whether they begin an event stream, because some servers declare a stream as JSON. */
async function peek(body: ByteSource): Promise<ByteSource & { isEvents: boolean }> {
  const pieces: Uint8Array[] = [];
  const decoder = new TextDecoder();
  let text = "";
  while (text.trimStart().length < TELLING && text.length < MOST_BLANK) {
    const piece = await body.read().catch((cause) => {
      throw brokenOff(cause);
    });
    if (!piece) break;
    pieces.push(piece.slice());
    text += decoder.decode(piece, { stream: true });
  }
  return {
    isEvents: BEGINS_EVENTS.test(text),
    read() {
      const piece = pieces.shift();
      return piece ? Promise.resolve(piece) : body.read();
    },
    cancel: () => body.cancel(),
  };
}

type Batch<K extends ModelOperation> =
  | readonly StreamEvent<K>[]
  | Promise<readonly StreamEvent<K>[] | undefined>;

/** The events of one streamed answer, one batch per read. */
class AnswerStream<K extends ModelOperation> implements EventSource<StreamEvent<K>>, Steps<StreamEvent<K>> {
  readonly steps: Steps<StreamEvent<K>> = this;
  readonly #frames: FrameSource;
  readonly #reader: StreamReader<StreamEvent<K>>;
  readonly #events: LimitedEvents<StreamEvent<K>>;
  readonly #watch: Watch;
  readonly #idleMs: number;
  readonly #outer: AbortSignal;
  readonly #bill: AnswerBill<K> | undefined;
  /** Some transcript streams end only with the body. A broken connection is not such an end. */
  readonly #endsWithBody: boolean;
  /** Whether the first event has come. */
  #hasBegun = false;
  /** Why the connection broke, if it did. */
  #broken: GatewayError | undefined;
  /** The error to throw after the pending events. */
  #failure: { reason: unknown } | undefined;
  #isWaiting = false;
  /** While it reads on until there are events, a batch may be empty. */
  #isReadingOn = false;
  #isOver = false;
  #isCancelled = false;

  constructor(
    body: ByteSource,
    reader: StreamReader<StreamEvent<K>>,
    framing: ConstructorParameters<typeof FrameSource>[1],
    watch: Watch,
    { operation, upstream, signal }: Attempt<K>,
    bill: AnswerBill<K> | undefined,
  ) {
    this.#frames = new FrameSource(body, framing, upstream);
    this.#reader = reader;
    this.#events = new LimitedEvents(upstream.answerText);
    this.#watch = watch;
    this.#idleMs = upstream.timeouts.idleMs;
    this.#outer = signal;
    this.#bill = bill;
    this.#endsWithBody = operation === "transcribe";
    bill?.follow(this.#events);
  }

  next(): Promise<readonly StreamEvent<K>[] | undefined> {
    return this.read().then(this.take, this.fail);
  }

  /** While a slow client keeps the gateway from reading, the upstream's clock is paused. */
  readonly read = (): Promise<Uint8Array | undefined> => {
    this.#isWaiting = true;
    const bytes = this.#isOver ? undefined : this.#frames.read();
    if (bytes && this.#hasBegun) this.#watch.touch();
    return bytes ?? Promise.resolve(undefined);
  };

  readonly take = (got: unknown): Batch<K> => {
    let work: Promise<void> | undefined;
    try {
      if (!this.#isOver) work = this.#parse(this.#frames.framesIn(got as Uint8Array | undefined));
    } catch (thrown) {
      this.#stop(thrown);
    }
    if (work) return work.catch(this.#stop).then(this.#give);
    const { list } = this.#events;
    const isAmid = !this.#isOver && !this.#reader.done && list[list.length - 1]?.type === "part-delta";
    if (!isAmid) return this.#give();
    this.#events.list = [];
    this.#isWaiting = false;
    return list;
  };

  /** An answer that was complete when the connection broke is whole. Any other answer fails because of the break. */
  readonly fail = (cause: unknown): Batch<K> => {
    this.#broken = brokenOff(cause);
    if (this.#endsWithBody) this.#stop(this.#broken);
    return this.take(undefined);
  };

  /** Reads the frames as events. Without frames, the stream has ended. */
  #parse(frames: readonly Frame[] | undefined): Promise<void> | undefined {
    const { signal } = this.#watch;
    const { add, list } = this.#events;
    let work: SlicedWork<void> | void;
    if (frames) {
      if (!this.#hasBegun && frames.some(isEvent)) this.#begin();
      if (this.#hasBegun) this.#watch.isResting = true;
      if (frames.length !== 1) return readEvents(frames, this.#reader, add, signal, list);
      work = this.#reader.read(frames[0]!, add);
    } else {
      this.#isOver = true;
      work = this.#reader.end(add);
    }
    return (work && runSliced(work, signal)) || undefined;
  }

  /** The first event ends one phase and begins the next. Any further sign of life, including comments, restarts its time. */
  #begin(): void {
    this.#hasBegun = true;
    this.#watch.begin(this.#idleMs, "send another event");
  }

  readonly #give = (): Batch<K> => {
    this.#isOver ||= this.#reader.done;
    const { list } = this.#events;
    if (list.length === 0 && !this.#isOver) return this.#isReadingOn ? list : this.#readOn();
    this.#isWaiting = false;
    if (list.length === 0 || this.#isCancelled) return this.#end();
    this.#events.list = [];
    const last = list.at(-1)!;
    if (last.type === "finish") this.#bill?.finished(last);
    return list;
  };

  async #readOn(): Promise<readonly StreamEvent<K>[] | undefined> {
    this.#isReadingOn = true;
    let events: readonly StreamEvent<K>[] | undefined = [];
    while (events?.length === 0) events = await this.next();
    this.#isReadingOn = false;
    return events;
  }

  readonly #stop = (thrown: unknown): void => {
    const { signal } = this.#watch;
    this.#isOver = true;
    this.#failure = { reason: signal.aborted ? signal.reason : this.#broken ?? thrown };
  };

  async #end(): Promise<undefined> {
    await this.#close();
    if (this.#failure && !this.#isCancelled) throw this.#failure.reason;
    return undefined;
  }

  async cancel(): Promise<void> {
    this.#isCancelled = true;
    this.#isOver = true;
    if (this.#isWaiting) this.#watch.cancel();
    await this.#close();
  }

  async #close(): Promise<void> {
    this.#bill?.ended(this.#isCancelled || this.#outer.aborted);
    await this.#frames.cancel();
    this.#watch.stop();
  }
}
