/** Writes a request as the wire's clients do. What the wire has no place for is noted. */
import { fieldsFor } from "../../src/canonical/extra.ts";
import type {
  AssistantMessage,
  FilePart,
  GenerateRequest,
  InputPart,
  Message,
  OutputPart,
  Thinking,
  Tool,
  ToolChoice,
  ToolResultPart,
} from "../../src/canonical/generate.ts";
import { copyRenamed, type JsonObject, present } from "../../src/canonical/json.ts";
import type { Context } from "../../src/contract/context.ts";
import { asFunctionTool } from "../../src/transforms/custom_tool.ts";
import { GEMINI_SAMPLING } from "../shared/sampling.ts";
import { namesOfCalls } from "../shared/call_names.ts";
import { serializeCall } from "./serialize_response.ts";
import { serializeSignature } from "./signature.ts";
import { WIRE } from "./wire.ts";

/** The body. The model and whether the answer is streamed are in the path. */
export function serializeRequest(input: GenerateRequest, context: Context): JsonObject {
  const instructions = input.messages.filter(({ role }) => role === "system");
  const names = namesOfCalls(input.messages);
  const tools = input.tools ? serializeTools(input.tools, context) : [];
  return {
    ...(instructions.length > 0 && {
      systemInstruction: { parts: instructions.flatMap(({ content }) => partsOf(content as InputPart[], context)) },
    }),
    contents: input.messages.flatMap((message) => serializeTurn(message, names, context)),
    ...(tools.length > 0 && { tools }),
    ...(tools.length > 0 && input.toolChoice && {
      toolConfig: { functionCallingConfig: serializeToolChoice(input.toolChoice) },
    }),
    generationConfig: serializeConfig(input, context),
  };
}

function serializeTurn(message: Message, names: ReadonlyMap<string, string>, context: Context): JsonObject[] {
  switch (message.role) {
    case "system":
      return [];
    case "user":
      return [{ role: "user", parts: partsOf(message.content, context) }];
    case "assistant":
      return [{ role: "model", parts: partsOfModel(message, context) }];
    case "tool":
      return [{ role: "user", parts: message.content.map((result) => serializeResult(result, names, context)) }];
    default:
      return message satisfies never;
  }
}

function partsOf(content: readonly InputPart[], context: Context): JsonObject[] {
  return content.flatMap((part) => {
    if (part.type === "text") return [{ text: part.text, ...fieldsFor(WIRE, part.extra, context.note) }];
    return part.type === "file" ? serializeFile(part, context) : ownFields(part);
  });
}

function ownFields({ extra }: Extract<OutputPart, { type: "opaque" }>): JsonObject[] {
  const { type: _, ...fields } = extra.fields;
  return [fields];
}

/** The signature of a thought without words goes on the part that follows, as it came. */
function partsOfModel({ content }: AssistantMessage, context: Context): JsonObject[] {
  const parts: JsonObject[] = [];
  let signature: string | undefined;
  for (const part of content) {
    const isThought = part.type === "reasoning";
    const own = isThought && part.opaque ? signatureIn(part.opaque, context) : undefined;
    if (isThought && part.text === "") {
      signature = own ?? signature;
      continue;
    }
    const written = serializeOutput(part, context);
    const [first] = written;
    const signed = own ?? (isThought ? undefined : signature);
    if (first && signed !== undefined) first.thoughtSignature = signed;
    if (first && !isThought) signature = undefined;
    parts.push(...written);
  }
  if (signature !== undefined) parts.push({ text: "", thoughtSignature: signature });
  return parts;
}

function signatureIn(opaque: { origin: string; data: string }, { note }: Context): string | undefined {
  if (opaque.origin === WIRE) return serializeSignature(opaque);
  note("dropped reasoning that only its vendor can read");
  return undefined;
}

function serializeOutput(part: OutputPart, context: Context): JsonObject[] {
  switch (part.type) {
    case "text":
      return part.text === "" ? [] : [{ text: part.text, ...fieldsFor(WIRE, part.extra, context.note) }];
    case "refusal":
      return [{ text: part.text }];
    case "reasoning":
      return [{ text: part.text, thought: true }];
    case "tool-call":
      return [serializeCall(part, context) ?? []].flat();
    case "file":
      return serializeFile(part, context);
    case "hosted":
      context.note("dropped a step of a hosted tool");
      return [];
    case "opaque":
      return ownFields(part);
    default:
      return part satisfies never;
  }
}

function serializeFile({ mediaType, source, name, detail }: FilePart, { note }: Context): JsonObject[] {
  if (detail !== undefined) note("dropped detail");
  const common = { mimeType: mediaType, ...present("displayName", name) };
  if (source.type === "base64") return [{ inlineData: { ...common, data: source.data } }];
  if (source.type === "url") return [{ fileData: { ...common, fileUri: source.url } }];
  note(`dropped a file of type ${mediaType} that only its vendor can read`);
  return [];
}

function serializeResult(
  { id, content, isError }: ToolResultPart,
  names: ReadonlyMap<string, string>,
  context: Context,
): JsonObject {
  const files = content.filter((part) => part.type !== "text");
  const text = content.map((part) => part.type === "text" ? part.text : "").join("");
  return {
    functionResponse: {
      id,
      name: names.get(id) ?? id,
      response: { [isError ? "error" : "output"]: text },
      ...(files.length > 0 && { parts: partsOf(files, context) }),
    },
  };
}

function serializeTools(tools: readonly Tool[], { note }: Context): JsonObject[] {
  const functionDeclarations = tools.flatMap((tool) => {
    if (tool.type === "hosted") return [];
    const { name, description, parameters, extra } = tool.type === "custom" ? asFunctionTool(tool) : tool;
    return [{
      name,
      ...present("description", description),
      ...present("parametersJsonSchema", parameters),
      ...fieldsFor(WIRE, extra, note),
    }];
  });
  const hosted = tools.flatMap((tool) => tool.type === "hosted" ? serializeHosted(tool, note) : []);
  return [...functionDeclarations.length > 0 ? [{ functionDeclarations }] : [], ...hosted];
}

function serializeHosted({ name, extra }: Extract<Tool, { type: "hosted" }>, note: Context["note"]): JsonObject[] {
  if (extra.wire === WIRE) return [extra.fields];
  note(`dropped tool ${name}`);
  return [];
}

function serializeToolChoice(choice: ToolChoice): JsonObject {
  switch (choice.type) {
    case "auto":
      return { mode: "AUTO" };
    case "none":
      return { mode: "NONE" };
    case "required":
      return { mode: "ANY" };
    case "tool":
      return { mode: "ANY", allowedFunctionNames: [choice.name] };
    case "allowed":
      return { mode: choice.mode === "required" ? "ANY" : "AUTO", allowedFunctionNames: choice.names };
    default:
      return choice satisfies never;
  }
}

function serializeConfig(input: GenerateRequest, context: Context): JsonObject {
  const { maxOutputTokens, stopSequences, outputSchema, thinking } = input;
  if (input.parallelToolCalls !== undefined) context.note("dropped parallel_tool_calls");
  return {
    ...present("maxOutputTokens", maxOutputTokens),
    ...copyRenamed(input, GEMINI_SAMPLING.serialized),
    ...present("stopSequences", stopSequences),
    ...(outputSchema && {
      responseMimeType: "application/json",
      ...present("responseJsonSchema", outputSchema.schema),
    }),
    // Thoughts are shown to those who ask for them.
    thinkingConfig: { includeThoughts: true, ...(thinking && serializeThinking(thinking)) },
  };
}

/** A budget of 0 turns thinking off. With -1 the model decides. */
function serializeThinking({ enabled, effort, budgetTokens }: Thinking): JsonObject {
  if (enabled === false) return { thinkingBudget: 0 };
  const budget = budgetTokens ?? (enabled ? -1 : undefined);
  return { ...present("thinkingBudget", budget), ...present("thinkingLevel", effort?.toUpperCase()) };
}
