/** Writes a request as the wire's clients do. What the wire has no place for is noted. */
import { fieldsFor } from "../../src/canonical/extra.ts";
import type {
  GenerateRequest,
  InputPart,
  Message,
  OutputPart,
  Thinking,
  Tool,
  ToolResultPart,
} from "../../src/canonical/generate.ts";
import { copyRenamed, type JsonObject, type JsonValue, present } from "../../src/canonical/json.ts";
import type { Context } from "../../src/contract/context.ts";
import { asFunctionTool } from "../../src/transforms/custom_tool.ts";
import { OLLAMA_SAMPLING } from "../shared/sampling.ts";
import { namesOfCalls } from "../shared/call_names.ts";
import { serializeCall } from "./serialize_response.ts";
import { WIRE } from "./wire.ts";

export function serializeRequest(input: GenerateRequest, model: string, context: Context): JsonObject {
  const { messages, tools, stream, outputSchema, thinking, toolChoice, parallelToolCalls } = input;
  if (toolChoice && toolChoice.type !== "auto") context.note("dropped tool_choice");
  if (parallelToolCalls !== undefined) context.note("dropped parallel_tool_calls");
  const offered = tools?.flatMap((tool) => serializeTool(tool, context)) ?? [];
  const names = namesOfCalls(messages);
  const options = serializeOptions(input);
  return {
    model,
    messages: messages.flatMap((message) => serializeTurn(message, names, context)),
    ...(offered.length > 0 && { tools: offered }),
    stream,
    ...(outputSchema && { format: outputSchema.schema ?? "json" }),
    ...(thinking && present("think", serializeThinking(thinking, context))),
    ...(Object.keys(options).length > 0 && { options }),
  };
}

function serializeTurn(message: Message, names: ReadonlyMap<string, string>, context: Context): JsonObject[] {
  const { role, content } = message;
  if (role === "tool") return content.map((result) => serializeResult(result, names, context));
  const texts = content as readonly (InputPart | OutputPart)[];
  const thinking = textOf(texts, "reasoning");
  const calls = texts.filter((part) => part.type === "tool-call");
  return [{
    role,
    content: textOf(texts, "text", "refusal"),
    ...(thinking !== "" && { thinking }),
    ...imagesIn(texts, context),
    ...(calls.length > 0 && { tool_calls: calls.map((call, index) => serializeCall(call, index, context)) }),
  }];
}

/** The wire has no mark for a failed result, so the text says it. */
function serializeResult(
  { id, content, isError }: ToolResultPart,
  names: ReadonlyMap<string, string>,
  context: Context,
): JsonObject {
  const text = textOf(content, "text");
  return {
    role: "tool",
    content: isError ? `Error: ${text}` : text,
    ...imagesIn(content, context),
    ...present("tool_name", names.get(id)),
    tool_call_id: id,
  };
}

function textOf(content: readonly (InputPart | OutputPart)[], ...types: OutputPart["type"][]): string {
  return content.map((part) => types.includes(part.type) && "text" in part ? part.text : "").join("");
}

/** Pictures, without their names and types. */
function imagesIn(content: readonly (InputPart | OutputPart)[], { note }: Context): { images?: string[] } {
  const images: string[] = [];
  for (const part of content) {
    if (part.type === "opaque") note("dropped a part that only its own wire knows");
    if (part.type === "hosted") note("dropped a step of a hosted tool");
    if (part.type === "reasoning" && part.opaque) note("dropped the signature of reasoning");
    if (part.type !== "file") continue;
    if (part.detail !== undefined) note("dropped detail");
    if (part.source.type === "base64" && part.mediaType.startsWith("image/")) images.push(part.source.data);
    else note(`dropped a file of type ${part.mediaType}`);
  }
  return images.length > 0 ? { images } : {};
}

function serializeTool(tool: Tool, { note }: Context): JsonObject[] {
  if (tool.type === "hosted") {
    if (tool.extra.wire === WIRE) return [tool.extra.fields];
    note(`dropped tool ${tool.name}`);
    return [];
  }
  const { name, description, parameters, extra } = tool.type === "custom" ? asFunctionTool(tool) : tool;
  const definition = { name, ...present("description", description), ...present("parameters", parameters) };
  return [{ type: "function", function: definition, ...fieldsFor(WIRE, extra, note) }];
}

function serializeThinking({ enabled, effort, budgetTokens }: Thinking, { note }: Context): JsonValue | undefined {
  if (budgetTokens !== undefined) note("dropped budget_tokens");
  return enabled === false ? false : effort ?? enabled;
}

function serializeOptions(input: GenerateRequest): JsonObject {
  return {
    ...present("num_predict", input.maxOutputTokens),
    ...copyRenamed(input, OLLAMA_SAMPLING.serialized),
    ...present("stop", input.stopSequences),
  };
}
