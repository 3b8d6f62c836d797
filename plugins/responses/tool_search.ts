/**
 * A search for tools that the client runs itself: the model asks by an item of a kind of its own, and the client answers with
 * the tools that it found. Models of other makers know functions only, so that to them it is one.
 */
import { extraOf } from "../../src/canonical/extra.ts";
import type { FunctionTool, HostedPart, Message } from "../../src/canonical/generate.ts";
import type { ToolSearchCall } from "../../src/canonical/hosted.ts";
import {
  asCount,
  asObject,
  asText,
  isJsonObject,
  type JsonObject,
  parseJson,
  present,
  toJsonText,
} from "../../src/canonical/json.ts";
import { stepId } from "./hosted.ts";
import { WIRE } from "./wire.ts";

export const SEARCH = "tool_search";

/** The key of the hint under which the tool, the call and its result keep the form that the client gave them. */
export const AS_IT_WAS = "tool_search";

/** Whether the tool is such a search; one that is not the client's to run is its vendor's. */
export function isSearch(tool: unknown): tool is JsonObject {
  return isJsonObject(tool) && tool.type === SEARCH && tool.execution === "client";
}

export function searchesItself(body: unknown): boolean {
  return isJsonObject(body) && Array.isArray(body.tools) && body.tools.some(isSearch);
}

const QUERY = {
  type: "object",
  properties: { query: { type: "string", description: "What the tool is to be good for" } },
  required: ["query"],
};

export function searchAsFunction(tool: JsonObject): FunctionTool {
  const { description, parameters } = tool;
  return {
    type: "function",
    name: SEARCH,
    description: typeof description === "string" ? description : "Finds more tools, which can be called from then on.",
    parameters: isJsonObject(parameters) ? parameters : QUERY,
    extra: { wire: WIRE, fields: extraOf(WIRE, tool, TOOL_KEYS)?.fields ?? {}, hints: { [AS_IT_WAS]: tool } },
  };
}

const TOOL_KEYS = new Set(["type", "execution", "description", "parameters"]);
const KNOWN = new Set(["type", "id", "call_id", "execution", "arguments", "tools", "status"]);

/** The call of such a search, or its result, as a message; nothing for any other item. `found` names the tools of a result. */
export function parseSearch(item: JsonObject, found: readonly string[]): Message | undefined {
  const { type, call_id: id, execution } = item;
  if (typeof id !== "string" || execution === "server") return undefined;
  const extra = { wire: WIRE, fields: extraOf(WIRE, item, KNOWN)?.fields ?? {}, hints: { [AS_IT_WAS]: item } };
  if (type === "tool_search_call") {
    const input = toJsonText(item.arguments);
    return { role: "assistant", content: [{ type: "tool-call", kind: "function", id, name: SEARCH, input }], extra };
  }
  if (type !== "tool_search_output") return undefined;
  const text = found.length === 0 ? "No tool was found." : `The tool ${found.join(", ")} is now available.`;
  return { role: "tool", content: [{ type: "tool-result", id, content: [{ type: "text", text }] }], extra };
}

/** Whether the message is such a search's call or result, which the vendor's own models get as the item that it was. */
export function isWholeSearch({ extra }: Message): boolean {
  return extra?.wire === WIRE && extra.hints?.[AS_IT_WAS] !== undefined;
}

/** The model's call as the item; what it wrote is an object there. */
export function serializeSearch(id: string, input: string): JsonObject {
  return { type: "tool_search_call", call_id: id, execution: "client", arguments: parseArguments(input) };
}

/** Nothing yet, while it is written. */
function parseArguments(input: string): JsonObject {
  const value = parseJson(input);
  if (value === undefined) return input.endsWith("}") ? { query: input } : {};
  return isJsonObject(value) ? value : { query: value };
}

/** Whether some tools are hidden from the model until a search has found them, whoever searches. */
export function defersTools(body: unknown): boolean {
  return isJsonObject(body) && Array.isArray(body.tools) &&
    body.tools.some((tool) => isJsonObject(tool) && tool.type === SEARCH);
}

/**
 * An item of a search that a server ran, as a step. `found`: the names of its tools. `before`: the call before it, whose result it
 * may be.
 */
export function parseServerSearch(
  item: JsonObject,
  found: readonly string[],
  before: ToolSearchCall | undefined,
): HostedPart | undefined {
  const { type, id, execution, call_id } = item;
  const isServers = execution === "server" || execution === undefined && typeof call_id !== "string";
  if (typeof id !== "string" || !isServers) return undefined;
  const step = { type: "hosted" as const, id: stepId(id).id, extra: { wire: WIRE, fields: item } };
  if (type === "tool_search_call") {
    const asked = asObject(item.arguments);
    const query = asText(asked.query) || toJsonText(item.arguments);
    return { ...step, call: { kind: "tool-search", method: "bm25", query, ...present("limit", asCount(asked.limit)) } };
  }
  if (type !== "tool_search_output") return undefined;
  return {
    ...step,
    call: before ?? { kind: "tool-search", method: "bm25", query: "" },
    result: { kind: "found", tools: found },
  };
}
