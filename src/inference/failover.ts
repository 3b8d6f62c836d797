/** Tries the targets of a request one after the other, and records what is learned about them on the way. */
import type { GenerateEvent } from "../canonical/generate.ts";
import type { Input, ModelOperation, Output } from "../canonical/operations.ts";
import type { RequestContext } from "../context/request_context.ts";
import { type PlannedTarget, targetName } from "../contract/planned_target.ts";
import { toGatewayError } from "../errors.ts";
import { type FailoverPlan, firstAnswer } from "../routing/failover.ts";
import { firstStream } from "../routing/first_stream.ts";
import type { AttemptReason } from "../observe/metric_events.ts";
import type { Attempt } from "../upstream/attempt.ts";
import type { EventSource } from "../util/event_source.ts";
import { runStep } from "../util/sliced_work.ts";
import { ContinuableAnswer, streamedAnswer, type Tries, wholeAnswer } from "./answer.ts";
import { openAttempt } from "./attempt.ts";
import { FACT } from "./facts.ts";
import { forgetConversation } from "./incoming.ts";
import type { Ask, Inference, Stage } from "./inference.ts";

/**
 * Tries the targets until one answers. A streamed answer has begun with its first content; until a whole answer is
 * complete, the client has been sent nothing.
 */
export const FAILOVER: Stage = {
  name: "failover",
  operations: ["generate", "relay", "complete", "decide", "embed", "rerank", "speak", "transcribe", "draw"],
  around(inference, ask) {
    const { operation, input, plan, context } = inference;
    const { conversation, hedgeAfterMs } = plan;
    const isCompletion = operation === "complete";
    if (!isStreamed(operation, input)) {
      const failover = planFailover(plan.targets, context, { conversation, isCompletion });
      return wholeAnswer(() => firstAnswer(failover, (target, signal) => askWhole(inference, target, signal, ask)));
    }
    const failover = planFailover(
      plan.targets,
      context,
      operation === "generate" ? { conversation, hedgeAfterMs } : { conversation, isCompletion },
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
  /** Completions have places of their own at upstreams. */
  isCompletion?: boolean;
}

/** The plan for a request's targets. It counts and records each attempt, and keeps the session affinity. */
function planFailover(
  targets: readonly PlannedTarget[],
  { gateway, signal, caller, requestLog }: RequestContext,
  { hedgeAfterMs, conversation, first = "first", isCompletion }: PlanOptions = {},
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
    acquire(where, until) {
      const { concurrency, completionConcurrency } = upstreams.get(where.upstream) ?? {};
      const permit = (isCompletion ? completionConcurrency : concurrency)?.acquire(caller.owner, until);
      return permit && requestLog.capture ? recordWait(permit, targetName(where), requestLog) : permit;
    },
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
      if (since !== undefined) {
        meter?.count({ type: "served", upstream: where.upstream, ms: monotonic() - since, at: now() });
      }
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

/** Has the recording show how long a call waited for its turn, if it had to. */
async function recordWait<T>(
  permit: Promise<T>,
  name: string,
  { capture, elapsedMs }: RequestContext["requestLog"],
): Promise<T> {
  const from = elapsedMs();
  try {
    return await permit;
  } finally {
    if (elapsedMs() > from) capture?.event("queued", name, undefined, from);
  }
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
  const { input, wire: _wire, added: _added, ...asking } = inference;
  const { context, plan: { conversation } } = asking;
  return new ContinuableAnswer(asking, input, triesFor(context, conversation, ask));
}

/** Also a function of its own: its closures live as long as the answer. */
function triesFor(context: RequestContext, conversation: string | undefined, ask: Ask<"generate">): Tries {
  return {
    plan: (targets) => planFailover(targets, context, { conversation, first: "continuation" }),
    ask: (inference, target, signal) => ask(at(inference, target, openAttempt(inference, target, signal))),
  };
}
