import { estimateTextTokens } from "../canonical/estimate.ts";
import type { PlannedTarget } from "../contract/planned_target.ts";
import { firstStream } from "../routing/first_stream.ts";
import { stream } from "../upstream/stream.ts";
import { admit } from "../inference/admit.ts";
import { openAttempt } from "../inference/attempt.ts";
import { explainAll, wantsExplanation } from "../inference/explain.ts";
import { planFailover } from "../inference/failover_plan.ts";
import { type Incoming, openExchange } from "../inference/incoming.ts";
import { resolve } from "../inference/resolve.ts";
import { respondWithStream } from "../inference/stream_response.ts";
import { tracedStream } from "../inference/traced.ts";
import { answerUnary } from "../inference/unary.ts";

/** The text of a recording, whole or as it is recognized. */
export async function transcribe(incoming: Incoming<"transcribe">): Promise<Response> {
  const { protocol, input, wire, lane, context } = incoming;
  const { requestLog } = context;
  const exchange = openExchange(incoming, input);
  const { targets } = await resolve("transcribe", input.model, lane, context);
  if (wantsExplanation(wire)) return explainAll("transcribe", input, targets, context);
  await admit(context, 0);
  if (input.stream) {
    const attempt = (target: PlannedTarget, signal: AbortSignal) =>
      stream(openAttempt("transcribe", input, target, context, { signal }));
    const events = firstStream(planFailover(targets, context), tracedStream(attempt, context));
    return respondWithStream(protocol, exchange, events, context);
  }
  const output = await answerUnary("transcribe", input, targets, context);
  const emitted = estimateTextTokens(output.text);
  if (output.usage && "inputTokens" in output.usage) requestLog.settle(output.usage, () => emitted);
  else requestLog.emittedTokens = emitted;
  return protocol.serialize(output, exchange);
}
