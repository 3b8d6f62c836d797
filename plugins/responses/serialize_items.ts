/** Messages of a conversation as items. */
import { fieldsFor, splitInside } from "../../src/canonical/extra.ts";
import type {
  AssistantMessage,
  Message,
  OpaquePart,
  OutputPart,
  ReasoningPart,
  TextPart,
  ToolCallPart,
  ToolMessage,
  ToolResultPart,
} from "../../src/canonical/generate.ts";
import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
  present,
  setField,
  toJsonArguments,
} from "../../src/canonical/json.ts";
import type { Context } from "../../src/contract/context.ts";
import { wrapCustomInput } from "../../src/transforms/custom_tool.ts";
import { placeholderFor } from "../../src/transforms/placeholder.ts";
import { isContent, type MessagePart, serializeContent } from "./content.ts";
import { serializeHosted } from "./hosted_items.ts";
import { splitEncrypted } from "./item_ids.ts";
import type { ToolName } from "./namespaces.ts";
import { CALLED } from "./parse_items.ts";
import { AS_IT_WAS } from "./tool_search.ts";
import { WIRE } from "./wire.ts";

/** The facts on which the spelling of items depends. */
export interface Speech {
  context: Context;
  /** The role of instructions that stand among the items. */
  instructor: "system" | "developer";
  name(flat: string): ToolName;
  reader: Reader;
}

/**
 * The readers of items: the vendor's own models, other models, or a client. The vendor's know every item and every tool of the wire,
 * and take reasoning back only as they encrypted it; others know messages, functions and the plain text of what was thought.
 */
export type Reader = "vendor" | "open" | "client";

/** A conversation as items. `customCalls` are the ids of calls of custom tools, whose results are items of a type of their own. */
export function serializeItems(messages: readonly Message[], speech: Speech): JsonObject[] {
  const customCalls = new Set<string>();
  for (const { role, content } of messages) {
    if (role !== "assistant") continue;
    for (const part of content) if (part.type === "tool-call" && part.kind === "custom") customCalls.add(part.id);
  }
  let thoughts = 0;
  const nextThought = () => `rs_${thoughts++}`;
  const items: JsonObject[] = [];
  for (const message of messages) {
    const { search, extra } = fieldsOf(message, speech);
    if (search) items.push(search);
    else if (message.role === "assistant") addTurn(message, extra, speech, nextThought, items);
    else if (message.role === "tool") addResults(message, extra, customCalls, speech, items);
    else addInput(message, extra, speech, items);
  }
  return items;
}

function addInput(
  { role, id, content }: Extract<Message, { role: "system" | "user" }>,
  extra: JsonObject,
  speech: Speech,
  items: JsonObject[],
): void {
  const { context, reader, instructor } = speech;
  const [only] = content;
  const name = present("id", id);
  if (isItem(only) && reader !== "open") {
    items.push({ ...only.extra.fields, ...name });
    return;
  }
  const written = serializeContent(inPlainWords(content, speech), context, "input");
  if (isSilent(written, context)) return;
  items.push({ type: "message", ...name, role: role === "system" ? instructor : role, content: written, ...extra });
}

function addResults(
  { id, content }: ToolMessage,
  extra: JsonObject,
  customCalls: ReadonlySet<string>,
  { reader, context }: Speech,
  items: JsonObject[],
): void {
  const isPlain = id === undefined && extra === NO_FIELDS;
  for (const result of content) {
    const { type, ...fields } = content.length === 1 && !isPlain ? extra : {};
    const isCustom = customCalls.has(result.id) || type === "custom_tool_call_output";
    const item = serializeResult(result, isCustom && reader !== "open", context);
    items.push(isPlain ? item : { ...item, ...present("id", id), ...fields });
  }
}

/** The further fields of most messages, which are none. To spread them costs as much as the rest of an item. */
const NO_FIELDS: JsonObject = Object.freeze({});
const PLAIN = { search: undefined, extra: NO_FIELDS };

/** The further fields of a message's item; or the whole item, for a search that goes up as it came. */
function fieldsOf({ extra }: Message, { context, reader }: Speech): { search?: JsonObject; extra: JsonObject } {
  if (!extra) return PLAIN;
  const { [AS_IT_WAS]: search, [CALLED]: called, ...fields } = fieldsFor(WIRE, extra, context.note);
  return {
    ...(isJsonObject(search) && reader !== "open" && { search }),
    extra: isJsonObject(called) && reader !== "open" ? { ...fields, ...called } : fields,
  };
}

/** A turn in which another wire's client says nothing that this one can tell is left out. */
function isSilent(content: unknown, { clientWire }: Context): boolean {
  return content === "" && clientWire !== WIRE;
}

function isItem(part: { type: string } | undefined): part is OpaquePart {
  return part?.type === "opaque" && !isContent(part as OpaquePart);
}

function addTurn(
  message: AssistantMessage,
  extra: JsonObject,
  speech: Speech,
  nextThought: () => string,
  items: JsonObject[],
): void {
  const { context } = speech;
  const isPlain = message.id === undefined && extra === NO_FIELDS;
  let parts: MessagePart[] = [];
  // If the message becomes a single item, the item gets the message's id and further fields.
  const own = message.content.every(isSpoken) || message.content.length === 1;
  const flush = () => {
    if (parts.length === 0) return;
    const content = serializeContent(parts, context, "output");
    if (!isSilent(content, context)) {
      const item: JsonObject = own && message.id !== undefined
        ? { type: "message", id: message.id, role: "assistant", content }
        : { type: "message", role: "assistant", content };
      // A list of output needs a status, a text does not.
      if (typeof content !== "string") item.status = "completed";
      setFields(item, messageFields(parts));
      if (own) setFields(item, extra);
      items.push(item);
    }
    parts = [];
  };
  for (const part of inPlainWords(message.content, speech)) {
    if (isSpoken(part)) {
      parts.push(part);
      continue;
    }
    flush();
    const item = serializeOther(part, speech, () => own && message.id ? message.id : nextThought());
    if (item) items.push(own && !isPlain ? { ...item, ...present("id", item.id ?? message.id), ...extra } : item);
  }
  flush();
}

function setFields(item: JsonObject, fields: Readonly<JsonObject>): void {
  for (const name in fields) setField(item, name, fields[name]);
}

/** Fields of the item, which ride on its parts. */
function messageFields(parts: readonly MessagePart[]): JsonObject {
  if (!parts.some(({ extra }) => extra)) return NO_FIELDS;
  const fields = parts.flatMap((part) => Object.entries(fieldsFor(WIRE, part.extra)));
  return splitInside("message", Object.fromEntries(fields)).inner;
}

/** The parts that those who do not know every kind of item can read: the others in words, if there are any. */
function inPlainWords<T extends OutputPart>(
  parts: readonly T[],
  { reader, context }: Speech,
): readonly (T | TextPart)[] {
  if (reader !== "open" || !parts.some((part) => part.type === "refusal" || isItem(part))) return parts;
  return parts.flatMap((part): (T | TextPart)[] => {
    if (part.type === "refusal") return [{ ...part, type: "text" }];
    if (!isItem(part)) return [part];
    const words = placeholderFor(part, context.note);
    return words ? [words] : [];
  });
}

function isSpoken(part: OutputPart): part is MessagePart {
  return part.type === "text" || part.type === "refusal" || part.type === "file" ||
    part.type === "opaque" && isContent(part);
}

function serializeOther(
  part: Exclude<OutputPart, MessagePart> | OpaquePart,
  speech: Speech,
  nextThought: () => string,
): JsonObject | undefined {
  switch (part.type) {
    case "opaque":
      return part.extra.fields;
    case "hosted":
      return serializeHosted(part, true);
    case "reasoning":
      return serializeReasoning(part, speech, nextThought);
    case "tool-call":
      return serializeCall(part, speech, speech.context.note);
    default:
      return part satisfies never;
  }
}

/** A namespace that the upstream sent comes back to it and to the client, unless the name is one that was flattened here. */
export function serializeCall(
  part: ToolCallPart,
  { name, reader }: Pick<Speech, "name" | "reader">,
  note?: (text: string) => void,
): JsonObject {
  const { id, kind, input, extra } = part;
  const { namespace, ...fields } = extra ? fieldsFor(WIRE, extra, note) : NO_FIELDS;
  const isCustom = kind === "custom" && reader !== "open";
  const item: JsonObject = { type: isCustom ? "custom_tool_call" : "function_call", call_id: id };
  if (reader !== "open" && namespace !== undefined && namespace !== null) item.namespace = namespace;
  const called = name(part.name);
  item.name = called.name;
  if (called.namespace !== undefined) item.namespace = called.namespace;
  if (isCustom) item.input = input;
  else item.arguments = kind === "custom" ? wrapCustomInput(input) : reader === "open" ? toJsonArguments(input) : input;
  setFields(item, fields);
  return item;
}

/**
 * Thoughts go back as their vendor, or the very target that is asked, encrypted them, else as plain text in the place where
 * servers of open models look for it, wherever the client got it. Servers want an id, and take any.
 */
function serializeReasoning(
  { text, opaque, extra }: ReasoningPart,
  { context, reader }: Speech,
  nextThought: () => string,
): JsonObject | undefined {
  const { summary = [], content = [], ...fields } = fieldsFor(WIRE, extra, context.note);
  const thoughts = text === "" ? [] : [{ type: "reasoning_text", text }];
  const encrypted = encryptedFor(reader, opaque);
  if (encrypted || reader === "client") {
    const isSummarized = extra?.wire === WIRE && extra.hints?.summary !== undefined;
    const written = isSummarized ? content : thoughts;
    const list = Array.isArray(written) && written.length > 0 ? { content: written } : {};
    return { type: "reasoning", id: nextThought(), summary, ...list, ...encrypted, ...fields };
  }
  if (opaque) context.note("dropped reasoning that only its vendor can read");
  if (text === "") return undefined;
  if (reader === "open") return { type: "reasoning", id: nextThought(), summary: [], content: thoughts, ...fields };
  context.note("dropped reasoning of earlier turns");
  return undefined;
}

/** The encrypted reasoning, if the reader can decrypt it. */
function encryptedFor(reader: Reader, opaque: ReasoningPart["opaque"]): JsonObject | undefined {
  const isReadable = opaque?.origin === WIRE && (reader !== "open" || opaque.target !== undefined);
  return isReadable ? splitEncrypted(opaque.data) : undefined;
}

/** This wire has no mark for a failed result, so it says so. */
function serializeResult(
  { id, content, isError, extra }: ToolResultPart,
  isCustom: boolean,
  context: Context,
): JsonObject {
  const written = serializeContent(content, context, "input");
  const item: JsonObject = {
    type: isCustom ? "custom_tool_call_output" : "function_call_output",
    call_id: id,
    output: isError ? failed(written) : written,
  };
  if (extra) setFields(item, fieldsFor(WIRE, extra, context.note));
  return item;
}

function failed(written: JsonValue): JsonValue {
  return typeof written === "string"
    ? `Error: ${written}`
    : [{ type: "input_text", text: "Error:" }, ...written as JsonObject[]];
}
