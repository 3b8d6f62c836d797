/**
 * Tools that stand in a namespace, for upstreams that know no such thing: each is spoken under one flat name, and the model's
 * call of it is turned back into the name and its namespace.
 */
import type { HostedResult, ToolSearchCall } from "../../src/canonical/hosted.ts";
import { asObjects, isJsonObject, type JsonObject, type JsonValue, present } from "../../src/canonical/json.ts";

export interface ToolName {
  name: string;
  namespace?: string | null;
}

export interface Namespaces {
  /** The name under which an upstream knows the tool. */
  flatten(tool: ToolName): string;
  /** Whether the request offers the tool in a namespace, so that its flat name is the gateway's doing. */
  isFlattened(tool: ToolName): boolean;
  /** The tool that an upstream knows under the name. */
  split(name: string): ToolName;
}

/** Names of tools are letters, digits, `_` and `-`, 64 at most: the vendor's rule, which many servers copy. */
const LONGEST = 64;

/** The namespaces of a request's tools, wherever it offers them. The same request gives the same names. */
export function namespacesOf(body: unknown): Namespaces {
  const offered = offeredTools(body);
  return offered.some(({ type }) => type === "namespace") ? namespacesIn(offered) : NO_NAMESPACES;
}

/** The namespaces of most requests, which offer none. A call of a tool that is not offered any more has a namespace all the same. */
const NO_NAMESPACES: Namespaces = {
  flatten: nameOf,
  isFlattened: () => false,
  split: (name) => ({ name }),
};

/** The name of a tool that is not offered. A function that the vendor's own search found is called in a namespace of its own name. */
function nameOf(tool: ToolName): string {
  return tool.name === tool.namespace ? tool.name : flatName(tool);
}

function namespacesIn(offered: readonly Record<string, unknown>[]): Namespaces {
  const flat = new Map<string, string>();
  const tools = new Map<string, ToolName>();
  const counts = new Map<string, number>();
  const taken = new Set(offered.flatMap(({ name }) => typeof name === "string" ? [name] : []));
  for (const { type, name: namespace, tools: inner } of offered) {
    if (type !== "namespace" || typeof namespace !== "string" || !Array.isArray(inner)) continue;
    for (const tool of inner) {
      if (!isJsonObject(tool) || typeof tool.name !== "string" || flat.has(keyOf({ namespace, name: tool.name }))) {
        continue;
      }
      const name = unique(flatName({ namespace, name: tool.name }), taken, counts);
      taken.add(name);
      flat.set(keyOf({ namespace, name: tool.name }), name);
      tools.set(name, { name: tool.name, namespace });
    }
  }
  return {
    flatten: (tool) => tool.namespace ? flat.get(keyOf(tool)) ?? nameOf(tool) : tool.name,
    isFlattened: (tool) => flat.has(keyOf(tool)),
    split: (name) => tools.get(name) ?? { name },
  };
}

/** The definitions of those of the tools that an upstream knows under these names, each in its namespace. */
export function definitionsIn(
  tools: JsonValue | undefined,
  names: readonly string[],
  { flatten }: Namespaces,
): JsonObject[] {
  const wanted = new Set(names);
  return asObjects(tools).flatMap((tool): JsonObject[] => {
    const { type, name, tools: inner } = tool;
    if (typeof name !== "string") return [];
    if (type !== "namespace") return wanted.delete(name) ? [tool] : [];
    const own = asObjects(inner).filter((one) =>
      typeof one.name === "string" && wanted.delete(flatten({ namespace: name, name: one.name }))
    );
    return own.length > 0 ? [{ ...tool, tools: own }] : [];
  });
}

function offeredTools(body: unknown): Record<string, unknown>[] {
  if (!isJsonObject(body)) return [];
  const offered: Record<string, unknown>[] = [];
  const look = (place: unknown) => {
    if (!isJsonObject(place) || !Array.isArray(place.tools)) return;
    for (const tool of place.tools) if (isJsonObject(tool)) offered.push(tool);
  };
  look(body);
  if (Array.isArray(body.input)) body.input.forEach(look);
  return offered;
}

function keyOf({ namespace, name }: ToolName): string {
  return JSON.stringify([namespace, name]);
}

/** The name of a tool, if no other tool has that name already. */
export function flatName({ namespace, name }: ToolName): string {
  return namespace ? `${namespace}__${name}`.replace(/[^\w-]/g, "_").slice(0, LONGEST) : name;
}

/** `counts` says how often each name was given already, so that many of one name take no longer. */
function unique(name: string, taken: ReadonlySet<string>, counts: Map<string, number>): string {
  let candidate = name;
  let number = counts.get(name) ?? 1;
  while (taken.has(candidate)) {
    const ending = `_${++number}`;
    candidate = name.slice(0, LONGEST - ending.length) + ending;
  }
  counts.set(name, number);
  return candidate;
}

// Tools that a search has found

/** Gives the definitions of the tools of these names. */
export type Define = (names: readonly string[]) => JsonObject[];

export const nameOnly: Define = (names) => names.map((name) => ({ type: "function", name }));

/** A search and the tools that it found are two items. */
export function serializeToolSearch(
  bare: string,
  { query, limit }: ToolSearchCall,
  result: HostedResult | undefined,
  define: Define,
): JsonObject {
  const place = { call_id: null, execution: "server" };
  if (!result) {
    const asked = { query, ...present("limit", limit) };
    return { type: "tool_search_call", id: `tsc_${bare}`, ...place, arguments: asked, status: "completed" };
  }
  const isFound = result.kind === "found";
  const tools = isFound ? define(result.tools) : [];
  return {
    type: "tool_search_output",
    id: `tso_${bare}`,
    ...place,
    tools,
    status: isFound ? "completed" : "incomplete",
  };
}
