/** Operations whose answers come whole. */
import { estimateInputsTokens } from "../canonical/embed.ts";
import type { Input, ModelOperation, Output } from "../canonical/operations.ts";
import { pairsOf } from "../canonical/rerank.ts";
import type { RequestContext } from "../context/request_context.ts";
import type { PlannedTarget } from "../contract/planned_target.ts";
import { firstAnswer } from "../routing/failover.ts";
import { answer } from "../upstream/run.ts";
import { runStep } from "../util/sliced_work.ts";
import { admit } from "./admit.ts";
import { openAttempt } from "./attempt.ts";
import { maskAnswer } from "./mask_secrets.ts";
import { explainAll, wantsExplanation } from "./explain.ts";
import { planFailover, type PlanOptions } from "./failover_plan.ts";
import { type Incoming, openExchange } from "./incoming.ts";
import { resolve } from "./resolve.ts";
import { traced } from "./traced.ts";

/** The answer of the first target that gives one, with secrets masked. */
export async function answerUnary<K extends ModelOperation>(
  operation: K,
  input: Input<K>,
  targets: readonly PlannedTarget[],
  context: RequestContext,
  options?: PlanOptions,
): Promise<Output<K>> {
  const attempt = (target: PlannedTarget) => answer(openAttempt(operation, input, target, context));
  const answered = await firstAnswer(planFailover(targets, context, options), traced(attempt, context));
  return maskAnswer<K>(answered, context.hide);
}

/** Serves an operation whose cost depends on its input only. */
export async function serveInputs<K extends "embed" | "rerank">(incoming: Incoming<K>): Promise<Response> {
  const { protocol, wire, lane, context } = incoming;
  const { operation } = protocol;
  const exchange = openExchange(incoming, incoming.input);
  const { input } = exchange;
  const { targets } = await resolve(operation, input.model, lane, context);
  if (wantsExplanation(wire)) return explainAll(operation, input, targets, context);
  const tokens = await runStep(() => estimateInputsTokens("documents" in input ? pairsOf(input) : input.input));
  await admit(context, tokens);
  const output = await answerUnary(operation, input, targets, context);
  context.requestLog.settle({ ...output.usage, outputTokens: 0 }, () => 0);
  return protocol.serialize(output, exchange);
}
