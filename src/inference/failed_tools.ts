/** Requests whose answer needs a tool that no upstream of the model runs. The answer reports the failure; no upstream is asked. */
import type { FailedTools } from "../canonical/hosted_tools.ts";
import { neededTools } from "../transforms/hosted_tools.ts";
import type { GenerateResponse, HostedTool } from "../canonical/generate.ts";
import type { Input } from "../canonical/operations.ts";
import { replay } from "../canonical/replay.ts";
import { refuseIfStrict, type RequestContext } from "../context/request_context.ts";
import type { Exchange, WireRequest } from "../contract/context.ts";
import type { Protocol } from "../contract/protocol.ts";
import type { PlannedTarget } from "../contract/planned_target.ts";
import type { AddedTurn } from "../state/continuity.ts";
import { sourceOf } from "../util/event_source.ts";
import { admit } from "./admit.ts";
import { remember, remembering } from "./recall.ts";
import { respondWithStream } from "./stream_response.ts";
import { runsAt } from "./hosted_tool_policy.ts";

/** The targets that run one of these tools; all targets if there are no tools. */
export function targetsThatRun(
  tools: readonly HostedTool[],
  targets: readonly PlannedTarget[],
  context: RequestContext,
): readonly PlannedTarget[] {
  return tools.length === 0 ? targets : targets.filter((where) => tools.some((tool) => runsAt(tool, where, context)));
}

/** The hosted tools without which the request must not be answered. */
export function toolsNeeded(
  protocol: Protocol<"generate">,
  input: Input<"generate">,
  wire: WireRequest,
): readonly HostedTool[] {
  return neededTools(input, protocol.toolsBeside?.(wire));
}

/** Notes the tools that fail. Throws if the request is strict. */
export function noteFailed(tools: readonly HostedTool[], context: RequestContext): void {
  for (const { name } of tools) context.note(`dropped tool ${name}`);
  refuseIfStrict(context);
}

/** The answer that says that the tools failed. No upstream is asked for it. */
export async function answerFailed(
  { content, usage: counts }: FailedTools,
  protocol: Protocol<"generate">,
  exchange: Exchange<"generate">,
  added: AddedTurn,
  context: RequestContext,
): Promise<Response> {
  await admit(context, 0);
  const response: GenerateResponse = {
    model: exchange.input.model,
    content,
    finish: { reason: "stop" },
    usage: { inputTokens: 0, outputTokens: 0 },
    ...(counts && { extra: { wire: protocol.name, fields: { usage: counts } } }),
  };
  if (exchange.input.stream) {
    const passage = exchange.stored
      ? remembering((response) => remember(response, exchange, added, context))
      : undefined;
    return respondWithStream(protocol, exchange, sourceOf(replay(response)), context, passage);
  }
  context.requestLog.entry.usage = response.usage;
  await remember(response, exchange, added, context);
  return protocol.serialize(response, exchange);
}
