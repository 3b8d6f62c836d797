/** Which tools of a request are offered to the model, and which requests fail without a tool that cannot be offered. */
import { GatewayError } from "../errors.ts";
import type { FunctionTool, GenerateRequest, Tool, ToolChoice } from "../canonical/generate.ts";

/** The tools that the model is allowed to call. */
export function allowedTools(tools: readonly Tool[], choice: ToolChoice | undefined): readonly Tool[] {
  if (choice?.type !== "allowed") return tools;
  const names = new Set(choice.names);
  return tools.filter(({ name }) => names.has(name));
}

export interface Offer {
  /** The wire whose hosted tools the upstream runs itself. */
  wire: string;
  /** Whether to offer only the tools that the choice allows. */
  isNarrowed: boolean;
  /** Whether the upstream itself reads in the turns which tools are hidden, and which ones they bring up. */
  showsDeferred: boolean;
}

/** The request with the tools that its upstream can offer. Throws if the answer depends on another one. */
export function withOfferedTools(
  request: GenerateRequest,
  { wire, isNarrowed, showsDeferred }: Offer,
  note: (text: string) => void,
): GenerateRequest {
  const { tools = [], toolChoice } = request;
  const names = new Set<string>();
  const offered = (isNarrowed ? allowedTools(tools, toolChoice) : tools)
    .filter((tool) => showsDeferred || !isHidden(tool, toolChoice))
    .filter(({ type, name, inTurns, extra }) => {
      const isForeign = type === "hosted" && extra?.wire !== wire;
      // Whom a call means would be anybody's guess, and servers refuse it.
      const isSecond = type !== "hosted" && names.has(name) && !(showsDeferred && inTurns);
      if (type !== "hosted") names.add(name);
      if (isForeign || isSecond) note(isForeign ? `dropped tool ${name}` : `dropped the second tool ${name}`);
      return !isForeign && !isSecond;
    });
  refuseForced(request, wire, offered);
  return offered.length === tools.length ? request : { ...request, tools: offered };
}

/**
 * Whether the conversation has not brought up the tool, or has withdrawn it, for upstreams that do not read that themselves. A
 * forced tool is always shown.
 */
export function isHidden(tool: Tool, choice?: ToolChoice): boolean {
  if (choice?.type === "tool" && choice.name === tool.name) return false;
  return tool.withdrawn === true || tool.type === "function" && tool.deferred === true;
}

/**
 * The tools once a search has found those of these names: the model sees them, behind all others and in the order in which they
 * were found, so that the beginning of its prompt stays the same.
 */
export function withFound(tools: readonly Tool[], names: readonly string[]): Tool[] {
  const found = new Map(names.map((name) => [name, undefined as Tool | undefined]));
  const others = tools.filter((tool) => {
    const isFound = isDeferred(tool) && found.has(tool.name) && found.get(tool.name) === undefined;
    if (isFound) found.set(tool.name, { ...tool, deferred: false });
    return !isFound;
  });
  return [...others, ...[...found.values()].filter((tool) => tool !== undefined)];
}

/** All tools as the model sees them if nobody can search for those that are hidden. */
export function withoutHiding(tools: readonly Tool[]): Tool[] {
  return tools.map((tool) => isDeferred(tool) && tool.deferred ? { ...tool, deferred: false } : tool);
}

function isDeferred(tool: Tool): tool is FunctionTool {
  return tool.type === "function" && tool.deferred !== undefined;
}

/**
 * Throws if the answer depends on a tool that had to be left out. `spoken`: the tools that an upstream of `wire`
 * supports.
 */
function refuseForced(
  { tools = [], toolChoice }: Pick<GenerateRequest, "tools" | "toolChoice">,
  wire: string,
  spoken: readonly unknown[],
): void {
  const refuse = (message: string) => {
    throw new GatewayError("invalid_request", message, { param: "tool_choice" });
  };
  const isRequired = toolChoice?.type === "required" ||
    toolChoice?.type === "allowed" && toolChoice.mode === "required";
  if (isRequired && spoken.length === 0 && tools.length > 0) {
    refuse("Cannot require a tool: the upstream runs none of them");
  }
  const forced = toolChoice?.type === "tool" ? tools.filter(({ name }) => name === toolChoice.name) : [];
  if (forced.length > 0 && forced.every((tool) => tool.type === "hosted" && tool.extra.wire !== wire)) {
    refuse(`Cannot force tool "${forced[0]!.name}": the upstream does not run it`);
  }
}
