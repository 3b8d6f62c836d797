/** Tools that a vendor's server would run, and whether an answer may do without them. */
import type { GenerateRequest, HostedTool, Tool } from "../canonical/generate.ts";
import { allowedTools } from "./offered_tools.ts";

/**
 * The hosted tools that the answer depends on: the forced one, or all if the model is offered no other tools. Otherwise
 * an answer without them would be mistaken for their results.
 */
export function neededTools(
  { tools = [], toolChoice }: Pick<GenerateRequest, "tools" | "toolChoice">,
  beside: readonly HostedTool[],
): readonly HostedTool[] {
  switch (toolChoice?.type) {
    case "none":
      return [];
    case "tool": {
      // A tool of the client's own may have the same name, and can then be called.
      const named = tools.filter(({ name }) => name === toolChoice.name);
      return named.every(isHosted) ? named : [];
    }
    default: {
      const offered: readonly Tool[] = [...allowedTools(tools, toolChoice).filter(isListed), ...beside];
      return offered.every(isHosted) ? offered : [];
    }
  }
}

/** Whether the tool is in the client's list of tools, and not withdrawn. A server that is named elsewhere is only an offer. */
function isListed(tool: Tool): boolean {
  return !tool.withdrawn && (tool.type !== "hosted" || Object.keys(tool.extra.fields).length > 0);
}

/** The request without the hosted tools that the upstream refuses. */
export function withoutHosted<T extends GenerateRequest>(
  input: T,
  refuses: (tool: HostedTool) => boolean,
  note: (text: string) => void,
): T {
  const isRefused = (tool: Tool) => isHosted(tool) && refuses(tool);
  const dropped = input.tools?.filter(isRefused) ?? [];
  if (dropped.length === 0) return input;
  for (const { name } of dropped) note(`dropped tool ${name}`);
  const { tools = [], ...rest } = input;
  const kept = tools.filter((tool) => !isRefused(tool));
  return { ...rest, ...(kept.length > 0 && { tools: kept }) } as T;
}

function isHosted(tool: Tool): tool is HostedTool {
  return tool.type === "hosted";
}
