/** Conversations of which a client wants parts cleared before its model reads them. Loaded with the first one. */
import type { GenerateRequest } from "../canonical/generate.ts";
import { applyEdits } from "../transforms/editing.ts";
import { runStep } from "../util/sliced_work.ts";
import { intakeAt } from "./attempt.ts";
import { withTurnsOf } from "./facts.ts";
import type { Inference } from "./inference.ts";
import { withTargets } from "./resolve.ts";

type Edited = Inference<"generate" | "countTokens">;

/**
 * Leaves edits that change something to targets of the client's wire that make them themselves. If there are none, the
 * gateway makes them. A count is always of the gateway's edits: upstreams count what they get.
 */
export async function edited(inference: Edited): Promise<Edited> {
  const { operation, input, protocol, plan, context, exchange, note } = inference;
  const { editing: _, ...rest } = input;
  const able = operation === "countTokens" ? [] : plan.targets.filter((where) => {
    const intake = intakeAt(where, context);
    return intake?.compacts && intake.wire === protocol.wire;
  });
  if (able.length > 0 && able.length === plan.targets.length) return { ...inference, input: rest };
  const speech = await protocol.edits!();
  const { edits, extraOf } = speech.read(input, note);
  const { messages: cleared, applied } = await runStep(() => applyEdits(input, edits));
  const isLeft = able.length > 0;
  if (isLeft && applied.length > 0) return { ...inference, input: rest, plan: withTargets(plan, able) };
  const messages = speech.withoutObsolete(cleared, isLeft);
  exchange.edits = { asked: edits.length > 0, applied };
  const changed: GenerateRequest = { ...rest, messages };
  changed.extra = extraOf(input.extra, isLeft);
  const { compaction } = input;
  if (compaction) changed.compaction = { ...compaction, extra: extraOf(compaction.extra, isLeft) };
  return { ...inference, input: changed, facts: withTurnsOf(inference.facts, changed) };
}
