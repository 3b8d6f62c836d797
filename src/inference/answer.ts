/** Answers of models: sources of events, or whole where nobody has looked into them. */
import { collectFrom, Collector, incomplete } from "../canonical/collect.ts";
import type { GenerateEvent, GenerateResponse, OutputPart } from "../canonical/generate.ts";
import type { Input, ModelOperation, Output, StreamEvent } from "../canonical/operations.ts";
import { parseExactly } from "../canonical/raw_number.ts";
import { replayAtOnce } from "../canonical/replay.ts";
import type { PlannedTarget } from "../contract/planned_target.ts";
import type { StreamTransform } from "../contract/stream.ts";
import { GatewayError } from "../errors.ts";
import { type KeptText, uploadBytesOf } from "../http/body_memory.ts";
import type { FailoverPlan } from "../routing/failover.ts";
import { transformed } from "../transforms/apply.ts";
import { type EventSource, opening, sourceOf, type Steps } from "../util/event_source.ts";
import { settleWithin } from "../util/timeout.ts";
import type { Answer, Asking, BrokenAnswer, Held, Inference } from "./inference.ts";

/** An answer that comes whole. It is asked for when it is read. */
export function wholeAnswer<K extends ModelOperation>(whole: () => Promise<Output<K>>): Answer<K> {
  let events: EventSource<StreamEvent<K>> | undefined;
  return {
    whole,
    next() {
      events ??= opening(async () => sourceOf(eventsOf(await whole())));
      return events.next();
    },
    async cancel() {
      await events?.cancel();
    },
  };
}

function eventsOf<K extends ModelOperation>(output: Output<K>): Iterable<StreamEvent<K>> {
  return replayAtOnce(output as GenerateResponse) as Iterable<StreamEvent<K>>;
}

/** An answer that comes as events. The source itself becomes the answer, so that events pass no further step. */
export function streamedAnswer<K extends ModelOperation>(source: EventSource<StreamEvent<K>>): Answer<K> {
  const whole = () => collectFrom(source as EventSource<GenerateEvent>) as Promise<Output<K>>;
  return Object.assign(source, { whole });
}

/** The answer, changed by a transform. A whole answer passes as it is unless `sees` finds something in it. */
export function changedAnswer(
  answer: Answer<"generate">,
  transform: StreamTransform<GenerateEvent>,
  sees: (output: GenerateResponse) => boolean,
  signal: AbortSignal,
): Answer<"generate"> {
  return Object.assign(transformed(answer, transform, signal), {
    async whole() {
      const output = await answer.whole();
      if (!sees(output)) return output;
      return await collectFrom(transformed(sourceOf(replayAtOnce(output)), transform, signal));
    },
  });
}

/** Shows `watch` what a streamed answer and its parts hold besides their texts. */
export function watching(watch: (held: Held) => void): StreamTransform<GenerateEvent> {
  return {
    passesDeltas: true,
    push(event, emit) {
      if (event.type === "part-start") watch(event.part);
      if (event.type === "part-end" || event.type === "finish") watch(event);
      emit(event);
    },
  };
}

/** How the rest of an answer is asked for. */
export interface Tries {
  plan(targets: readonly PlannedTarget[]): FailoverPlan<PlannedTarget>;
  ask(inference: Inference<"generate">, target: PlannedTarget, signal: AbortSignal): EventSource<GenerateEvent>;
}

/** A streamed answer that may go on if it breaks off. The code for that is loaded with the first one that does. */
export class ContinuableAnswer implements BrokenAnswer {
  readonly asking: Asking;
  /** Set once a target serves. */
  served!: PlannedTarget;
  readonly #tries: Tries;
  #input: Input<"generate"> | undefined;
  /** The request as text, which takes less memory than its parts. */
  #kept: KeptText | undefined;
  #source!: EventSource<GenerateEvent>;
  /** How the latest events are read, if by steps. */
  #reading: Steps<GenerateEvent> | undefined;
  readonly #collector = new Collector();
  /** The events from the first call on, if calls are held back. */
  #held: GenerateEvent[] | undefined;
  #isOver = false;

  constructor(asking: Asking, input: Input<"generate">, tries: Tries) {
    this.asking = asking;
    this.#input = input;
    this.#tries = tries;
  }

  get shown(): BrokenAnswer["shown"] {
    return this.#collector.shown;
  }

  over(source: EventSource<GenerateEvent>): EventSource<GenerateEvent> {
    this.#source = source;
    const { stallContinueMs, continuing } = this.#settings();
    // Both look at more than one event.
    const isPlain = stallContinueMs === undefined && !continuing.toolCalls;
    const stepsOf = () => isPlain && this.served && this.#source.steps ? this.#steps : undefined;
    return {
      next: () => this.#next(),
      cancel: () => this.#cancel(),
      get steps() {
        return stepsOf();
      },
    };
  }

  #settings() {
    const { plan, lane: { continuing } } = this.asking;
    return { continuing, stallContinueMs: plan.stallContinueMs ?? continuing.stallContinueMs };
  }

  /** The events of whatever source there is: another one after a break, which may have no steps. */
  readonly #steps: Steps<GenerateEvent> = {
    read: () => {
      this.#reading = this.#source.steps;
      return this.#reading ? this.#reading.read() : this.#source.next();
    },
    take: (got) => {
      const events = this.#reading ? this.#reading.take(got) : got as readonly GenerateEvent[] | undefined;
      if (!events) return this.#pass(events);
      if (events instanceof Promise) return events.then(this.#pass, this.#break);
      this.#see(events);
      return events;
    },
    fail: (thrown) => {
      const events = this.#reading?.fail(thrown);
      return events ? Promise.resolve(events).then(this.#pass, this.#break) : this.#break(thrown);
    },
  };

  readonly #pass = (events: readonly GenerateEvent[] | undefined): Promise<readonly GenerateEvent[] | undefined> => {
    if (!events && !this.#isOver) return this.#break(incomplete());
    if (events) this.#see(events);
    return Promise.resolve(events);
  };

  readonly #break = async (thrown: unknown): Promise<readonly GenerateEvent[] | undefined> => {
    this.#source = await this.#goOn(thrown);
    return await this.#next();
  };

  /** Keeps the request for as long as the answer goes on, if a target could then continue it. */
  keep(target: PlannedTarget): void {
    this.served = target;
    const { asksAgain, context: { requestLog, gateway: { guards } } } = this.asking;
    if (!this.#input || requestLog.isLarge || !isContinued(target, this.asking)) this.#input = undefined;
    // An outer stage that may ask again holds the request anyway.
    if (!this.#input || asksAgain) return;
    const { kept, limits, loadShedder } = guards;
    this.#kept = kept.keep(JSON.stringify(this.#input), uploadBytesOf(limits, loadShedder.limitBytes(limits)));
    this.#input = undefined;
  }

  #release(): void {
    this.#isOver = true;
    this.#input = undefined;
    if (this.#kept) this.asking.context.gateway.guards.kept.release(this.#kept);
  }

  planFor(targets: readonly PlannedTarget[]): FailoverPlan<PlannedTarget> {
    const plan = this.#tries.plan(targets);
    return {
      ...plan,
      onServed: (target) => {
        plan.onServed(target);
        this.served = target;
      },
    };
  }

  askAt(inference: Inference<"generate">, target: PlannedTarget, signal: AbortSignal): EventSource<GenerateEvent> {
    return this.#tries.ask(inference, target, signal);
  }

  async #next(): Promise<readonly GenerateEvent[] | undefined> {
    for (;;) {
      let thrown: unknown;
      try {
        const came = await this.#read();
        const events = came && this.asking.lane.continuing.toolCalls ? this.#hold(came) : came;
        if (events?.length === 0) continue;
        if (events) this.#see(events);
        if (events || this.#isOver) return events;
        thrown = incomplete();
      } catch (failure) {
        thrown = failure;
      }
      this.#held = undefined;
      this.#source = await this.#goOn(thrown);
    }
  }

  /** The next events. A silence that is too long is a break, if the answer can go on. */
  async #read(): Promise<readonly GenerateEvent[] | undefined> {
    const source = this.#source;
    const next = source.next();
    const { stallContinueMs: stallMs } = this.#settings();
    if (stallMs === undefined || !this.#isKept()) return await next;
    const came = await settleWithin(next.then((events) => ({ events })), stallMs);
    if (came) return came.events;
    const { canGoOn } = await import("./continuation.ts");
    if (!canGoOn(this, this.#request()!)) return await next;
    next.catch(() => {}); // the answer goes on without it
    await source.cancel();
    throw new GatewayError("upstream_timeout", `The upstream did not send another event within ${stallMs} ms`);
  }

  /** The events before the first call. The others are complete with the answer: a break before that loses them all. */
  #hold(events: readonly GenerateEvent[]): readonly GenerateEvent[] {
    const first = this.#held ? 0 : events.findIndex((event) => event.type === "part-start" && isCall(event.part));
    if (first < 0) return events;
    this.#held ??= [];
    for (const event of first === 0 ? events : events.slice(first)) this.#held.push(event);
    const passed = events.slice(0, first);
    if (events.at(-1)?.type !== "finish") return passed;
    const all = [...passed, ...this.#held];
    this.#held = undefined;
    return all;
  }

  #isKept(): boolean {
    if (!this.served) return false;
    return this.#input !== undefined || this.#kept?.text !== undefined;
  }

  #request(): Input<"generate"> | undefined {
    if (!this.#isKept()) return undefined;
    const text = this.#kept?.text;
    return this.#input ?? (text === undefined ? undefined : parseExactly(text) as Input<"generate">);
  }

  #see(events: readonly GenerateEvent[]): void {
    if (this.#isKept()) { for (const event of events) this.#collector.add(event); }
    if (events.at(-1)?.type === "finish") this.#release();
  }

  async #goOn(thrown: unknown): Promise<EventSource<GenerateEvent>> {
    try {
      const request = this.#request();
      if (!request) throw thrown;
      // Its place at the upstream is free then.
      await this.#source.cancel();
      const { continueAnswer } = await import("./continuation.ts");
      const rest = await continueAnswer(this, request, thrown);
      if (this.#isOver) await rest.cancel();
      return rest;
    } catch (failure) {
      this.#release();
      throw failure;
    }
  }

  #cancel(): Promise<void> {
    this.#release();
    return this.#source.cancel();
  }
}

function isCall({ type }: OutputPart): boolean {
  return type === "tool-call";
}

/** Whether an answer of the target may go on. Where the configuration says nothing, the upstream has to be known for it. */
function isContinued(
  target: PlannedTarget,
  { plan, lane, context: { gateway: { upstreams }, caller } }: Asking,
): boolean {
  const setting = caller.continuation ?? plan.continuation ?? lane.continuing.continuation;
  if (setting !== undefined) return setting !== "off";
  const { continuation = "off", quirks, driver } = upstreams.get(target.upstream) ?? {};
  return continuation === "auto" ? quirks?.prefill !== undefined || driver?.prefills === true : continuation !== "off";
}
