import {
  type ClosedPlaces,
  emptyField,
  type Extra,
  extraOf,
  hasOther,
  inside,
  noteOutweighed,
  noteUnknown,
} from "../../src/canonical/extra.ts";
import type { GenerateRequest, Message, OutputSchema, RecallRequest, Tool } from "../../src/canonical/generate.ts";
import { copyRenamed, isJsonObject, type JsonObject, present } from "../../src/canonical/json.ts";
import type { Context, WireRequest } from "../../src/contract/context.ts";
import { validate } from "../../src/contract/validate.ts";
import { GatewayError } from "../../src/errors.ts";
import { asSent, hasSdkOptions, refusePartial } from "../shared/foreign.ts";
import { RESPONSES_SAMPLING } from "../shared/sampling.ts";
import { parseCompaction } from "./compaction.ts";
import { conversationId } from "./conversations.ts";
import { withoutCredentials } from "./hosted.ts";
import { parseItems } from "./parse_items.ts";
import { namespacesOf } from "./namespaces.ts";
import { defersTools } from "./tool_search.ts";
import { parseToolChoice, parseTools } from "./tools.ts";
import { REQUEST_KEYS, requestSchema, type ResponsesRequest, WIRE, type WireFormat } from "./wire.ts";

/** A client's responses request, or the same to count its tokens. `null` means absent. */
export function parseRequest(wire: WireRequest, context: Context): GenerateRequest {
  const body = validate(requestSchema, wire.body);
  const { input } = body;
  const isPlain = typeof input === "string" && input !== "" && !hasOther(body, PLAIN_KEYS);
  if (isPlain) return parsePlainRequest(body, input);
  return hasSdkOptions(body)
    ? parseRequest(asSent(wire, context.note), context)
    : parseOtherRequest(body, wire, context);
}

/** The fields that are read alone, whatever else a request has. */
const PLAIN_KEYS: ReadonlySet<string> = new Set([
  "model",
  "input",
  "instructions",
  "stream",
  "store",
  "max_output_tokens",
  ...Object.keys(RESPONSES_SAMPLING.shape),
]);

/** A request of one text and of plain fields. There is nothing else to look for in it. */
function parsePlainRequest(body: ResponsesRequest, input: string): GenerateRequest {
  const messages = body.instructions ? parseInstructions(body) : [];
  const at = messages.length;
  messages.push({ role: "user", content: [{ type: "text", text: input }] });
  const request: GenerateRequest = { model: body.model, messages, stream: body.stream ?? false };
  if (body.max_output_tokens) request.maxOutputTokens = body.max_output_tokens;
  copyRenamed(body, RESPONSES_SAMPLING.parsed, request as object as JsonObject);
  const recall = body.store === false ? undefined : parseRecall(body, at, []);
  if (recall) request.recall = recall;
  return request;
}

function parseOtherRequest(body: ResponsesRequest, wire: WireRequest, context: Context): GenerateRequest {
  refuseUnserved(body, context);
  noteUnknown(body, CLOSED, context.note);
  const { summary, generate_summary } = body.reasoning ?? {};
  noteOutweighed("reasoning.generate_summary", generate_summary, summary, context.note);
  const namespaces = namespacesOf(wire.body);
  const instructions = parseInstructions(body);
  const input = typeof body.input === "string" ? [] : body.input ?? [];
  const { messages: parsed, references, tools: later, found } = parseItems(
    input,
    namespaces,
    instructions.length,
  );
  const asked: Message[] = typeof body.input === "string"
    ? [{ role: "user", content: [{ type: "text", text: body.input }] }]
    : parsed;
  const known = defersTools(wire.body) ? found : undefined;
  const tools = uniqueTools(parseTools([...body.tools ?? [], ...later], namespaces, known));
  const { tool_choice, reasoning, text, metadata } = body;
  const outputSchema = parseFormat(text?.format);
  const extra = parseExtra(body);
  const compaction = parseCompaction(body, extra);
  const recall = parseRecall(body, instructions.length, references);
  return {
    model: body.model,
    messages: [...instructions, ...asked],
    stream: body.stream ?? false,
    ...(tools.length > 0 && { tools }),
    ...(tool_choice && { toolChoice: parseToolChoice(tool_choice, tools, namespaces) }),
    ...(typeof body.max_tool_calls === "number" && { maxHostedCalls: body.max_tool_calls }),
    ...present("parallelToolCalls", body.parallel_tool_calls),
    ...(reasoning?.effort && { thinking: { effort: reasoning.effort } }),
    ...present("maxOutputTokens", body.max_output_tokens),
    ...copyRenamed(body, RESPONSES_SAMPLING.parsed),
    ...present("outputSchema", outputSchema),
    ...present("verbosity", text?.verbosity),
    ...present("cacheKey", body.prompt_cache_key),
    ...present("metadata", metadata),
    ...present("recall", recall),
    ...present("compaction", compaction),
    ...present("extra", extra),
  };
}

/**
 * Like `parseRequest`, but out of a message of a WebSocket. The socket remembers what is not stored: it must know where the
 * client's turn begins.
 */
export function parseSocketRequest(wire: WireRequest, context: Context): GenerateRequest {
  const request = parseRequest(wire, context);
  const { instructions } = wire.body as ResponsesRequest;
  return request.recall ? request : { ...request, recall: { at: parseInstructions({ instructions }).length } };
}

const REFERENCE = ["type", "name", "namespace", "server_label"];
const FORMAT = ["type", "syntax", "definition"];
const TEXT = ["type", "text"];

const CLOSED: ClosedPlaces = {
  "tool_choice": [...REFERENCE, "mode", "tools"],
  "tool_choice.tools[]": REFERENCE,
  ...toolsAt("tools"),
  ...toolsAt("input[additional_tools].tools"),
  ...toolsAt("input[tool_search_output].tools"),
  "input[item_reference]": ["type", "id"],
  "input[compaction_trigger]": ["type", "id"],
  "input[additional_tools]": ["type", "id", "role", "tools"],
  "input[reasoning].summary[]": TEXT,
  "input[reasoning].content[]": TEXT,
};

function toolsAt(path: string): ClosedPlaces {
  return {
    [`${path}[namespace]`]: ["type", "name", "description", "tools"],
    [`${path}[namespace].tools[custom].format`]: FORMAT,
    [`${path}[custom].format`]: FORMAT,
  };
}

/** A tool that comes up again in the conversation is the same tool, and servers refuse two of one name. */
function uniqueTools(tools: readonly Tool[]): Tool[] {
  const names = new Set<string>();
  return tools.filter(({ type, name }) => type === "hosted" || !names.has(name) && names.add(name));
}

/** Refuses what cannot be left out without answering another question, and notes what can. */
function refuseUnserved(body: ResponsesRequest, { note }: Context): void {
  const refuse = (param: string, message: string) => {
    throw new GatewayError("invalid_request", message, { param });
  };
  if (body.conversation && !isAbsent(body.previous_response_id)) {
    refuse("conversation", 'Cannot be used together with "previous_response_id"');
  }
  refusePartial(body, ["previous_response_id", "conversation"]);
  if (body.prompt) refuse("prompt", 'The gateway keeps no prompts: send "instructions" and "input"');
  const goesOn = !isAbsent(body.previous_response_id) || Boolean(body.conversation);
  if (body.input === undefined || body.input === null) {
    if (!goesOn) refuse("input", 'Missing "input"');
  } else if (body.input.length === 0 && !goesOn && !body.instructions) {
    refuse("input", 'Nothing to answer: "input" is empty');
  }
  if (body.background && body.store === false) {
    refuse("background", 'Cannot make a response in the background that is not stored: leave out "store"');
  }
  if (body.truncation === "auto") note("dropped truncation");
}

/** Whether the client wants reasoning in a form that it can give back. */
export function includesEncrypted(body: unknown): boolean {
  return isJsonObject(body) && Array.isArray(body.include) && body.include.includes("reasoning.encrypted_content");
}

/** Instructions come before the conversation, and are not part of what is remembered of it. */
function parseInstructions({ instructions }: Pick<ResponsesRequest, "instructions">): Message[] {
  if (!instructions || instructions.length === 0) return [];
  if (typeof instructions === "string") return [{ role: "system", content: [{ type: "text", text: instructions }] }];
  return parseItems(instructions, namespacesOf({})).messages;
}

function parseFormat(format: WireFormat | null | undefined): OutputSchema | undefined {
  if (format?.type === "json_object") return {};
  if (format?.type !== "json_schema") return undefined;
  const { name, description, schema, strict } = format;
  return {
    ...present("name", name),
    ...present("description", description),
    ...present("schema", schema),
    ...present("strict", strict),
  };
}

/** The earlier answers that the request builds on, and the part of it that is to be remembered: what its answers echo. */
function parseRecall(
  body: ResponsesRequest,
  at: number,
  references: NonNullable<RecallRequest["references"]>,
): RecallRequest | undefined {
  const { previous_response_id, store, input: _input, stream: _stream, stream_options: _options, ...rest } = body;
  const keep = rest.tools ? { ...rest, tools: rest.tools.map((tool) => withoutCredentials(tool as JsonObject)) } : rest;
  const conversation = conversationId(body.conversation);
  const isAlone = isAbsent(previous_response_id) && conversation === undefined && references.length === 0;
  if (isAlone && store === false) return undefined;
  return {
    at,
    ...present("conversation", conversation),
    ...present("previous", previous_response_id),
    ...(references.length > 0 && { references }),
    ...(body.background && { background: true }),
    ...(store !== false && { keep: keep as JsonObject }),
  };
}

/** An empty id is no absent one: a client whose variable is empty means to go on with something. */
function isAbsent(id: string | null | undefined): boolean {
  return id === null || id === undefined;
}

const REASONING_KEYS: ReadonlySet<string> = new Set(["effort", "summary", "generate_summary"]);
const TEXT_KEYS: ReadonlySet<string> = new Set(["format", "verbosity"]);
const FORMAT_KEYS: ReadonlySet<string> = new Set(["type", "name", "description", "schema", "strict"]);
const KNOWN_FORMATS = ["text", "json_object", "json_schema"];
/**
 * Values of `include` without which nothing is lost: what they ask for is in each answer anyhow, or a hosted tool, which nobody
 * ran, would give it.
 */
const LOST_NOWHERE: ReadonlySet<string> = new Set([
  "reasoning.encrypted_content",
  "file_search_call.results",
  "web_search_call.results",
  "web_search_call.action.sources",
  "code_interpreter_call.outputs",
  "computer_call_output.output.image_url",
  "message.input_image.image_url",
]);

/** Fields that ride through: those that we do not know, at the top and inside those that we do. */
function parseExtra(body: ResponsesRequest): Extra | undefined {
  const { reasoning, text, include } = body;
  const { format } = text ?? {};
  const ownFormat = format && (!KNOWN_FORMATS.includes(format.type) || extraOf(WIRE, format, FORMAT_KEYS));
  const fields: JsonObject = {
    ...extraOf(WIRE, body, REQUEST_KEYS)?.fields,
    ...inside("reasoning", extraOf(WIRE, reasoning ?? {}, REASONING_KEYS)),
    ...inside("text", extraOf(WIRE, text ?? {}, TEXT_KEYS)),
    ...(ownFormat && { "text.format": format as JsonObject }),
    ...(include?.some((one) => !LOST_NOWHERE.has(one)) && { include }),
  };
  const hints = hintsIn(body);
  if (Object.keys({ ...fields, ...hints }).length === 0) return undefined;
  return { wire: WIRE, fields, ...(Object.keys(hints).length > 0 && { hints }) };
}

/** Fields without which nothing is lost. */
function hintsIn({ reasoning, text, include, stream_options }: ResponsesRequest): JsonObject {
  const summary = reasoning?.summary ?? reasoning?.generate_summary;
  return {
    ...(include && include.length > 0 && { include }),
    ...(typeof summary === "string" && { "reasoning.summary": summary }),
    ...(isJsonObject(stream_options) && { stream_options }),
    ...emptyField("reasoning", reasoning),
    ...emptyField("text", text),
  };
}
