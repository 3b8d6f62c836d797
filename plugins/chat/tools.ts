/** Tools, the choice among them, and the calls of an assistant's turn, both ways. */
import { asFunctionTool, wrapCustomInput } from "../../src/transforms/custom_tool.ts";
import { addInside, type Extra, extraOf, fieldsFor, noteOutweighed, splitInside } from "../../src/canonical/extra.ts";
import type { FunctionTool, Tool, ToolCallPart, ToolChoice } from "../../src/canonical/generate.ts";
import { toArgumentsText } from "../../src/canonical/half_surrogates.ts";
import { isJsonObject, type JsonObject, present, toJsonArguments, toJsonText } from "../../src/canonical/json.ts";
import { objectSchema } from "../../src/transforms/tool_schema.ts";
import type { Context, WireRequest } from "../../src/contract/context.ts";
import { workOf } from "./hosted.ts";
import {
  type ChatRequest,
  type ChatTool,
  type ChatToolChoice,
  type CustomDefinition,
  type FunctionDefinition,
  isKnownTool,
  type ToolCall,
  type ToolReference,
  WIRE,
} from "./wire.ts";

const DEFINITION_KEYS = new Set(["type", "name", "description", "parameters", "strict", "format"]);
const OUTER_CALL_KEYS = ["id", "type", "function", "index"];
const CALL_KEYS = new Set(["name", "arguments"]);

export function parseTool(tool: ChatTool): Tool {
  if (!isKnownTool(tool)) {
    const fields = tool as JsonObject;
    return { type: "hosted", name: tool.type, ...present("work", workOf(fields)), extra: { wire: WIRE, fields } };
  }
  if (tool.type === "function") {
    return parseFunction(tool.function ?? tool as FunctionDefinition, tool.function && outerExtra(tool, "function"));
  }
  const custom = tool.custom ?? tool as CustomDefinition;
  const { name, description, format } = custom;
  const grammar = format?.grammar ?? format;
  const outer = tool.custom && outerExtra(tool, "custom");
  // Upstreams get it as a function.
  const fields = addInside("function", custom, DEFINITION_KEYS, { ...outer?.fields });
  return {
    type: "custom",
    name,
    ...(description && { description }),
    ...(format?.type === "grammar" && grammar?.syntax && grammar.definition && {
      grammar: { syntax: grammar.syntax, definition: grammar.definition },
    }),
    ...(Object.keys(fields).length > 0 && { extra: { wire: WIRE, fields } }),
  };
}

/** `outer` holds what stands beside `function` in the nested form: a cache hint, for one. */
export function parseFunction(definition: FunctionDefinition, outer?: Extra): FunctionTool {
  const { name, description, parameters, strict } = definition;
  const fields = addInside("function", definition, DEFINITION_KEYS, { ...outer?.fields });
  return {
    type: "function",
    name,
    ...(description !== null && description !== undefined && { description }),
    ...(parameters && { parameters }),
    ...(strict !== null && strict !== undefined && { strict }),
    ...(Object.keys(fields).length > 0 && { extra: { wire: WIRE, fields } }),
  };
}

const OUTER_KEYS = { function: new Set(["type", "function"]), custom: new Set(["type", "custom"]) };

function outerExtra(tool: object, key: keyof typeof OUTER_KEYS): Extra | undefined {
  return extraOf(WIRE, tool, OUTER_KEYS[key]);
}

/** Open servers know functions only, so a custom tool is spoken to them as one. */
export function serializeTool(tool: Tool, context: Context): JsonObject {
  switch (tool.type) {
    case "function": {
      const { inner, outer } = splitInside("function", fieldsFor(WIRE, tool.extra, context.note));
      const { name, description, strict } = tool;
      const parameters = objectSchema(tool.parameters);
      return {
        type: "function",
        function: { name, description, parameters, strict, ...inner },
        ...outer,
      };
    }
    case "custom":
      return serializeTool(asFunctionTool(tool), context);
    case "hosted":
      return tool.extra.fields;
    default:
      return tool satisfies never;
  }
}

export function parseToolChoice(choice: ChatToolChoice): ToolChoice {
  if (typeof choice === "string") return { type: choice };
  if (choice.type === "allowed_tools") {
    const { mode, tools } = "allowed_tools" in choice && isAllowedTools(choice.allowed_tools)
      ? choice.allowed_tools
      : choice as AllowedTools;
    return { type: "allowed", mode, names: tools.map(nameOf) };
  }
  const reference = choice as ToolReference;
  return { type: "tool", kind: reference.type === "custom" ? "custom" : "function", name: nameOf(reference) };
}

/** The choice among tools, by its own name or by that of the form before tools. */
export function parseChoice(
  { tool_choice, function_call }: Pick<ChatRequest, "tool_choice" | "function_call">,
): ToolChoice | undefined {
  if (tool_choice) return parseToolChoice(tool_choice);
  if (!function_call) return undefined;
  return typeof function_call === "string"
    ? { type: function_call }
    : { type: "tool", kind: "function", name: function_call.name };
}

/** Notes flat fields that do not count: a field that is both nested and flat counts as it is nested. */
export function noteSynonymsInChoice(choice: ChatToolChoice, note: (text: string) => void): void {
  if (typeof choice === "string") return;
  const { allowed_tools, mode, tools, name } = choice as JsonObject;
  if (isAllowedTools(allowed_tools)) {
    noteOutweighed("tool_choice.mode", mode, allowed_tools.mode, note);
    noteOutweighed("tool_choice.tools", tools, allowed_tools.tools, note);
  } else if (choice.type !== "allowed_tools") {
    noteOutweighed("tool_choice.name", name, nameOf(choice as ToolReference), note);
  }
}

type AllowedTools = { mode: "auto" | "required"; tools: ToolReference[] };

function isAllowedTools(value: unknown): value is AllowedTools {
  return isJsonObject(value) && Array.isArray(value.tools);
}

function nameOf(reference: ToolReference): string {
  return reference.function?.name ?? reference.custom?.name ?? reference.name ?? reference.type;
}

/** `allowed_tools` is spoken as the allowed tools themselves: few servers know the form, all know a shorter list. */
export function serializeToolChoice(choice: ToolChoice): JsonObject | string {
  switch (choice.type) {
    case "auto":
    case "none":
    case "required":
      return choice.type;
    case "tool":
      return { type: "function", function: { name: choice.name } };
    case "allowed":
      return choice.mode;
    default:
      return choice satisfies never;
  }
}

/** `flat` are the tools whose calls come back as functions, see `flatCustomTools`. */
export function parseToolCall(call: ToolCall, flat: ReadonlySet<unknown>): ToolCallPart {
  if (call.type === "custom") {
    const { name, input } = call.custom;
    return { type: "tool-call", kind: "custom", id: call.id, name, input };
  }
  const called = call.function ?? { name: "" };
  const { name, arguments: args } = called;
  if (flat.has(name)) return { type: "tool-call", kind: "custom", id: call.id, name, input: toJsonText(args) };
  const fields = addInside("function", called, CALL_KEYS, extraOf(WIRE, call, OUTER_CALL_KEYS)?.fields ?? {});
  const part: ToolCallPart = { type: "tool-call", kind: "function", id: call.id, name, input: toArgumentsText(args) };
  if (Object.keys(fields).length > 0) part.extra = { wire: WIRE, fields };
  return part;
}

/** Whether the client offers `functions`, the form before tools, and so reads `function_call` in the answer. */
export function asksForFunctions({ body }: WireRequest): boolean {
  return isJsonObject(body) && Array.isArray(body.functions) && !Array.isArray(body.tools);
}

/** A call for an upstream: always a function's, see `serializeTool`. */
export function serializeUpstreamCall(part: ToolCallPart, { clientWire, note }: Context): JsonObject {
  fieldsFor(WIRE, part.extra, note);
  return part.kind === "custom"
    ? functionCall(part, wrapCustomInput(part.input))
    : functionCall(part, clientWire === WIRE ? part.input : toJsonArguments(part.input));
}

/** A call that calls nothing, which a client keeps of an answer that broke off. Servers refuse it. */
export function isEmptyCall({ type, function: called }: ToolCall): boolean {
  return type === "function" && !called;
}

export function serializeCall(part: ToolCallPart, flat?: ReadonlySet<unknown>): JsonObject {
  const { id, kind, name, input } = part;
  return kind === "custom" && !flat?.has(name)
    ? { id, type: "custom", custom: { name, input } }
    : functionCall(part, input);
}

function functionCall({ id, name, extra }: ToolCallPart, input: string): JsonObject {
  if (!extra) return { id, type: "function", function: { name, arguments: input } };
  const { inner, outer } = splitInside("function", fieldsFor(WIRE, extra));
  return {
    id,
    type: "function",
    function: { name, arguments: input, ...inner },
    ...outer,
  };
}
