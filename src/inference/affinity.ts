/** Which target a conversation tries first. */
import type { GenerateRequest } from "../canonical/generate.ts";
import type { RequestContext } from "../context/request_context.ts";
import { targetName } from "../contract/planned_target.ts";
import type { Lane } from "../lanes/lane.ts";
import type { Resolution } from "../lanes/resolution.ts";
import { drawsOf, orderByDraw } from "../routing/rendezvous.ts";
import { conversationKey, orderByAffinity } from "../routing/session_affinity.ts";
import { runStep } from "../util/sliced_work.ts";
import { FACT } from "./facts.ts";
import type { Plan, Stage } from "./inference.ts";

/** Puts the targets in the order in which this conversation tries them. */
export const AFFINITY: Stage<"generate"> = {
  name: "session affinity",
  operations: ["generate", "countTokens"],
  needs: FACT.choice,
  request(inference) {
    const { plan, input, lane, context } = inference;
    return runStep(() => ({ ...inference, plan: withAffinity(plan, input, lane, context) }));
  },
};

function withAffinity(
  resolution: Resolution,
  input: Pick<GenerateRequest, "model" | "cacheKey" | "messages">,
  lane: Lane,
  { gateway, caller: { owner }, request }: RequestContext,
): Plan {
  const { targets } = resolution;
  const policiesOf = (upstream: string) => gateway.upstreams.get(upstream)?.providers?.policies;
  const scope = [owner, lane.name, input.model];
  const conversation = conversationKey(scope, input, request.headers, gateway.routing.sessionHeaders);
  const ordered = orderByDraw(targets, drawsOf(conversation));
  const last = gateway.routing.affinity.of(conversation, targetName(ordered[0]!));
  return { ...resolution, conversation, targets: orderByAffinity(ordered, last, policiesOf) };
}
