import {
  carrying,
  type ClosedPlaces,
  type Extra,
  extraOf,
  hasOther,
  inside,
  noteOutweighed,
  noteUnknown,
} from "../../src/canonical/extra.ts";
import type { AssistantMessage, GenerateRequest, Message, OutputPart } from "../../src/canonical/generate.ts";
import { asObject, copyRenamed, isJsonObject, type JsonObject, present } from "../../src/canonical/json.ts";
import { toArgumentsText } from "../../src/canonical/half_surrogates.ts";
import { isRawNumber } from "../../src/canonical/raw_number.ts";
import type { Context, WireRequest } from "../../src/contract/context.ts";
import { validate } from "../../src/contract/validate.ts";
import { refusePartial, SDK_OPTIONS, withoutSdkOptions } from "../shared/foreign.ts";
import { CHAT_SAMPLING } from "../shared/sampling.ts";
import { inputParts, parseTurn, splitResults } from "./content.ts";
import { isModelled, parseResponseFormat } from "./response_format.ts";
import { parseRelay } from "./relay.ts";
import { flatCustomTools, toChatShape, withOwnNames } from "./responses_shaped.ts";
import {
  isEmptyCall,
  noteSynonymsInChoice,
  parseChoice,
  parseFunction,
  parseTool,
  parseToolCall,
  parseToolChoice,
} from "./tools.ts";
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
  const given = wire.body;
  let isForeign = false;
  if (isJsonObject(given)) { for (const name of FOREIGN_FIELDS) isForeign ||= given[name] !== undefined; }
  const body = validate(requestSchema, isForeign ? inOwnForm(given as JsonObject, note) : given);
  const isPlain = isPlainRequest(body);
  const request: GenerateRequest = {
    model: body.model,
    messages: parseMessages(body),
    stream: body.stream ?? false,
  };
  if (!isPlain) addTools(body, given as JsonObject, request);
  if (body.reasoning_effort) request.thinking = { effort: body.reasoning_effort };
  const limit = body.max_completion_tokens ?? body.max_tokens;
  if (limit) request.maxOutputTokens = limit;
  copyRenamed(body, CHAT_SAMPLING.parsed, request as object as JsonObject);
  const { stop, seed } = body;
  if (stop !== null && stop !== undefined) request.stopSequences = typeof stop === "string" ? [stop] : stop;
  if (typeof seed === "number") request.seed = seed;
  if (!isPlain) addRest(body, request, note);
  return request;
}

const NO_TOOLS: ReadonlySet<unknown> = new Set();

/** The fields that are read alone, whatever else a request has. */
const PLAIN_KEYS: ReadonlySet<string> = new Set([
  "model",
  "messages",
  "stream",
  "stream_options",
  "max_tokens",
  "max_completion_tokens",
  "reasoning_effort",
  "stop",
  ...Object.keys(CHAT_SAMPLING.shape),
]);
const OPTION_KEYS: ReadonlySet<string> = new Set(["include_usage"]);

/** Whether there is nothing to look for but plain fields and turns, and none of them stands for another. */
function isPlainRequest(body: ChatRequest): boolean {
  if (hasOther(body, PLAIN_KEYS) || (body.max_tokens && body.max_completion_tokens)) return false;
  if (body.stream_options && hasOther(body.stream_options, OPTION_KEYS)) return false;
  for (const message of body.messages) {
    if (message.role === "function" || message.type === "function") return false;
    if (message.role !== "assistant") continue;
    if (message.tool_calls || message.function_call || message.reasoning !== undefined) return false;
  }
  return true;
}

/** Names that only some servers and clients know. */
const FOREIGN_FIELDS: readonly string[] = [
  ...["n_predict", "input", "system", "instructions", "stop_sequences"],
  ...SDK_OPTIONS,
];

/** The body without names that only some servers and clients know. */
function inOwnForm(given: JsonObject, note: (text: string) => void): JsonObject {
  const body = SDK_OPTIONS.some((name) => given[name] !== undefined) ? withoutSdkOptions(given, note) : given;
  const limited = body.n_predict === undefined ? body : withOneLimit(body, note);
  return withOwnNames(limited.input === undefined ? limited : toChatShape(limited, note), note);
}

function addTools(body: ChatRequest, given: JsonObject, request: GenerateRequest): void {
  const { tools, functions, parallel_tool_calls } = body;
  if (tools?.length || functions?.length) {
    request.tools = [...(tools ?? []).map(parseTool), ...(functions ?? []).map((one) => parseFunction(one))];
  }
  const toolChoice = parseChoice(body);
  if (toolChoice) request.toolChoice = toolChoice;
  if (typeof parallel_tool_calls === "boolean") request.parallelToolCalls = parallel_tool_calls;
  // The messages wire says it in its choice.
  else if (asObject(given.tool_choice).disable_parallel_tool_use === true) request.parallelToolCalls = false;
}

/** Adds what few requests have, and notes what counts for nothing. */
function addRest(body: ChatRequest, request: GenerateRequest, note: (text: string) => void): void {
  refusePartial(body);
  const { response_format } = body;
  const relay = parseRelay(body);
  if (!relay) {
    noteUnknown(body, CLOSED, note);
    noteSynonyms(body, note);
  }
  Object.assign(request, {
    ...(response_format && present("outputSchema", parseResponseFormat(response_format))),
    ...present("verbosity", body.verbosity),
    ...present("cacheKey", body.prompt_cache_key),
    ...present("metadata", body.metadata),
    ...present("relay", relay),
    ...present("extra", parseExtra(body, response_format)),
  });
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
  if (max_tokens) noteOutweighed("max_tokens", max_tokens, max_completion_tokens, note);
  if (function_call && tool_choice) {
    noteOutweighed("function_call", parseChoice({ function_call }), parseToolChoice(tool_choice), note);
  }
  if (tool_choice) noteSynonymsInChoice(tool_choice, note);
  for (const message of messages) {
    if (message.role !== "assistant") continue;
    if (message.tool_calls?.some(isEmptyCall)) note("dropped a call without a function");
    if (message.reasoning === undefined) continue;
    noteOutweighed("messages.reasoning", message.reasoning, message.reasoning_content, note);
  }
}

/** Fields that ride through: unknown ones, a response format of the server's own, stream options other than ours. */
function parseExtra(body: ChatRequest, format: ResponseFormat | null | undefined): Extra | undefined {
  const fields: JsonObject = { ...extraOf(WIRE, body, REQUEST_KEYS)?.fields };
  if (format && !isModelled(format)) fields.response_format = format as JsonObject;
  if (body.stream_options) inside("stream_options", extraOf(WIRE, body.stream_options, OPTION_KEYS), fields);
  // Seeds have 64 bits. No other wire has one.
  if (isRawNumber(body.seed)) fields.seed = body.seed as unknown as JsonObject;
  return Object.keys(fields).length > 0 ? { wire: WIRE, fields } : undefined;
}

const TURN_KEYS: ReadonlySet<string> = new Set(["role", "content"]);
const ASSISTANT_KEYS: ReadonlySet<string> = new Set([
  ...TURN_KEYS,
  "refusal",
  "reasoning_content",
  "reasoning",
  "tool_calls",
  "function_call",
]);
/** The vendor's SDK has an empty list in each answer, and many hosts refuse it when it comes back. */
const WITHOUT_ANNOTATIONS: ReadonlySet<string> = new Set([...ASSISTANT_KEYS, "annotations"]);
const RESULT_KEYS: ReadonlySet<string> = new Set([...TURN_KEYS, "tool_call_id"]);

function parseMessages({ messages, tools }: ChatRequest): Message[] {
  const flat = tools ? flatCustomTools({ tools }) : NO_TOOLS;
  const parsed: Message[] = [];
  // The legacy form has no ids: a `function` message answers the latest `function_call`.
  let functionCalls = 0;
  for (const message of messages) {
    switch (message.role) {
      case "system":
      case "developer":
      case "user": {
        const { role } = message;
        let content: Content | null | undefined = message.content;
        if (Array.isArray(content)) {
          const { results, rest } = splitResults(content);
          if (results.length > 0) parsed.push({ role: "tool", content: results });
          if (results.length > 0 && rest.length === 0) break;
          content = rest;
        }
        const turn: Message = {
          role: role === "user" ? role : "system",
          content: typeof content === "string" && content !== ""
            ? [{ type: "text", text: content }]
            : inputParts(content),
        };
        if (hasOther(message, TURN_KEYS)) carrying(turn, WIRE, message, TURN_KEYS);
        parsed.push(turn);
        break;
      }
      case "assistant":
        if (message.function_call) functionCalls++;
        parsed.push(parseAssistant(message, legacyId(functionCalls), flat));
        break;
      case "tool":
        parsed.push(toolMessage(message.tool_call_id, message.content, extraOf(WIRE, message, RESULT_KEYS)));
        break;
      case "function":
        parsed.push(toolMessage(legacyId(functionCalls), message.content));
        break;
      default:
        message satisfies never;
    }
  }
  return parsed;
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
  const parts: OutputPart[] = parseTurn(content);
  if (reasoning !== null && reasoning !== undefined) parts.unshift({ type: "reasoning", text: reasoning });
  if (refusal) parts.push({ type: "refusal", text: refusal });
  for (const call of tool_calls ?? []) if (!isEmptyCall(call)) parts.push(parseToolCall(call, flat));
  if (function_call) {
    const { name, arguments: args } = function_call;
    parts.push({ type: "tool-call", kind: "function", id: callId, name, input: toArgumentsText(args) });
  }
  const { annotations } = message;
  const known = Array.isArray(annotations) && annotations.length === 0 ? WITHOUT_ANNOTATIONS : ASSISTANT_KEYS;
  return carrying<AssistantMessage>({ role: "assistant", content: parts }, WIRE, message, known);
}

function toolMessage(id: string, content: Content | null | undefined, extra?: Extra): Message {
  return {
    role: "tool",
    content: [{ type: "tool-result", id, content: inputParts(content), ...(extra && { extra }) }],
  };
}
