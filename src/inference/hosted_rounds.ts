/**
 * An answer in which hosted tools run. The model is called, the hosted tools that it calls run, and it is called again
 * with their results, until it answers or calls a tool of the client. All rounds are one answer with one beginning and
 * one end.
 */
import type { GenerateEvent, GenerateRequest, HostedPart, OutputPart } from "../canonical/generate.ts";
import type { HostedCall, HostedResult, HostedWork } from "../canonical/hosted.ts";
import { GatewayError } from "../errors.ts";
import { emptyCall, type HostedFunction, isCallOf, needsApproval } from "../transforms/hosted_functions.ts";
import { withFound } from "../transforms/offered_tools.ts";
import type { EventSource } from "../util/event_source.ts";
import { JoinedRounds, type ReadCall, type Running, Turn, Uses } from "./hosted_turn.ts";

export interface HostedRoundsOptions {
  /** The answer's id without a prefix. The ids of its hosted calls begin with it. */
  id: string;
  request: GenerateRequest;
  functions: readonly HostedFunction[];
  /** Calls the model. `isLast`: hosted tools are no longer offered. */
  ask(request: GenerateRequest, isLast: boolean): EventSource<GenerateEvent>;
  /** Runs one call. Throws only if `signal` is aborted. */
  run(call: HostedCall, work: HostedWork, signal: AbortSignal): Promise<HostedResult>;
  /** Parts that the answer begins with: steps that are done, and calls of earlier turns that run now. */
  before?: readonly HostedPart[];
  /** The greatest number of a hit in the conversation; 0 if there is none. */
  lastHit: number;
  /** How often the model may be called with hosted tools. */
  rounds: number;
  /** The most hosted calls of the answer, even if the request allows more. */
  calls: number;
  /** Whether the time for the whole answer is over. */
  isLate(): boolean;
  /** Whether a budget refused a round. The answer then ends with what it has so far. */
  isUnpaid?(thrown: unknown): boolean;
  /** Whether the client's wire can end an answer that is to be continued. A late answer ends that way. */
  canPause: boolean;
}

/** Runs all rounds, and returns their events as those of one answer. */
export function hostedRounds(options: HostedRoundsOptions): EventSource<GenerateEvent> {
  const answer = new HostedAnswer(options);
  const batches = answer.run();
  return {
    async next() {
      try {
        return (await batches.next()).value ?? undefined;
      } catch (thrown) {
        if (answer.isCancelled) return undefined;
        throw thrown;
      }
    },
    async cancel() {
      await answer.cancel();
      await batches.return(undefined).catch(() => {}); // the caller of `next` gets the error
    },
  };
}

class HostedAnswer {
  readonly #options: HostedRoundsOptions;
  readonly #uses: Uses;
  readonly #out = new JoinedRounds();
  readonly #stop = new AbortController();
  #asked: EventSource<GenerateEvent> | undefined;
  #lastHit: number;
  #count = 0;

  constructor(options: HostedRoundsOptions) {
    this.#options = options;
    this.#uses = new Uses(Math.min(options.calls, options.request.maxHostedCalls ?? Infinity));
    this.#lastHit = options.lastHit;
  }

  get isCancelled(): boolean {
    return this.#stop.signal.aborted;
  }

  /** Ends the current round and the calls that run. */
  async cancel(): Promise<void> {
    this.#stop.abort(new GatewayError("upstream_error", "The answer was abandoned"));
    await this.#asked?.cancel();
  }

  async *run(): AsyncGenerator<GenerateEvent[]> {
    const { rounds, before = [] } = this.#options;
    let { request } = this.#options;
    if (before.length > 0) request = grown(request, yield* this.#begin(before), false);
    for (let round = 1; !this.isCancelled; round++) {
      const isLast = round > rounds || this.#uses.areSpent || this.#options.isLate();
      const turn = new Turn(this.#options.functions, () => this.#newId(), (call, of) => this.#start(call, of, isLast));
      try {
        yield* this.#ask(request, isLast, turn);
      } catch (thrown) {
        const end = this.#options.isUnpaid?.(thrown) && this.#out.cut(this.#options.canPause);
        if (!end) throw thrown;
        return yield [end];
      }
      if (!turn.end || this.isCancelled) return;
      this.#out.spend(turn.end.usage, this.#uses);
      const parts = yield* this.#finishAll(turn);
      const isPaused = this.#isPaused(turn);
      if (isLast || isPaused || turn.isOver) {
        return yield [this.#out.finish(turn, isPaused, isLast)];
      }
      request = grown(request, parts, true);
    }
  }

  #newId(): string {
    return `${this.#options.id}_${this.#count++}`;
  }

  /** A late answer is left to the client if its wire allows that and the client has nothing else to do first. */
  #isPaused({ running, isForClient }: Turn): boolean {
    return this.#options.canPause && running.length > 0 && !isForClient && this.#options.isLate();
  }

  /** The parts of the round, with the results of its calls. */
  async *#finishAll({ content, running }: Turn): AsyncGenerator<GenerateEvent[], OutputPart[]> {
    const parts: OutputPart[] = [...content];
    for (const one of running) {
      const part = await this.#finish(one);
      parts.push(part);
      if (!one.isHidden) yield this.#out.whole(part);
    }
    return parts;
  }

  /** Emits the parts that come before the model's first word. */
  async *#begin(before: readonly HostedPart[]): AsyncGenerator<GenerateEvent[], HostedPart[]> {
    yield this.#out.begin(this.#options.request.model);
    const parts: HostedPart[] = [];
    for await (const part of this.#runBefore(before)) {
      parts.push(part);
      yield this.#out.whole(part);
    }
    return parts;
  }

  async *#ask(request: GenerateRequest, isLast: boolean, turn: Turn): AsyncGenerator<GenerateEvent[]> {
    const source = this.#options.ask(request, isLast);
    this.#asked = source;
    try {
      while (!turn.end) {
        const events = await source.next();
        // A stream that stops without a finish is an error, which later stages report as for any other stream.
        if (!events) return;
        const passed = events.flatMap((event) => turn.take(event)).flatMap((event) => this.#out.pass(event));
        if (passed.length > 0) yield passed;
      }
    } finally {
      await source.cancel();
    }
  }

  async *#runBefore(parts: readonly HostedPart[]): AsyncGenerator<HostedPart> {
    for (const part of parts) {
      yield { ...part, result: undefined };
      if (part.result) yield part;
      else {
        const of = this.#options.functions.find((one) => isCallOf(one, part.call));
        const mayRun = of && (part.wasApproved || !needsApproval(of));
        const running = mayRun && this.#start({ id: part.id, call: part.call }, of, false);
        yield running
          ? { ...part, ...await this.#finish(running) }
          : { ...part, result: { kind: "error", code: "unavailable" } };
      }
    }
  }

  /** Starts a call, unless the limit of calls is reached. */
  #start({ id, call }: ReadCall, of: HostedFunction, isLast: boolean): Running {
    const allowed = !call ? "yes" : isLast ? "ignored" : this.#uses.take(of.work);
    const part: HostedPart = { type: "hosted", id, call: call ?? emptyCall(of) };
    const fail = (code: "invalid_input" | "too_many_uses") => Promise.resolve<HostedResult>({ kind: "error", code });
    if (!call) return { part, result: fail("invalid_input"), isHidden: isLast };
    if (allowed !== "yes") return { part, result: fail("too_many_uses"), isHidden: allowed === "ignored" };
    const result = this.#options.run(call, of.work, this.#stop.signal);
    result.catch(() => {}); // `#finish` gets the error
    return { part, result, isHidden: false };
  }

  async #finish({ part, result }: Running): Promise<HostedPart> {
    const came = await result;
    if (came.kind !== "hits") return { ...part, result: came };
    return { ...part, result: { ...came, hits: came.hits.map((hit) => ({ ...hit, number: ++this.#lastHit })) } };
  }
}

/**
 * The conversation with the parts of this answer so far. A tool choice that forces a call holds for the first round
 * only.
 */
function grown(request: GenerateRequest, content: OutputPart[], isChosen: boolean): GenerateRequest {
  const { toolChoice, ...rest } = request;
  const found = content.flatMap((part) =>
    part.type === "hosted" && part.result?.kind === "found" ? part.result.tools : []
  );
  const keeps = !isChosen || toolChoice?.type === "allowed" || toolChoice?.type === "none";
  const choice = keeps ? toolChoice : { type: "auto" as const };
  return {
    ...rest,
    ...(choice && { toolChoice: choice.type === "allowed" && isChosen ? { ...choice, mode: "auto" } : choice }),
    ...(found.length > 0 && { tools: withFound(request.tools ?? [], found) }),
    messages: [...request.messages, { role: "assistant", content }],
  };
}
