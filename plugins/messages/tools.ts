/** Tools and the choice among them, both ways. */
import { asFunctionTool } from "../../src/transforms/custom_tool.ts";
import { extraField, fieldsFor } from "../../src/canonical/extra.ts";
import type { FunctionTool, Message, Tool, ToolChoice, ToolResultPart } from "../../src/canonical/generate.ts";
import { asObjects, type JsonObject, present } from "../../src/canonical/json.ts";
import { holdsPart } from "../../src/canonical/part_types.ts";
import { objectSchema } from "../../src/transforms/tool_schema.ts";
import type { Context } from "../../src/contract/context.ts";
import { validate } from "../../src/contract/validate.ts";
import { CLIENT_TOOLS, type ClientTool } from "./client_tools.ts";
import { workOf } from "./hosted.ts";
import { nameInTurns, type ToolChange, toolChange, toolReferences } from "./parse_content.ts";
import { toolSchema, WIRE, type WireTool, type WireToolChoice } from "./wire.ts";

const TOOL_KEYS = ["name", "description", "input_schema", "inputSchema", "strict", "defer_loading"];

/** The request's tools as its conversation leaves them, and those that the conversation itself defines. */
export function parseTools(tools: readonly WireTool[], messages: readonly Message[]): Tool[] {
  const changes = holdsPart(messages, "opaque") || holdsPart(messages, "hosted") ? changesIn(messages) : undefined;
  const parsed = tools.map((tool): Tool => {
    const change = changes?.get(nameInTurns(tool as JsonObject));
    const isWithdrawn = change && (change.definition || !change.isAddition);
    return {
      ...parseTool(tool, change?.isAddition === true),
      ...(isWithdrawn && { withdrawn: true }),
    };
  });
  for (const { isAddition, definition } of changes?.values() ?? []) {
    if (isAddition && definition) parsed.push({ ...parseTool(validate(toolSchema, definition), true), inTurns: true });
  }
  return parsed;
}

/** The last change to each tool that the turns mention. */
function changesIn(messages: readonly Message[]): Map<string, ToolChange> {
  const changes = new Map<string, ToolChange>();
  const add = (change: ToolChange) => changes.set(change.name, { ...changes.get(change.name), ...change });
  const look = (parts: Message["content"] | ToolResultPart["content"]) => {
    for (const part of parts) {
      if (part.type === "tool-result") look(part.content);
      if (part.type === "hosted" && part.result?.kind === "found") {
        for (const name of part.result.tools) add({ name, isAddition: true });
      }
      if (part.type !== "opaque") continue;
      const { fields } = part.extra;
      // A summary carries the changes of the turns in whose place it stands.
      const blocks = asObjects(fields.tool_changes ?? [fields]);
      for (const change of blocks.flatMap((one) => toolChange(one) ?? [])) add(change);
      if (fields.tool || fields.tool_changes) continue;
      for (const name of toolReferences(fields)) add({ name, isAddition: true });
    }
  };
  for (const { content } of messages) look(content);
  return changes;
}

/** `isKnown`: whether the model sees the tool if it is a deferred one. */
function parseTool(tool: WireTool, isKnown: boolean): Tool {
  const { type, description, strict, defer_loading } = tool;
  const input_schema = tool.input_schema ?? tool.inputSchema;
  const name = tool.name ?? type ?? "";
  const isFunction = input_schema || !type || type === "custom";
  const client = isFunction ? undefined : clientTool(type);
  if (!isFunction && !client) {
    return {
      type: "hosted",
      name,
      ...present("work", workOf(tool)),
      extra: { wire: WIRE, fields: tool as JsonObject },
    };
  }
  // Without a type, a tool is a custom one.
  const { extra } = extraField(WIRE, tool, type === "custom" ? [...TOOL_KEYS, "type"] : TOOL_KEYS);
  return {
    type: "function",
    name,
    ...present("description", description ?? client?.description),
    ...present("parameters", input_schema ?? client?.parameters),
    ...present("strict", strict),
    ...(defer_loading && { deferred: !isKnown }),
    ...(extra && { extra }),
  };
}

function clientTool(type: unknown): ClientTool | undefined {
  return typeof type === "string" ? CLIENT_TOOLS.find(({ types }) => types.test(type)) : undefined;
}

export function serializeTool(tool: Tool, context: Context): JsonObject {
  switch (tool.type) {
    case "function":
      return serializeFunction(tool, context);
    case "custom":
      return serializeFunction(asFunctionTool(tool), context);
    case "hosted":
      return tool.extra.fields;
    default:
      return tool satisfies never;
  }
}

function serializeFunction(tool: FunctionTool, context: Context): JsonObject {
  const { name, description, parameters, strict, deferred, extra } = tool;
  const fields = fieldsFor(WIRE, extra, context.note);
  return {
    name,
    // A tool that the vendor defines is known upstream by its type alone.
    ...(!clientTool(fields.type) && { description, input_schema: objectSchema(parameters) }),
    strict,
    // What brings a deferred tool up is a block of this wire.
    ...(deferred !== undefined && context.clientWire === WIRE && { defer_loading: true }),
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
