import type { Tool, ToolChoice } from "./generate.ts";

/**
 * Whether the model is not to see the tool before the conversation brings it up: for upstreams that know no such tools. A
 * forced one it must see.
 */
export function isHidden(tool: Tool, choice: ToolChoice | undefined): boolean {
  const forced = choice?.type === "tool" && choice.name === tool.name;
  return tool.type === "function" && tool.deferred === true && !forced;
}
