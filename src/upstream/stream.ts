/** One operation at one upstream, step by step: bytes are read, set apart into frames, and read as events. */
import type { Message, ToolCallPart } from "../canonical/generate.ts";
import type { Input, ModelOperation, StreamEvent } from "../canonical/operations.ts";
import { REPLAY } from "../canonical/replay.ts";
import { type EventSource, opening, sourceOf } from "../util/event_source.ts";
import { finish, step } from "../util/work.ts";
import type { UpstreamOperation } from "../contract/driver.ts";
import type { Frame } from "../contract/frame.ts";
import type { Emit, StreamReader } from "../contract/stream.ts";
import type { GatewayError } from "../errors.ts";
import type { ByteSource, TransportResponse } from "../platform/transport.ts";
import { TextLimit } from "./answer_text.ts";
import { type AnswerBill, type Ask, cannotStream, wayOf } from "./ask.ts";
import { describe, open } from "./call.ts";
import { Watch } from "./deadlines.ts";
import { FrameSource, type Pulse } from "./frames.ts";
import { readEvents } from "./read_events.ts";
import { answer, respond } from "./run.ts";
import { brokenOff, parserFor, readReply } from "./send.ts";

/** The answer step by step. Fails where the upstream does; leaving it early ends the call. */
export function stream<K extends ModelOperation>(ask: Ask<K>): EventSource<StreamEvent<K>> {
  return opening(() => openStream(ask));
}

async function openStream<K extends ModelOperation>(ask: Ask<K>): Promise<EventSource<StreamEvent<K>>> {
  const way = wayOf(ask);
  const replay = REPLAY[ask.operation];
  if ("local" in way || !way.stream) {
    if (!replay) throw cannotStream(ask);
    return sourceOf(replay(await answer(ask)));
  }
  const opened = ask.bill?.();
  const bill = opened instanceof Promise ? await opened : opened;
  try {
    return await openCall(ask, way, bill);
  } catch (thrown) {
    bill?.ended(ask.signal.aborted);
    throw thrown;
  }
}

async function openCall<K extends ModelOperation>(
  ask: Ask<K>,
  way: UpstreamOperation<K>,
  bill: AnswerBill<K> | undefined,
): Promise<EventSource<StreamEvent<K>>> {
  const { operation, input, target, context, upstream } = ask;
  const { timeouts, answerBytes, json } = upstream;
  const [call] = await step(() => describe(ask, way));
  if (!call || !way.stream) throw cannotStream(ask);
  const watch = new Watch(ask.signal, timeouts.totalMs);
  try {
    watch.begin(timeouts.headMs, "begin to answer");
    const response = await open(call, ask, watch.signal);
    watch.begin(timeouts.firstEventMs, "send a first event");
    if (response.body && isEventStream(response, operation)) {
      const reader = way.stream.reader(forReader(input), target, context);
      return new AnswerStream(response.body, reader, way.stream.framing, watch, ask, bill);
    }
    // Some servers answer whole although a stream was asked for.
    const replay = REPLAY[operation];
    if (!replay) throw cannotStream(ask);
    const reply = await readReply(response, answerBytes, json, parserFor(operation));
    const whole = await respond([reply], ask, way, bill);
    watch.stop();
    return sourceOf(replay(whole));
  } catch (thrown) {
    watch.stop();
    watch.signal.throwIfAborted();
    throw thrown;
  }
}

/** What a reader needs to know of a request: it lives as long as the answer, and so has nothing of the conversation but its calls. */
function forReader<K extends ModelOperation>(input: Input<K>): Input<K> {
  return "messages" in input
    ? { ...input, messages: [{ role: "assistant", content: callsIn(input.messages) }] }
    : input;
}

/** The calls of tools, without what they were called with. */
function callsIn(messages: readonly Message[]): ToolCallPart[] {
  const calls: ToolCallPart[] = [];
  for (const { role, content } of messages) {
    if (role !== "assistant") continue;
    for (const part of content) if (part.type === "tool-call") calls.push({ ...part, input: "" });
  }
  return calls;
}

/** Some servers and proxies call a stream plain text or bytes; a transcript can be plain text indeed. */
function isEventStream({ headers }: TransportResponse, operation: ModelOperation): boolean {
  const type = headers.get("content-type") ?? "";
  return operation === "transcribe" ? /event-stream/.test(type) : !/json|html/.test(type);
}

/** The events of one streamed answer: a batch is what one read of the upstream gave. */
class AnswerStream<K extends ModelOperation> implements EventSource<StreamEvent<K>> {
  readonly #frames: FrameSource;
  readonly #reader: StreamReader<StreamEvent<K>>;
  readonly #limit: TextLimit;
  readonly #watch: Watch;
  readonly #outer: AbortSignal;
  readonly #bill: AnswerBill<K> | undefined;
  /** What broke the connection off, if anything did. */
  #broken: GatewayError | undefined;
  /** What is thrown next: the events before it are given first. */
  #failure: { reason: unknown } | undefined;
  #isWaiting = false;
  #isOver = false;
  #isCancelled = false;

  constructor(
    body: ByteSource,
    reader: StreamReader<StreamEvent<K>>,
    framing: ConstructorParameters<typeof FrameSource>[1],
    watch: Watch,
    { operation, upstream, signal }: Ask<K>,
    bill: AnswerBill<K> | undefined,
  ) {
    const pulse = pulseOf(watch, upstream.timeouts.idleMs, (failure) => {
      // Some streams of transcripts have no end but that of the body, which a break is not.
      if (operation === "transcribe") throw failure;
      this.#broken = failure;
    });
    this.#frames = new FrameSource(body, framing, pulse, upstream);
    this.#reader = reader;
    this.#limit = new TextLimit(upstream.answerText);
    this.#watch = watch;
    this.#outer = signal;
    this.#bill = bill;
    bill?.follow(this.#limit);
  }

  async next(): Promise<StreamEvent<K>[] | undefined> {
    const events: StreamEvent<K>[] = [];
    const emit = (event: StreamEvent<K>) => {
      this.#limit.check(event);
      events.push(event);
    };
    this.#isWaiting = true;
    try {
      while (!this.#isOver && events.length === 0) {
        const work = this.#read(await this.#frames.next(), emit);
        if (work) await work;
        this.#isOver ||= this.#reader.done;
      }
    } catch (thrown) {
      this.#fail(thrown);
    }
    this.#isWaiting = false;
    const last = events.at(-1);
    if (last?.type === "finish") this.#bill?.finished(last);
    if (events.length > 0 && !this.#isCancelled) return events;
    await this.#close();
    if (this.#failure && !this.#isCancelled) throw this.#failure.reason;
    return undefined;
  }

  /** What the frames say; without frames, that they have ended. */
  #read(frames: readonly Frame[] | undefined, emit: Emit<StreamEvent<K>>): Promise<void> | void {
    const { signal } = this.#watch;
    if (frames) return readEvents(frames, this.#reader, emit, signal);
    this.#isOver = true;
    const work = this.#reader.end(emit);
    return work ? finish(work, signal) : undefined;
  }

  /** An answer that had its ending when the connection broke is whole; one that had not fails for the break. */
  #fail(thrown: unknown): void {
    const { signal } = this.#watch;
    this.#isOver = true;
    this.#failure = { reason: signal.aborted ? signal.reason : this.#broken ?? thrown };
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

/**
 * The first event ends one phase and begins the next; every further sign of life, comments too, keeps that going. While a
 * slow client keeps the gateway from reading, the upstream's clock stands.
 */
function pulseOf(watch: Watch, idleMs: number, onBroken: (failure: GatewayError) => void): Pulse {
  let begun = false;
  return {
    wait: () => begun ? watch.touch() : undefined,
    beat(event) {
      if (!begun && event) {
        begun = true;
        watch.begin(idleMs, "send another event");
      }
      if (begun) watch.rest();
    },
    broken: (cause) => onBroken(brokenOff(cause)),
  };
}
