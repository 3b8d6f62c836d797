import {
  carrying,
  type ClosedPlaces,
  type Extra,
  extraOf,
  inside,
  noteOutweighed,
  noteUnknown,
} from "../../src/canonical/extra.ts";
import type {
  AssistantMessage,
  GenerateRequest,
  InputPart,
  Message,
  OutputPart,
  OutputSchema,
  ToolChoice,
} from "../../src/canonical/generate.ts";
import { copyRenamed, isJsonObject, type JsonObject, present, toJsonText } from "../../src/canonical/json.ts";
import { isRawNumber } from "../../src/canonical/raw_number.ts";
import type { Context, WireRequest } from "../../src/contract/context.ts";
import { validate } from "../../src/contract/validate.ts";
import { CHAT_SAMPLING } from "../shared/sampling.ts";
import { parseContent } from "./content.ts";
import { parseRelay } from "./relay.ts";
import { flatCustomTools, toChatShape } from "./responses_shaped.ts";
import { noteSynonymsInChoice, parseFunction, parseTool, parseToolCall, parseToolChoice } from "./tools.ts";
import {
  type ChatMessage,
  type ChatRequest,
  type Content,
  REQUEST_KEYS,
  requestSchema,
  type ResponseFormat,
  WIRE,
} from "./wire.ts";

/** A client's chat completions request. `null` means absent, as the vendor's SDK has it. */
export function parseRequest(wire: WireRequest, { note }: Context): GenerateRequest {
  const hasOwnLimit = isJsonObject(wire.body) && wire.body.n_predict !== undefined;
  const limited = hasOwnLimit ? withOneLimit(wire.body as JsonObject, note) : wire.body;
  const body = validate(requestSchema, toChatShape(limited, note));
  const { response_format, reasoning_effort, stop, metadata } = body;
  const tools = [...(body.tools ?? []).map(parseTool), ...(body.functions ?? []).map((one) => parseFunction(one))];
  const toolChoice = parseChoice(body);
  const outputSchema = parseResponseFormat(response_format);
  const extra = parseExtra(body, response_format);
  const relay = parseRelay(body);
  if (!relay) {
    noteUnknown(body, CLOSED, note);
    noteSynonyms(body, note);
  }
  return {
    model: body.model,
    messages: parseMessages(body.messages, flatCustomTools(body)),
    stream: body.stream ?? false,
    ...(tools.length > 0 && { tools }),
    ...present("toolChoice", toolChoice),
    ...present("parallelToolCalls", body.parallel_tool_calls),
    ...(reasoning_effort && { thinking: { effort: reasoning_effort } }),
    ...present("maxOutputTokens", body.max_completion_tokens ?? body.max_tokens),
    ...copyRenamed(body, CHAT_SAMPLING.parsed),
    ...(stop !== null && stop !== undefined && { stopSequences: typeof stop === "string" ? [stop] : stop }),
    ...(typeof body.seed === "number" && { seed: body.seed }),
    ...present("outputSchema", outputSchema),
    ...present("verbosity", body.verbosity),
    ...present("cacheKey", body.prompt_cache_key),
    ...present("metadata", metadata),
    ...present("relay", relay),
    ...present("extra", extra),
  };
}

const REFERENCE = ["type", "function", "custom", "name"];
const FORMAT = ["type", "grammar", "syntax", "definition"];

const CLOSED: ClosedPlaces = {
  "function_call": ["name"],
  "response_format.json_schema": ["name", "description", "schema", "strict"],
  "tool_choice": [...REFERENCE, "allowed_tools", "mode", "tools"],
  "tool_choice.function": ["name"],
  "tool_choice.custom": ["name"],
  "tool_choice.tools[]": REFERENCE,
  "tool_choice.allowed_tools": ["mode", "tools"],
  "tool_choice.allowed_tools.tools[]": REFERENCE,
  "tool_choice.allowed_tools.tools[].function": ["name"],
  "tool_choice.allowed_tools.tools[].custom": ["name"],
  "tools[custom].format": FORMAT,
  "tools[custom].custom.format": FORMAT,
  "tools[custom].custom.format.grammar": FORMAT,
  "messages[].function_call": ["name", "arguments"],
  "messages[].tool_calls[custom]": ["id", "type", "custom", "index"],
  "messages[].tool_calls[custom].custom": ["name", "input"],
  "messages[function]": ["role", "name", "content"],
};

/**
 * Replaces `n_predict`, llama.cpp's own name for `max_tokens`, by that. An upstream would prefer it to the limit that a budget
 * pays for. -1 means no limit.
 */
function withOneLimit(
  { n_predict, max_tokens, max_completion_tokens, ...rest }: JsonObject,
  note: (text: string) => void,
): JsonObject {
  const limit = max_completion_tokens ?? max_tokens;
  const isLimit = typeof n_predict === "number" && n_predict > 0;
  noteOutweighed(isLimit ? "max_tokens" : "n_predict", isLimit ? limit : n_predict, isLimit ? n_predict : limit, note);
  return { ...rest, max_tokens: isLimit ? n_predict : limit };
}

/** A field that occurs under two names counts once, by the newer name. */
function noteSynonyms(body: ChatRequest, note: (text: string) => void): void {
  const { max_tokens, max_completion_tokens, function_call, tool_choice, messages } = body;
  noteOutweighed("max_tokens", max_tokens, max_completion_tokens, note);
  const called = function_call && parseChoice({ function_call });
  noteOutweighed("function_call", called, tool_choice && parseToolChoice(tool_choice), note);
  noteSynonymsInChoice(tool_choice, note);
  for (const message of messages) {
    if (message.role !== "assistant") continue;
    noteOutweighed("messages.reasoning", message.reasoning, message.reasoning_content, note);
  }
}

function parseChoice(
  { tool_choice, function_call }: Pick<ChatRequest, "tool_choice" | "function_call">,
): ToolChoice | undefined {
  if (tool_choice) return parseToolChoice(tool_choice);
  if (!function_call) return undefined;
  return typeof function_call === "string"
    ? { type: function_call }
    : { type: "tool", kind: "function", name: function_call.name };
}

function parseResponseFormat(format: ResponseFormat | null | undefined): OutputSchema | undefined {
  switch (format?.type) {
    case "json_object":
      return {};
    case "json_schema": {
      const { name, description, schema, strict } =
        (format as Extract<ResponseFormat, { json_schema: unknown }>).json_schema;
      return {
        ...present("name", name),
        ...present("description", description),
        ...present("schema", schema),
        ...present("strict", strict),
      };
    }
    default:
      return undefined;
  }
}

function isEmptySchema({ name, schema }: OutputSchema = {}): boolean {
  return name === undefined && schema === undefined;
}

const FORMAT_KEYS: ReadonlySet<string> = new Set(["type", "json_schema"]);
const KNOWN_FORMATS = ["text", "json_object", "json_schema"];

/** Fields that ride through: unknown ones, a response format of the server's own, stream options other than ours. */
function parseExtra(body: ChatRequest, format: ResponseFormat | null | undefined): Extra | undefined {
  const fields: JsonObject = { ...extraOf(WIRE, body, REQUEST_KEYS)?.fields };
  // A schema that is not there makes it another form for all who read no more of it.
  const isBare = format?.type === "json_schema" && isEmptySchema(parseResponseFormat(format));
  if (format && (isBare || !KNOWN_FORMATS.includes(format.type) || extraOf(WIRE, format, FORMAT_KEYS))) {
    fields.response_format = format as JsonObject;
  }
  const options = body.stream_options && extraOf(WIRE, body.stream_options, new Set(["include_usage"]));
  Object.assign(fields, inside("stream_options", options ?? undefined));
  // Seeds have 64 bits. No other wire has one.
  if (isRawNumber(body.seed)) fields.seed = body.seed as unknown as JsonObject;
  return Object.keys(fields).length > 0 ? { wire: WIRE, fields } : undefined;
}

const MESSAGE_KEYS = {
  content: new Set(["role", "content"]),
  assistant: new Set(["role", "content", "refusal", "reasoning_content", "reasoning", "tool_calls", "function_call"]),
  tool: new Set(["role", "content", "tool_call_id"]),
};

function parseMessages(messages: readonly ChatMessage[], flat: ReadonlySet<unknown>): Message[] {
  // The legacy form has no ids: a `function` message answers the latest `function_call`.
  let functionCalls = 0;
  return messages.map((message): Message => {
    switch (message.role) {
      case "system":
      case "developer":
        return carrying<Message>(
          { role: "system", content: inputParts(message.content) },
          WIRE,
          message,
          MESSAGE_KEYS.content,
        );
      case "user":
        return carrying<Message>(
          { role: "user", content: inputParts(message.content) },
          WIRE,
          message,
          MESSAGE_KEYS.content,
        );
      case "assistant":
        if (message.function_call) functionCalls++;
        return parseAssistant(message, legacyId(functionCalls), flat);
      case "tool":
        return toolMessage(message.tool_call_id, message.content, extraOf(WIRE, message, MESSAGE_KEYS.tool));
      case "function":
        return toolMessage(legacyId(functionCalls), message.content);
      default:
        return message satisfies never;
    }
  });
}

function legacyId(count: number): string {
  return `call_${count}`;
}

function parseAssistant(
  message: Extract<ChatMessage, { role: "assistant" }>,
  callId: string,
  flat: ReadonlySet<unknown>,
): AssistantMessage {
  const { content, refusal, tool_calls, function_call } = message;
  const reasoning = message.reasoning_content ?? message.reasoning;
  const parts: OutputPart[] = parseContent(content);
  if (reasoning !== null && reasoning !== undefined) parts.unshift({ type: "reasoning", text: reasoning });
  if (refusal) parts.push({ type: "refusal", text: refusal });
  for (const call of tool_calls ?? []) parts.push(parseToolCall(call, flat));
  if (function_call) {
    const { name, arguments: args } = function_call;
    parts.push({ type: "tool-call", kind: "function", id: callId, name, input: toJsonText(args) });
  }
  return carrying<AssistantMessage>({ role: "assistant", content: parts }, WIRE, message, MESSAGE_KEYS.assistant);
}

function toolMessage(id: string, content: Content | null | undefined, extra?: Extra): Message {
  return {
    role: "tool",
    content: [{ type: "tool-result", id, content: inputParts(content), ...(extra && { extra }) }],
  };
}

/** A refusal in a turn that is not the assistant's is plain text. */
function inputParts(content: Content | null | undefined): InputPart[] {
  const parts = parseContent(content);
  return parts.some(({ type }) => type === "refusal")
    ? parts.map((part) => part.type === "refusal" ? { type: "text", text: part.text } : part)
    : parts as InputPart[];
}
