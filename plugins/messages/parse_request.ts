import {
  carrying,
  type ClosedPlaces,
  emptyField,
  type Extra,
  extraOf,
  hasOther,
  inside,
  noteOutweighed,
  noteUnknown,
} from "../../src/canonical/extra.ts";
import type {
  GenerateRequest,
  Message,
  OutputPart,
  OutputSchema,
  TextPart,
  Thinking,
  Tool,
  ToolResultPart,
} from "../../src/canonical/generate.ts";
import { copyRenamed, isJsonObject, type JsonObject } from "../../src/canonical/json.ts";
import type { Context, WireRequest } from "../../src/contract/context.ts";
import { validate } from "../../src/contract/validate.ts";
import { asSent, hasSdkOptions, refusePartial } from "../shared/foreign.ts";
import { MESSAGES_SAMPLING } from "../shared/sampling.ts";
import { parseCompaction } from "./compaction.ts";
import { HostedBlocks, withContainer, withRemoteTools } from "./hosted.ts";
import { inputParts, parseContent } from "./parse_content.ts";
import { parseToolChoice, parseTools } from "./tools.ts";
import { type MessagesRequest, REQUEST_KEYS, requestSchema, WIRE, type WireFormat, type WireMessage } from "./wire.ts";

/** A client's messages request, or the same without `max_tokens` to count its tokens. */
export function parseRequest(wire: WireRequest, context: Context): GenerateRequest {
  const { note } = context;
  const { body: given } = wire;
  if (isJsonObject(given) && given.thread) return partOfThread(given);
  const body = validate(requestSchema, given);
  for (const name of ACCOUNT_HEADERS) if (wire.headers.has(name)) note(`dropped ${name}`);
  const isPlain = !hasOther(body, PLAIN_KEYS) && !hasTellingBlocks(body);
  if (!isPlain) {
    if (hasSdkOptions(body)) return parseRequest(asSent(wire, note), context);
    noteUnread(body, note);
  }
  const request: GenerateRequest = { model: body.model, messages: parseMessages(body), stream: body.stream ?? false };
  if (!isPlain) addControls(body, request);
  if (typeof body.max_tokens === "number") request.maxOutputTokens = body.max_tokens;
  copyRenamed(body, MESSAGES_SAMPLING.parsed, request as object as JsonObject);
  if (body.stop_sequences?.length) request.stopSequences = body.stop_sequences;
  const beta = wire.headers.get(BETA_HEADER);
  if (!isPlain || beta !== null) addRest(body, beta, request);
  return request;
}

/** The fields that are read alone, whatever else a request has. */
const PLAIN_KEYS: ReadonlySet<string> = new Set([
  "model",
  "max_tokens",
  "messages",
  "system",
  "stream",
  "stop_sequences",
  ...Object.keys(MESSAGES_SAMPLING.shape),
]);

/** Whether a block may hold fields that are not read, or says something of the request's tools or of its turn's end. */
function hasTellingBlocks({ messages }: MessagesRequest): boolean {
  for (const { content, clear_at } of messages) {
    if (clear_at) return true;
    if (!Array.isArray(content)) continue;
    for (const { source, content: inner, tool, tool_changes } of content as JsonObject[]) {
      if (source || tool || tool_changes || (inner && typeof inner !== "string")) return true;
    }
  }
  return false;
}

/** Notes what counts for nothing. */
function noteUnread(body: MessagesRequest, note: (text: string) => void): void {
  noteUnknown(body, CLOSED, note);
  noteOutweighed("output_format", body.output_format, body.output_config?.format, note);
  for (const { input_schema, inputSchema } of body.tools ?? []) {
    noteOutweighed("tools.inputSchema", inputSchema, input_schema, note);
  }
}

function addControls(body: MessagesRequest, request: GenerateRequest): void {
  const { tool_choice } = body;
  const tools = toolsOf(body, request.messages);
  if (tools.length > 0) request.tools = tools;
  if (tool_choice) request.toolChoice = parseToolChoice(tool_choice);
  if (tool_choice?.disable_parallel_tool_use) request.parallelToolCalls = false;
  const thinking = parseThinking(body);
  if (thinking) request.thinking = thinking;
}

/** The tools that the model has after these messages. */
export function toolsOf(body: MessagesRequest, messages: readonly Message[]): Tool[] {
  const tools = withContainer(parseTools(body.tools ?? [], messages), body as JsonObject);
  return withRemoteTools(tools, body as JsonObject);
}

/** Adds what few requests have. */
function addRest(body: MessagesRequest, beta: string | null, request: GenerateRequest): void {
  refusePartial(body);
  const outputSchema = parseFormat(body);
  if (outputSchema) request.outputSchema = outputSchema;
  if (body.context_management || body.messages.some(({ clear_at }) => clear_at)) request.editing = true;
  const extra = parseExtra(body, beta);
  if (!extra) return;
  const compaction = parseCompaction(extra);
  if (compaction) request.compaction = compaction;
  request.extra = extra;
}

/** A request that cannot be read without its thread. The model's name is enough to find the lane. */
function partOfThread({ model, stream }: JsonObject): GenerateRequest {
  return { model: String(model), messages: [], stream: stream === true, recall: { at: 0, thread: true } };
}

const BYTES = ["type", "media_type", "data"];

const CLOSED: ClosedPlaces = {
  "tool_choice": ["type", "name", "disable_parallel_tool_use"],
  "messages[].content[].source[base64]": BYTES,
  "messages[].content[].source[url]": ["type", "url"],
  "messages[].content[].source[file]": ["type", "file_id"],
  "messages[].content[].content[].source[base64]": BYTES,
  "messages[].content[].content[].source[url]": ["type", "url"],
  "messages[].content[].content[].source[file]": ["type", "file_id"],
};

function parseThinking({ thinking, output_config }: MessagesRequest): Thinking | undefined {
  const effort = output_config?.effort;
  if (!thinking && !effort) return undefined;
  const budget = thinking?.budget_tokens;
  return {
    ...(thinking && { enabled: thinking.type !== "disabled" }),
    ...(effort && { effort }),
    ...(budget && { budgetTokens: budget }),
  };
}

function parseFormat(body: MessagesRequest): OutputSchema | undefined {
  const format = formatIn(body);
  return format && isKnown(format) ? { schema: format.schema! } : undefined;
}

function formatIn({ output_config, output_format }: MessagesRequest): WireFormat | undefined {
  return output_config?.format ?? output_format ?? undefined;
}

/** Whether the canonical form models it. */
function isKnown({ type, schema }: WireFormat): boolean {
  return type === "json_schema" && isJsonObject(schema);
}

/** Fields that ride through: those that we do not know, at the top and inside those that we do. */
function parseExtra(body: MessagesRequest, beta: string | null): Extra | undefined {
  const { thinking, output_config } = body;
  const display = thinking && DISPLAYS.includes(thinking.display) ? thinking.display as string : undefined;
  const inThinking = display === undefined ? THINKING_KEYS : new Set([...THINKING_KEYS, "display"]);
  const format = formatIn(body);
  const ownFormat = format && (!isKnown(format) || extraOf(WIRE, format, FORMAT_KEYS));
  const fields: JsonObject = {
    ...extraOf(WIRE, body, REQUEST_KEYS)?.fields,
    ...(thinking && inside("thinking", extraOf(WIRE, thinking, inThinking))),
    ...(thinking?.type === "between_tools" && { "thinking.type": thinking.type }),
    ...(output_config && inside("output_config", extraOf(WIRE, output_config, CONFIG_KEYS))),
    ...(ownFormat && { "output_config.format": format as JsonObject }),
  };
  const hints: JsonObject = {
    ...(display !== undefined && { "thinking.display": display }),
    ...(beta !== null && { [BETA_HEADER]: beta }),
    ...emptyField("output_config", output_config),
  };
  if (Object.keys({ ...fields, ...hints }).length === 0) return undefined;
  return { wire: WIRE, fields, ...(Object.keys(hints).length > 0 && { hints }) };
}

/** How thoughts may be shown that the gateway itself sees to, whatever the upstream does. */
const DISPLAYS: readonly unknown[] = ["summarized", "omitted"];

/** Names the features that a request uses beyond the wire's version: its vendor refuses their fields without it. */
export const BETA_HEADER = "anthropic-beta";

/** Whose use it is, at the vendor: the gateway's own, whose key it calls with. */
const ACCOUNT_HEADERS = ["anthropic-user-profile-id", "anthropic-workspace-id"];

const THINKING_KEYS: ReadonlySet<string> = new Set(["type", "budget_tokens"]);
const CONFIG_KEYS: ReadonlySet<string> = new Set(["effort", "format"]);
const FORMAT_KEYS: ReadonlySet<string> = new Set(["type", "schema"]);

/**
 * Claude Code puts a line for billing before its instructions. It changes from turn to turn, which would spoil every prefix
 * cache but the vendor's own: the vendor removes it before the model sees it. So it goes to the vendor's models only.
 */
export const BILLING_HEADER = "x-anthropic-billing-header";
export const BILLING = /^x-anthropic-billing-header:[^\n]*(\n|$)/;

function parseSystem(system: NonNullable<MessagesRequest["system"]>): Message[] {
  const blocks: JsonObject[] = typeof system === "string" ? [{ type: "text", text: system }] : system as JsonObject[];
  const content: TextPart[] = [];
  const billing: JsonObject[] = [];
  for (const block of blocks) {
    const whole = String(block.text);
    const line = BILLING.exec(whole)?.[0];
    const text = line === undefined ? whole : whole.slice(line.length);
    if (line !== undefined) billing.push(text === "" ? block : { type: "text", text: line });
    if (line === undefined || text !== "") {
      content.push(carrying<TextPart>({ type: "text", text }, WIRE, block, ["type", "text"]));
    }
  }
  return [{
    role: "system",
    content,
    ...(billing.length > 0 && { extra: { wire: WIRE, fields: {}, hints: { [BILLING_HEADER]: billing } } }),
  }];
}

function parseMessages({ system, messages: given }: MessagesRequest): Message[] {
  const messages = system ? parseSystem(system) : [];
  let hosted: HostedBlocks | undefined;
  for (const message of given) {
    const { role, content } = message;
    if (typeof content === "string" && !hasOther(message, MESSAGE_KEYS)) {
      messages.push({ role, content: content === "" ? [] : [{ type: "text", text: content }] });
    } else addMessage(message, messages, hosted ??= new HostedBlocks());
  }
  return messages;
}

const MESSAGE_KEYS: ReadonlySet<string> = new Set(["role", "content"]);

/** Results of tools come first in a user turn, as a turn of their own: they answer the calls right before it. */
function addMessage(message: WireMessage, messages: Message[], hosted: HostedBlocks): void {
  const parts = parseContent(message.content, message.role === "assistant" ? hosted : undefined);
  const add = (one: Message) => messages.push(carrying(one, WIRE, message, MESSAGE_KEYS));
  switch (message.role) {
    case "assistant":
      add({ role: "assistant", content: parts.some(isResult) ? parts.map(assistantPart) : parts as OutputPart[] });
      break;
    case "system":
      add({ role: "system", content: inputParts(parts) });
      break;
    case "user": {
      if (!parts.some(isResult)) {
        add({ role: "user", content: inputParts(parts) });
        break;
      }
      if (parts.every(isResult)) {
        add({ role: "tool", content: parts });
        break;
      }
      add({ role: "tool", content: parts.filter(isResult) });
      const rest = inputParts(parts.filter((part) => !isResult(part)));
      if (rest.length > 0) messages.push({ role: "user", content: rest });
      break;
    }
    default:
      message.role satisfies never;
  }
}

function isResult(part: OutputPart | ToolResultPart): part is ToolResultPart {
  return part.type === "tool-result";
}

/** A result has no place in an assistant's turn. */
function assistantPart(part: OutputPart | ToolResultPart): OutputPart {
  return isResult(part) ? inputParts([part])[0]! : part;
}

/** Whether the client wants to see no thoughts, and only to give them back. */
export function hidesThinking(body: unknown): boolean {
  return isJsonObject(body) && isJsonObject(body.thinking) && body.thinking.display === "omitted";
}
