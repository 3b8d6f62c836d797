/** Requests whose answer needs a tool that no upstream of the model runs. The gateway says so; no upstream is asked. */
import type { GenerateResponse } from "../canonical/generate.ts";
import type { FailedTools } from "../canonical/hosted_tools.ts";
import { refuseIfStrict } from "../context/request_context.ts";
import { neededTools } from "../transforms/hosted_tools.ts";
import { wholeAnswer } from "./answer.ts";
import { FACT } from "./facts.ts";
import { runsAt } from "./hosted_tool_policy.ts";
import type { Inference, Stage } from "./inference.ts";
import { withTargets } from "./resolve.ts";

/** The facts that matter to an answer which no model gives. */
const KEPT = FACT.kept | FACT.background | FACT.hostedTools;

/** Chooses the targets that run one of the tools which the answer needs. If there are none, the answer says so. */
export const NEEDED_TOOLS: Stage<"generate"> = {
  name: "needed tools",
  operations: ["generate"],
  needs: FACT.hostedTools,
  request(inference) {
    const { protocol, input, beside, plan, hosted, exchange, context } = inference;
    const needed = hosted ? [] : neededTools(input, beside);
    if (needed.length === 0) return inference;
    const able = plan.targets.filter((where) => needed.some((tool) => runsAt(tool, where, context)));
    if (able.length > 0) return { ...inference, plan: withTargets(plan, able) };
    exchange.input = input;
    const failed = protocol.failTools?.(needed, exchange);
    if (!failed) return inference;
    for (const { name } of needed) inference.note(`dropped tool ${name}`);
    refuseIfStrict(context);
    return { ...inference, failed, plan: withTargets(plan, []), facts: inference.facts & KEPT };
  },
  around: (inference, ask) =>
    inference.failed ? wholeAnswer(() => Promise.resolve(responseOf(inference, inference.failed!))) : ask(inference),
};

function responseOf({ input, protocol }: Inference<"generate">, { content, usage }: FailedTools): GenerateResponse {
  return {
    model: input.model,
    content,
    finish: { reason: "stop" },
    usage: { inputTokens: 0, outputTokens: 0 },
    ...(usage && { extra: { wire: protocol.name, fields: { usage } } }),
  };
}
