/** Which targets a request tries, in which order, and what is learned about them on the way. */
import type { GenerateRequest } from "../canonical/generate.ts";
import type { RequestContext } from "../context/request_context.ts";
import { type PlannedTarget, targetName } from "../contract/planned_target.ts";
import { toGatewayError } from "../errors.ts";
import type { Lane } from "../lanes/lane.ts";
import type { Resolution } from "../lanes/resolution.ts";
import type { FailoverPlan } from "../routing/failover.ts";
import { drawsOf, orderByDraw } from "../routing/rendezvous.ts";
import { conversationKey, orderByAffinity } from "../routing/session_affinity.ts";

export interface PlanOptions {
  /** How long a stream may be silent before the next target is tried as well, in milliseconds. */
  hedgeAfterMs?: number;
  /** Identifies the conversation, if its targets depend on that. */
  conversation?: string;
}

/** The plan for a request's targets. It counts and records each attempt, and keeps the session affinity. */
export function planFailover(
  targets: readonly PlannedTarget[],
  { gateway, signal, caller, requestLog }: RequestContext,
  { hedgeAfterMs, conversation }: PlanOptions = {},
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
    hedge: hedgeAfterMs === undefined ? undefined : { afterMs: hedgeAfterMs, spend: () => isHedge = hedges.spend() },
    // A failure with one caller's own token says nothing about the tokens of other callers.
    idOf: (where) =>
      upstreams.get(where.upstream)?.takesTokens ? `${targetName(where)} ${caller.owner}` : targetName(where),
    acquire: (where, until) => upstreams.get(where.upstream)?.concurrency?.acquire(caller.owner, until),
    onAsk(where) {
      requestLog.asked++;
      const again = asked.has(where) ? "retry" : "failover";
      const reason = asked.size === 0 ? "first" : isHedge ? "hedge" : again;
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

export interface Affinity extends Resolution {
  conversation?: string;
}

/**
 * The targets in the order in which this conversation tries them. If there is only one to choose, its last target is
 * not looked up.
 */
export function withAffinity(
  resolution: Resolution,
  input: Pick<GenerateRequest, "model" | "cacheKey" | "messages">,
  lane: Lane,
  { gateway, caller: { owner }, request }: RequestContext,
): Affinity {
  const { targets } = resolution;
  const policiesOf = (upstream: string) => gateway.upstreams.get(upstream)?.providers?.policies;
  if (targets.length < 2 && !targets.some(({ upstream }) => policiesOf(upstream))) return resolution;
  const scope = [owner, lane.name, input.model];
  const conversation = conversationKey(scope, input, request.headers, gateway.routing.sessionHeaders);
  const ordered = orderByDraw(targets, drawsOf(conversation));
  const last = gateway.routing.affinity.of(conversation, targetName(ordered[0]!));
  return { ...resolution, conversation, targets: orderByAffinity(ordered, last, policiesOf) };
}
