/** Tools and the choice among them, both ways. */
import { asFunctionTool } from "../../src/transforms/custom_tool.ts";
import { extraField, fieldsFor } from "../../src/canonical/extra.ts";
import type { GenerateRequest, Tool, ToolChoice } from "../../src/canonical/generate.ts";
import { isJsonObject, type JsonObject, type JsonValue, present } from "../../src/canonical/json.ts";
import { objectSchema } from "../../src/transforms/tool_schema.ts";
import type { Context } from "../../src/contract/context.ts";
import { GatewayError } from "../../src/errors.ts";
import { withoutCredentials, workOf } from "./hosted.ts";
import type { Reader } from "./serialize_items.ts";
import type { Namespaces } from "./namespaces.ts";
import { AS_IT_WAS, isSearch, searchAsFunction } from "./tool_search.ts";
import { type CustomTool, type FunctionTool, isKnownTool, WIRE, type WireTool, type WireToolChoice } from "./wire.ts";

/**
 * The tools of a list. Those of a namespace become separate tools, each with the namespace's own fields. `known`: the names that
 * the client's own search for tools has found, if it has one. The model sees only those of the deferred tools.
 */
export function parseTools(tools: readonly WireTool[], namespaces: Namespaces, known?: ReadonlySet<string>): Tool[] {
  return tools.flatMap((tool): Tool[] => {
    if (isSearch(tool)) return [searchAsFunction(tool)];
    if (!isKnownTool(tool)) return [hosted(tool)];
    if (tool.type !== "namespace") return [parseTool(tool, known)];
    return tool.tools.map((inner): Tool => {
      if (!isInner(inner)) return hosted(inner);
      const description = [tool.description, inner.description].filter(Boolean).join("\n\n");
      const name = namespaces.flatten({ namespace: tool.name, name: inner.name });
      return parseTool({ ...inner, name, description: description || undefined }, known);
    });
  });
}

const FUNCTION_KEYS = ["type", "name", "description", "parameters", "strict"];

function isInner(tool: WireTool): tool is FunctionTool | CustomTool {
  return isKnownTool(tool) && tool.type !== "namespace";
}

/** A tool that the server runs is known by its type; one of a remote server also by that server's label. */
function hosted(tool: WireTool): Tool {
  const fields = tool as JsonObject;
  return { type: "hosted", name: tool.type, ...present("work", workOf(fields)), extra: { wire: WIRE, fields } };
}

function parseTool(tool: FunctionTool | CustomTool, known: ReadonlySet<string> | undefined): Tool {
  const { name, description } = tool;
  if (tool.type === "function") {
    return {
      type: "function",
      name,
      ...present("description", description),
      ...present("parameters", tool.parameters),
      ...present("strict", tool.strict),
      ...(known && tool.defer_loading && { deferred: !known.has(name) }),
      ...extraField(WIRE, tool, [...FUNCTION_KEYS, ...(known ? ["defer_loading"] : [])]),
    };
  }
  const { format } = tool;
  const grammar = format?.type === "grammar" && format.syntax && format.definition
    ? { syntax: format.syntax, definition: format.definition }
    : undefined;
  return {
    type: "custom",
    name,
    ...present("description", description),
    ...(grammar && { grammar }),
    ...extraField(WIRE, tool, [
      "type",
      "name",
      "description",
      ...(grammar || format?.type === "text" ? ["format"] : []),
    ]),
  };
}

/**
 * A function has all of its keys, as the vendor's own API requires. Open models know functions only, so a custom tool is spoken
 * to them as one.
 */
export function serializeTool(tool: Tool, reader: Reader, context: Context): JsonObject {
  const { [AS_IT_WAS]: search, ...fields } = tool.type === "hosted" ? {} : fieldsFor(WIRE, tool.extra, context.note);
  if (isSearch(search) && reader !== "open") return search;
  switch (tool.type) {
    case "function":
      return { ...serializeFunction(tool, reader, context.clientWire === WIRE), ...fields };
    case "custom": {
      if (reader === "open") return serializeTool(asFunctionTool(tool), reader, context);
      const { name, description, grammar } = tool;
      return {
        type: "custom",
        name,
        description,
        ...(grammar && { format: { type: "grammar", ...grammar } }),
        ...fields,
      };
    }
    case "hosted":
      return tool.extra.fields;
    default:
      return tool satisfies never;
  }
}

function serializeFunction(
  { name, description, parameters, strict, deferred }: Extract<Tool, { type: "function" }>,
  reader: Reader,
  isOwnClients: boolean,
): JsonObject {
  return {
    type: "function",
    name,
    description,
    parameters: objectSchema(parameters),
    // Left out, it means true on this wire and false on the others.
    strict: strict ?? (isOwnClients ? null : false),
    ...(deferred !== undefined && reader !== "open" && isOwnClients && { defer_loading: true }),
  };
}

const MODES = ["auto", "none", "required"] as const;

/** A choice of a tool that is not offered is a mistake: without it, something else would be answered than was asked. */
export function parseToolChoice(choice: WireToolChoice, tools: readonly Tool[], namespaces: Namespaces): ToolChoice {
  if (typeof choice === "string") return { type: choice };
  if (choice.type === "allowed_tools") {
    const { mode, tools: allowed } = choice as Extract<WireToolChoice, { mode: unknown }>;
    const within = Map.groupBy(tools, ({ name }) => namespaces.split(name).namespace);
    const names = new Set<string>();
    for (const one of allowed) {
      if (one.type !== "namespace") names.add(nameOf(one, namespaces));
      else {
        for (const { name } of within.get(one.name) ?? []) names.add(name);
        // Once is enough, however often it is named.
        within.delete(one.name);
      }
    }
    if (!tools.some(({ name }) => names.has(name))) throw notOffered("Cannot allow these tools: none is offered");
    return { type: "allowed", mode, names: [...names] };
  }
  // A mode may also come as an object.
  const mode = MODES.find((word) => word === choice.type);
  if (mode) return { type: mode };
  const name = nameOf(choice, namespaces);
  if (!tools.some((tool) => tool.name === name)) {
    throw notOffered(`Cannot force tool "${name}": it is not among the tools`);
  }
  const kind = choice.type === "custom" ? "custom" : "function";
  return { type: "tool", kind, name, ...present("remote", remoteIn(choice as JsonObject)) };
}

function remoteIn({ type, server_label: server, name }: JsonObject): { server: string; name?: string } | undefined {
  if (type !== "mcp" || typeof server !== "string") return undefined;
  return { server, ...(typeof name === "string" && { name }) };
}

function notOffered(message: string): GatewayError {
  return new GatewayError("invalid_request", message, { param: "tool_choice" });
}

function nameOf({ type, name, namespace }: Record<string, unknown>, namespaces: Namespaces): string {
  if (typeof name !== "string" || (type !== "function" && type !== "custom")) return String(type);
  return namespaces.flatten({ name, namespace: typeof namespace === "string" ? namespace : undefined });
}

/** The choice, for tools that the upstream gets. */
export function serializeToolChoice(
  { tools = [], toolChoice }: GenerateRequest,
  reader: Reader,
): JsonObject | string | undefined {
  switch (toolChoice?.type) {
    case undefined:
      return undefined;
    case "auto":
    case "none":
    case "required":
      return toolChoice.type;
    case "tool":
      return serializeReference(toolChoice.name, tools.find(({ name }) => name === toolChoice.name), reader);
    case "allowed": {
      const { mode, names } = toolChoice;
      // The first of two tools that have one name.
      const named = new Map(tools.toReversed().map((tool) => [tool.name, tool]));
      return {
        type: "allowed_tools",
        mode,
        tools: names.map((name) => serializeReference(name, named.get(name), reader)),
      };
    }
    default:
      return toolChoice satisfies never;
  }
}

function serializeReference(name: string, tool: Tool | undefined, reader: Reader): JsonObject {
  if (tool?.type !== "hosted") {
    return { type: reader !== "open" && tool?.type === "custom" ? "custom" : "function", name };
  }
  // The label tells the servers of one type apart.
  const { type, server_label } = tool.extra.fields;
  return { type, ...(server_label !== undefined && { server_label }) };
}

/** A tool as answers repeat it. The schema requires these keys of a function. */
export function echoTool(tool: JsonValue): JsonValue {
  if (!isJsonObject(tool) || tool.type !== "function") return withoutCredentials(tool);
  const { description, parameters, strict } = tool;
  return { ...tool, description: description ?? null, parameters: parameters ?? null, strict: strict ?? false };
}
