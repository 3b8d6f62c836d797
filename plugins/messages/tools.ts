/** Tools and the choice among them, both ways. */
import { asFunctionTool } from "../../src/canonical/custom_tool.ts";
import { fieldsFor } from "../../src/canonical/extra.ts";
import type { FunctionTool, Tool, ToolChoice } from "../../src/canonical/generate.ts";
import { type JsonObject, present } from "../../src/canonical/json.ts";
import type { Context } from "../../src/contract/context.ts";
import { CLIENT_TOOLS } from "./client_tools.ts";
import { extraField } from "./content.ts";
import { WIRE, type WireTool, type WireToolChoice } from "./wire.ts";

const TOOL_KEYS = ["type", "name", "description", "input_schema", "strict", "defer_loading"];

/** `known` are the names that a `tool_reference` has brought up: only those of the deferred tools does the model see. */
export function parseTool(tool: WireTool, known: ReadonlySet<string>): Tool {
  const { type, input_schema, description, strict, defer_loading } = tool;
  const name = tool.name ?? type ?? "";
  const isFunction = input_schema || !type || type === "custom";
  const client = isFunction ? undefined : CLIENT_TOOLS.find(({ types }) => types.test(type));
  if (!isFunction && !client) return { type: "hosted", name, extra: { wire: WIRE, fields: tool as JsonObject } };
  const { extra } = client
    ? { extra: { wire: WIRE, fields: tool as JsonObject } }
    : extraField({ ...tool, ...(type && { type }) }, type ? TOOL_KEYS.slice(1) : TOOL_KEYS);
  return {
    type: "function",
    name,
    ...present("description", description ?? client?.description),
    ...present("parameters", input_schema ?? client?.parameters),
    ...present("strict", strict),
    ...(defer_loading && { deferred: !known.has(name) }),
    ...(extra && { extra }),
  };
}

export function serializeTool(tool: Tool, context: Context): JsonObject | undefined {
  switch (tool.type) {
    case "function":
      return serializeFunction(tool);
    case "custom":
      return serializeFunction(asFunctionTool(tool));
    case "hosted":
      if (tool.extra.wire === WIRE) return tool.extra.fields;
      context.note(`dropped tool ${tool.name}`);
      return undefined;
    default:
      return tool satisfies never;
  }
}

function serializeFunction({ name, description, parameters, strict, deferred, extra }: FunctionTool): JsonObject {
  const fields = fieldsFor(WIRE, extra);
  // A client tool that the vendor defines is known upstream by its type alone.
  if (typeof fields.type === "string" && fields.type !== "custom") return fields;
  return {
    name,
    description,
    input_schema: parameters ?? { type: "object", properties: {} },
    strict,
    ...(deferred !== undefined && { defer_loading: true }),
    ...fields,
  };
}

const WORD_OF = { auto: "auto", required: "any", none: "none" } as const;

export function parseToolChoice({ type, name }: WireToolChoice): ToolChoice {
  switch (type) {
    case "auto":
    case "none":
      return { type };
    case "any":
      return { type: "required" };
    case "tool":
      return { type: "tool", kind: "function", name: name ?? "" };
    default:
      return type satisfies never;
  }
}

/** `none` has no place for the wish against parallel calls; anything else carries it. */
export function serializeToolChoice(
  choice: ToolChoice | undefined,
  parallel: boolean | undefined,
): JsonObject | undefined {
  const oneByOne = parallel === false && choice?.type !== "none" ? { disable_parallel_tool_use: true } : {};
  switch (choice?.type) {
    case undefined:
      return parallel === false ? { type: "auto", ...oneByOne } : undefined;
    case "auto":
    case "none":
    case "required":
      return { type: WORD_OF[choice.type], ...oneByOne };
    case "tool":
      return { type: "tool", name: choice.name, ...oneByOne };
    case "allowed":
      return { type: WORD_OF[choice.mode], ...oneByOne };
    default:
      return choice satisfies never;
  }
}
