/** Tries the targets of a request one after the other, and records what is learned about them on the way. */
import { Collector, incomplete } from "../canonical/collect.ts";
import type { GenerateEvent } from "../canonical/generate.ts";
import type { Input, ModelOperation, Output } from "../canonical/operations.ts";
import { parseExactly } from "../canonical/raw_number.ts";
import type { RequestContext } from "../context/request_context.ts";
import { type PlannedTarget, targetName } from "../contract/planned_target.ts";
import { GatewayError, toGatewayError } from "../errors.ts";
import { type FailoverPlan, firstAnswer } from "../routing/failover.ts";
import { firstStream } from "../routing/first_stream.ts";
import type { AttemptReason } from "../observe/metric_events.ts";
import type { Attempt } from "../upstream/attempt.ts";
import type { EventSource } from "../util/event_source.ts";
import { runStep } from "../util/sliced_work.ts";
import { settleWithin } from "../util/timeout.ts";
import { streamedAnswer, wholeAnswer } from "./answer.ts";
import { openAttempt } from "./attempt.ts";
import { FACT } from "./facts.ts";
import { forgetConversation } from "./incoming.ts";
import type { Ask, Asking, BrokenAnswer, Inference, Stage } from "./inference.ts";

/**
 * Tries the targets until one answers. A streamed answer has begun with its first content; until a whole answer is
 * complete, the client has been sent nothing.
 */
export const FAILOVER: Stage = {
  name: "failover",
  operations: ["generate", "relay", "embed", "rerank", "speak", "transcribe"],
  around(inference, ask) {
    const { operation, input, plan, context } = inference;
    const { conversation, hedgeAfterMs } = plan;
    if (!isStreamed(operation, input)) {
      const failover = planFailover(plan.targets, context, { conversation });
      return wholeAnswer(() => firstAnswer(failover, (target, signal) => askWhole(inference, target, signal, ask)));
    }
    const failover = planFailover(
      plan.targets,
      context,
      operation === "generate" ? { conversation, hedgeAfterMs } : { conversation },
    );
    const continuable = context.gateway.routing.continues && operation === "generate"
      ? continuableOf(inference as Inference<"generate">, ask as Ask<"generate">)
      : undefined;
    const events = firstStream(
      "messages" in input && (continuable || !inference.asksAgain)
        ? forgetting(failover, inference as Inference<"generate">, continuable)
        : failover,
      (target, signal) => ask(at(inference, target, openAttempt(inference, target, signal))),
    );
    return streamedAnswer(
      continuable ? continuable.over(events as EventSource<GenerateEvent>) as typeof events : events,
    );
  },
};

interface PlanOptions {
  /** Why the first target is tried. */
  first?: AttemptReason;
  /** How long a stream may be silent before the next target is tried as well, in milliseconds. */
  hedgeAfterMs?: number;
  /** Identifies the conversation, if its targets depend on that. */
  conversation?: string;
}

/** The plan for a request's targets. It counts and records each attempt, and keeps the session affinity. */
function planFailover(
  targets: readonly PlannedTarget[],
  { gateway, signal, caller, requestLog }: RequestContext,
  { hedgeAfterMs, conversation, first = "first" }: PlanOptions = {},
): FailoverPlan<PlannedTarget> {
  const { upstreams, prices, routing, clocks: { now, monotonic }, observe: { meter } } = gateway;
  const { breaker, retry: policy, hedges, affinity } = routing;
  /** When each target was last tried. */
  const asked = new Map<PlannedTarget, number>();
  let isHedge = false;
  gateway.process.shared?.begin();
  if (hedgeAfterMs !== undefined) hedges.earn();
  return {
    targets,
    breaker,
    policy,
    now,
    signal,
    hedge: hedgeAfterMs === undefined
      ? undefined
      : { afterMs: hedgeAfterMs, spend: () => isHedge = !requestLog.areCallsSpent() && hedges.spend() },
    isSpent: () => requestLog.areCallsSpent(),
    // A failure with one caller's own token says nothing about the tokens of other callers.
    idOf: (where) =>
      upstreams.get(where.upstream)?.takesTokens ? `${targetName(where)} ${caller.owner}` : targetName(where),
    acquire: (where, until) => upstreams.get(where.upstream)?.concurrency?.acquire(caller.owner, until),
    onAsk(where) {
      requestLog.asked++;
      const again = asked.has(where) ? "retry" : "failover";
      const reason = asked.size === 0 ? first : isHedge ? "hedge" : again;
      if (reason === "first") requestLog.firsts++;
      asked.set(where, monotonic());
      isHedge = false;
      requestLog.reason = reason;
      meter?.count({ type: "attempt", upstream: where.upstream, reason });
      // The price is needed when the answer has come.
      if (!where.price) void prices.load(where);
    },
    onServed(where) {
      const since = asked.get(where);
      if (since !== undefined) meter?.count({ type: "served", upstream: where.upstream, ms: monotonic() - since });
      const attempt = requestLog.serve(where);
      requestLog.capture?.event("served", targetName(where));
      if (attempt && conversation !== undefined) affinity.keep(conversation, attempt);
    },
    onFailed(where, thrown) {
      const { code } = toGatewayError(thrown);
      meter?.count({ type: "attempt failed", upstream: where.upstream, code, at: now() });
      requestLog.capture?.event("failed", targetName(where), code);
      if (conversation !== undefined) affinity.forget(conversation, targetName(where));
    },
  };
}

/** Speech is passed on as bytes, even if the client gets it as events. */
export function isStreamed(operation: ModelOperation, input: Input<ModelOperation>): boolean {
  return "stream" in input && input.stream === true && operation !== "speak";
}

function askWhole<K extends ModelOperation>(
  inference: Inference<K>,
  target: PlannedTarget,
  signal: AbortSignal,
  ask: Ask<K>,
): Promise<Output<K>> {
  const { requestLog } = inference.context;
  if (!requestLog.isLarge) return ask(at(inference, target, openAttempt(inference, target, signal))).whole();
  const opening = runStep(() => openAttempt(inference, target, signal));
  return Promise.resolve(opening).then((attempt) => ask(at(inference, target, attempt)).whole());
}

/** The inference at one of its targets, with the facts about that target. */
function at<K extends ModelOperation>(
  inference: Inference<K>,
  target: PlannedTarget,
  attempt: Attempt<K>,
): Inference<K> {
  const { trace } = inference.context.requestLog.attemptAt(target) ?? {};
  const facts = inference.facts | (trace ? FACT.traced : 0) | (attempt.target.repairArguments ? FACT.repaired : 0) |
    (attempt.wayBack ? FACT.staged : 0);
  return { ...inference, target, attempt, facts };
}

/** The plan, changed so that the conversation is let go of once an answer begins. */
function forgetting(
  plan: FailoverPlan<PlannedTarget>,
  { exchange, protocol, asksAgain }: Inference<"generate">,
  continuable: ContinuableAnswer | undefined,
): FailoverPlan<PlannedTarget> {
  return {
    ...plan,
    onServed(target) {
      plan.onServed(target);
      continuable?.keep(target);
      if (!asksAgain) forgetConversation(exchange, protocol);
    },
  };
}

/** A function of its own, so that the answer does not hold the conversation. */
function continuableOf(
  inference: Inference<"generate">,
  ask: Ask<"generate">,
): ContinuableAnswer | undefined {
  if (inference.facts & FACT.strict) return undefined;
  const { input, wire: _wire, added: _added, ...rest } = inference;
  return new ContinuableAnswer(rest, input, ask);
}

/** A streamed answer that may go on if it breaks off. The code for that is loaded with the first one that does. */
class ContinuableAnswer implements BrokenAnswer {
  readonly asking: Asking;
  served!: PlannedTarget;
  readonly #ask: Ask<"generate">;
  #input: Input<"generate"> | undefined;
  /** The request as text, which takes less memory than its parts. */
  #kept: string | undefined;
  #source!: EventSource<GenerateEvent>;
  readonly #collector = new Collector();
  #isOver = false;

  constructor(asking: Asking, input: Input<"generate">, ask: Ask<"generate">) {
    this.asking = asking;
    this.#input = input;
    this.#ask = ask;
  }

  get shown(): BrokenAnswer["shown"] {
    return this.#collector.shown;
  }

  over(source: EventSource<GenerateEvent>): EventSource<GenerateEvent> {
    this.#source = source;
    return { next: () => this.#next(), cancel: () => this.#cancel() };
  }

  /** Keeps the request for as long as the answer goes on, if a target could then continue it. */
  keep(target: PlannedTarget): void {
    this.served = target;
    const { asksAgain, context: { requestLog } } = this.asking;
    if (!this.#input || requestLog.isLarge || !isContinued(target, this.asking)) this.#input = undefined;
    // An outer stage that may ask again holds the request anyway.
    if (!this.#input || asksAgain) return;
    this.#kept = JSON.stringify(this.#input);
    this.#input = undefined;
  }

  planFor(targets: readonly PlannedTarget[]): FailoverPlan<PlannedTarget> {
    const { context, plan: { conversation } } = this.asking;
    const plan = planFailover(targets, context, { conversation, first: "continuation" });
    return {
      ...plan,
      onServed: (target) => {
        plan.onServed(target);
        this.served = target;
      },
    };
  }

  askAt(inference: Inference<"generate">, target: PlannedTarget, signal: AbortSignal): EventSource<GenerateEvent> {
    return this.#ask(at(inference, target, openAttempt(inference, target, signal)));
  }

  async #next(): Promise<readonly GenerateEvent[] | undefined> {
    for (;;) {
      let thrown: unknown;
      try {
        const events = await this.#read();
        if (events) this.#see(events);
        if (events || this.#isOver) return events;
        thrown = incomplete();
      } catch (failure) {
        thrown = failure;
      }
      this.#source = await this.#goOn(thrown);
    }
  }

  /** The next events. A silence that is too long is a break, if the answer can go on. */
  async #read(): Promise<readonly GenerateEvent[] | undefined> {
    const source = this.#source;
    const next = source.next();
    const stallMs = this.asking.plan.stallContinueMs ?? this.asking.lane.continuing.stallContinueMs;
    if (stallMs === undefined || !this.#isKept()) return await next;
    const came = await settleWithin(next.then((events) => ({ events })), stallMs);
    if (came) return came.events;
    const { canGoOn } = await import("./continuation.ts");
    if (!canGoOn(this, this.#request()!)) return await next;
    next.catch(() => {}); // the answer goes on without it
    await source.cancel();
    throw new GatewayError("upstream_timeout", `The upstream did not send another event within ${stallMs} ms`);
  }

  #isKept(): boolean {
    return this.#input !== undefined || this.#kept !== undefined;
  }

  #request(): Input<"generate"> | undefined {
    return this.#input ?? (this.#kept === undefined ? undefined : parseExactly(this.#kept) as Input<"generate">);
  }

  #see(events: readonly GenerateEvent[]): void {
    for (const event of events) if (this.#collector.add(event)) this.#isOver = true;
  }

  async #goOn(thrown: unknown): Promise<EventSource<GenerateEvent>> {
    const request = this.#request();
    if (!request || this.#isOver) throw thrown;
    const { continueAnswer } = await import("./continuation.ts");
    const rest = await continueAnswer(this, request, thrown);
    if (this.#isOver) await rest.cancel();
    return rest;
  }

  #cancel(): Promise<void> {
    this.#isOver = true;
    return this.#source.cancel();
  }
}

/** Whether an answer of the target may go on. Where the configuration says nothing, the upstream has to be known for it. */
function isContinued(target: PlannedTarget, { plan, lane, context: { gateway: { upstreams } } }: Asking): boolean {
  const setting = plan.continuation ?? lane.continuing.continuation;
  if (setting !== undefined) return setting !== "off";
  const { continuation = "off", quirks, driver } = upstreams.get(target.upstream) ?? {};
  return continuation === "auto" ? quirks?.prefill !== undefined || driver?.prefills === true : continuation !== "off";
}
