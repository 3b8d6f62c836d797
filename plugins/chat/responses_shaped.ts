/**
 * Bodies in the shape of the responses wire that an editor (Cursor, for models that it takes for the vendor's newest) posts
 * to this wire's endpoint, where it expects this wire's answers: the same conversation, said as this wire says it.
 */
import { z } from "zod";
import { EFFORTS } from "../../src/canonical/generate.ts";
import { noteOutweighed } from "../../src/canonical/extra.ts";
import {
  asList,
  asObject,
  asObjects,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  present,
  withField,
} from "../../src/canonical/json.ts";
import { validate } from "../../src/contract/validate.ts";
import { GatewayError } from "../../src/errors.ts";
import { effort, KNOWN_CONTENT, knownContent, otherThan, textOptions } from "../shared/shapes.ts";
import { toolCall } from "./wire.ts";

type Note = (text: string) => void;

const part = z.union([knownContent, otherThan(KNOWN_CONTENT, "Unknown type of part")]);
const content = z.union([z.string(), z.array(part)]);
type Content = z.output<typeof content>;

const texts = z.array(z.looseObject({ text: z.string() })).nullish();
const KNOWN_ITEMS = [
  "message",
  "function_call",
  "function_call_output",
  "custom_tool_call",
  "custom_tool_call_output",
  "reasoning",
  "item_reference",
] as const;
const knownItem = z.discriminatedUnion("type", [
  z.looseObject({
    type: z.literal("message"),
    role: z.enum(["user", "assistant", "system", "developer"]),
    content: content.nullish(),
    tool_calls: z.array(toolCall).nullish(),
  }),
  z.looseObject({ type: z.literal("function_call"), call_id: z.string(), name: z.string(), arguments: z.string() }),
  z.looseObject({ type: z.literal("function_call_output"), call_id: z.string(), output: content.nullish() }),
  z.looseObject({ type: z.literal("custom_tool_call"), call_id: z.string(), name: z.string(), input: z.string() }),
  z.looseObject({ type: z.literal("custom_tool_call_output"), call_id: z.string(), output: content.nullish() }),
  z.looseObject({ type: z.literal("reasoning"), summary: texts, content: texts }),
  z.looseObject({ type: z.literal("item_reference"), id: z.string() }),
]);
type KnownItem = z.output<typeof knownItem>;
/** Messages may leave their type away, and some are this wire's own. */
const item = z.preprocess(
  (value) => isJsonObject(value) && (value.type === undefined || value.type === null) ? typed(value) : value,
  z.union([knownItem, otherThan(KNOWN_ITEMS, "Unknown type of item")]),
);
type Item = z.output<typeof item>;

function typed(value: JsonObject): JsonObject {
  const { role, tool_call_id, content } = value;
  if (role === "tool") return { type: "function_call_output", call_id: tool_call_id, output: content };
  return role === undefined ? value : withField(value, "type", "message");
}

function isKnownItem(candidate: Item): candidate is KnownItem {
  return (KNOWN_ITEMS as readonly string[]).includes(candidate.type);
}

const shapedFields = {
  input: z.union([z.string().min(1), z.array(item).min(1)]),
  messages: z.unknown().optional(),
  instructions: z.string().nullish(),
  tools: z.array(z.looseObject({ type: z.string() })).nullish(),
  max_output_tokens: z.int().positive().nullish(),
  reasoning: z.looseObject({ effort: effort(z.enum(EFFORTS)).nullish() }).nullish(),
  text: textOptions.nullish(),
};
const shapedSchema = z.looseObject(shapedFields);
type Shaped = z.output<typeof shapedSchema>;

/** Fields that ask for nothing that an answer of this wire would lack: it stores nothing, and tells reasoning as text. */
const WITHOUT_LOSS = ["store", "include", "stream_options", "client_metadata", "background"];
/** Fields whose effect the answer lacks: a note says so if they would have had one. */
const DROPPED = ["truncation", "max_tool_calls"];
/** Fields without which the request would make no sense. */
const STORED = ["previous_response_id", "conversation", "prompt"];

/** The body in this wire's form. A body that has this form already is returned as it is. */
export function toChatShape(body: JsonObject, note: Note): JsonObject {
  if (!isShaped(body)) return body;
  const shaped = validate(shapedSchema, body);
  const { input, instructions, tools, max_output_tokens, reasoning, text, messages: _, ...rest } = shaped;
  refuseStored(rest);
  const format = text?.format && toResponseFormat(text.format);
  const fields = {
    ...present("max_completion_tokens", max_output_tokens),
    ...present("reasoning_effort", reasoning?.effort),
    ...present("verbosity", text?.verbosity),
    ...(format && { response_format: format }),
  };
  for (const [name, value] of Object.entries(fields)) noteOutweighed(name, rest[name], value, note);
  for (const field of DROPPED) if (rest[field]) note(`dropped ${field}`);
  for (const field of [...WITHOUT_LOSS, ...DROPPED, ...STORED]) delete rest[field];
  return {
    ...rest,
    messages: [
      ...(instructions ? [{ role: "system", content: instructions }] : []),
      ...(typeof input === "string" ? [{ role: "user", content: input }] : toMessages(input, note)),
    ],
    ...(isJsonObject(body.stream_options) && usageOption(body.stream_options)),
    ...(tools && { tools: tools.filter((tool) => isSpeakable(tool, note)) }),
    ...fields,
  } as JsonObject;
}

/** Instructions, and texts that stop the answer, where this wire has them. The other wires have them under these names. */
export function withOwnNames({ stop_sequences, ...body }: JsonObject, note: Note): JsonObject {
  // Beside messages, an input and its instructions are another server's own.
  const names = ["system", ...body.input === undefined ? ["instructions"] : []];
  const said = names.map((name) => body[name]).filter((content) =>
    Array.isArray(content) ? content.length > 0 : content
  );
  if (said.length > 0) {
    body.messages = [...said.map((content) => ({ role: "system", content: content! })), ...asList(body.messages)];
  }
  for (const name of names) delete body[name];
  noteOutweighed("stop_sequences", stop_sequences, body.stop, note);
  return stop_sequences ? { ...body, stop: body.stop ?? stop_sequences } : body;
}

/** Whether it has an input, and no messages of this wire. */
function isShaped({ input, messages }: JsonObject): boolean {
  const hasMessages = Array.isArray(messages) ? messages.length > 0 : messages;
  return input !== undefined && input !== null && !hasMessages;
}

function refuseStored(body: { [name: string]: unknown }): void {
  const field = STORED.find((name) => body[name]);
  if (field === undefined) return;
  const message = `This endpoint stores nothing: send the whole conversation, or "${field}" to the responses endpoint`;
  throw new GatewayError("invalid_request", message, { param: field });
}

/** The one option of a stream that this wire has, too. */
function usageOption({ include_usage }: JsonObject): JsonObject {
  return include_usage === undefined ? {} : { stream_options: { include_usage } };
}

/** Tools that the other wire's server would run. */
function isSpeakable({ type }: { type: string }, note: Note): boolean {
  const speakable = type === "function" || type === "custom";
  if (!speakable) note(`dropped tool ${type}`);
  return speakable;
}

/** Nested here, flat there. */
function toResponseFormat(format: NonNullable<NonNullable<Shaped["text"]>["format"]>): JsonObject {
  const { type, ...schema } = format as JsonObject;
  return type === "json_schema" ? { type, json_schema: schema } : { type, ...schema };
}

/** The items as messages. The assistant's thoughts, texts and calls are items there, and one turn here. */
function toMessages(items: readonly Item[], note: Note): JsonObject[] {
  const turns = new Turns();
  for (const [position, item] of items.entries()) {
    if (isKnownItem(item)) addItem(item, `input[${position}]`, turns, note);
    else note(`dropped an item of type ${item.type}`);
  }
  return turns.messages;
}

class Turns {
  readonly messages: JsonObject[] = [];
  /** The assistant's turn, while it goes on. */
  #turn: JsonObject | undefined;

  add(message: JsonObject): void {
    this.#turn = undefined;
    this.messages.push(message);
  }

  /** Adds to the assistant's turn. */
  extend({ content, reasoning_content, tool_calls, ...rest }: JsonObject): void {
    if (!this.#turn) this.messages.push(this.#turn = { role: "assistant", content: null });
    const turn = this.#turn;
    Object.assign(turn, rest);
    if (content !== undefined && content !== null) turn.content = joined(turn.content, content);
    if (reasoning_content) turn.reasoning_content = `${turn.reasoning_content ?? ""}${reasoning_content}`;
    if (tool_calls) turn.tool_calls = append(asList(turn.tool_calls), asList(tool_calls));
  }
}

function addItem(item: KnownItem, place: string, turns: Turns, note: Note): void {
  switch (item.type) {
    case "message":
      return addMessage(item, turns, note);
    case "function_call": {
      const called = { name: item.name, arguments: item.arguments };
      return turns.extend({ tool_calls: [{ id: item.call_id, type: "function", function: called }] });
    }
    case "custom_tool_call": {
      const called = { name: item.name, input: item.input };
      return turns.extend({ tool_calls: [{ id: item.call_id, type: "custom", custom: called }] });
    }
    case "function_call_output":
    case "custom_tool_call_output":
      return turns.add({ role: "tool", tool_call_id: item.call_id, content: toContent(item.output, note) ?? "" });
    case "reasoning": {
      const thought = (item.content?.length ? item.content : item.summary ?? []).map(({ text }) => text).join("");
      if (thought === "") return note("dropped reasoning that only its vendor can read");
      return turns.extend({ reasoning_content: thought });
    }
    case "item_reference": {
      const message = "This endpoint stores nothing: send the item itself";
      throw new GatewayError("invalid_request", message, { param: place });
    }
    default:
      item satisfies never;
  }
}

function addMessage(item: Extract<KnownItem, { type: "message" }>, turns: Turns, note: Note): void {
  const { type: _, id: _id, status: _status, phase: _phase, role, content, tool_calls, ...rest } = item;
  const parts = toContent(content, note);
  const calls = tool_calls && { tool_calls: tool_calls as JsonObject[] };
  if (role === "assistant") turns.extend({ ...rest as JsonObject, content: parts ?? null, ...calls });
  else turns.add({ ...rest as JsonObject, role, content: parts ?? "" });
}

/** Texts that come one after the other stay apart. */
function joined(before: JsonValue | undefined, after: JsonValue): JsonValue {
  return before === undefined || before === null ? after : append(asParts(before), asParts(after));
}

/** The same list, which is not copied with every item of a turn. */
function append(list: JsonValue[], more: readonly JsonValue[]): JsonValue[] {
  for (const one of more) list.push(one);
  return list;
}

function asParts(content: JsonValue): JsonValue[] {
  return typeof content === "string" ? [{ type: "text", text: content }] : asList(content);
}

function toContent(content: Content | null | undefined, note: Note): string | JsonObject[] | undefined {
  if (content === null || content === undefined) return undefined;
  return typeof content === "string" ? content : content.map((one) => toPart(one as JsonObject, note));
}

function toPart(part: JsonObject, note: Note): JsonObject {
  switch (part.type) {
    case "input_text":
    case "output_text":
      return { type: "text", text: part.text };
    case "input_image":
      return part.image_url
        ? { type: "image_url", image_url: { url: part.image_url, ...present("detail", part.detail) } }
        : { type: "file", file: { file_id: part.file_id } };
    case "input_file": {
      if (!part.file_url || part.file_data || part.file_id) {
        const { file_data, file_id, filename } = part;
        const file = { ...present("file_data", file_data), ...present("file_id", file_id) };
        return { type: "file", file: { ...file, ...present("filename", filename) } };
      }
      // Only pictures have a place for an address here.
      note("replaced a file with its URL");
      return { type: "text", text: `[${part.filename ?? "File"}: ${part.file_url}]` };
    }
    default:
      return part;
  }
}

/**
 * The custom tools of a body that are written flat, as on the responses wire. A client that mixes them into this
 * wire reads every call as a function's, and its arguments as the tool's text.
 */
export function flatCustomTools(body: unknown): ReadonlySet<unknown> {
  const tools = asObjects(asObject(body).tools);
  return new Set(tools.filter(({ type, custom }) => type === "custom" && !custom).map(({ name }) => name));
}
