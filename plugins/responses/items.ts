/** Items of a conversation as messages, and back: one item is one message, so that nothing of its place is lost. */
import { wrapCustomInput } from "../../src/transforms/custom_tool.ts";
import { fieldsFor, splitInside } from "../../src/canonical/extra.ts";
import type {
  AssistantMessage,
  ItemReference,
  Message,
  OpaquePart,
  OutputPart,
  ReasoningPart,
  TextPart,
  ToolCallPart,
  ToolResultPart,
} from "../../src/canonical/generate.ts";
import { isJsonObject, type JsonObject, present, toJsonArguments, toJsonText } from "../../src/canonical/json.ts";
import { standInFor } from "../../src/transforms/stand_in.ts";
import type { Context } from "../../src/contract/context.ts";
import { GatewayError } from "../../src/errors.ts";
import { isContent, itemExtra, type MessagePart, parseContent, parseInput, serializeContent } from "./content.ts";
import type { Namespaces, ToolName } from "./namespaces.ts";
import { AS_IT_WAS, parseSearch } from "./tool_search.ts";
import { isKnownItem, isKnownTool, type Item, type KnownItem, WIRE, type WireTool } from "./wire.ts";

export interface ParsedItems {
  messages: Message[];
  references: ItemReference[];
  /** Tools that came up in the middle of the conversation. */
  tools: WireTool[];
  /** The names of those among them that a search has found. */
  found: Set<string>;
}

export function parseItems(items: readonly Item[], namespaces: Namespaces, before = 0): ParsedItems {
  const parsed: ParsedItems = { messages: [], references: [], tools: [], found: new Set() };
  const others = (item: Item, found: readonly string[] = []) =>
    parseSearch(item as JsonObject, found) ?? parseUnknown(item);
  for (const [position, item] of items.entries()) {
    if (!isKnownItem(item)) parsed.messages.push(others(item));
    else if (item.type === "item_reference") {
      const at = before + parsed.messages.length;
      parsed.references.push({ at, id: item.id, ...parseItemId(item.id, `input[${position}].id`) });
    } else if (item.type === "additional_tools") {
      for (const tool of item.tools) parsed.tools.push(tool);
    } else if (item.type === "tool_search_output") {
      const names = namesOf(item.tools, namespaces);
      for (const name of names) parsed.found.add(name);
      for (const tool of item.tools) parsed.tools.push(tool);
      parsed.messages.push(others(item, names));
    } else parsed.messages.push(parseItem(item, namespaces));
  }
  return parsed;
}

/** The names under which the model knows the tools. */
function namesOf(tools: readonly WireTool[], namespaces: Namespaces): string[] {
  return tools.filter(isKnownTool).flatMap((tool) =>
    tool.type === "namespace"
      ? tool.tools.flatMap(({ name }) =>
        typeof name === "string" ? [namespaces.flatten({ name, namespace: tool.name })] : []
      )
      : [tool.name]
  );
}

type ContentItem = Exclude<KnownItem, { type: "item_reference" | "additional_tools" | "tool_search_output" }>;

function parseItem(item: ContentItem, namespaces: Namespaces): Message {
  const id = present("id", item.id);
  switch (item.type) {
    case "message": {
      const extra = itemExtra(item as JsonObject, ["role", "content"]);
      if (item.role === "assistant") return { role: "assistant", ...id, content: parseContent(item.content), ...extra };
      const role = item.role === "developer" ? "system" : item.role;
      return { role, ...id, content: parseInput(item.content), ...extra };
    }
    case "function_call":
    case "custom_tool_call": {
      const [kind, input] = item.type === "function_call"
        // Servers refuse an empty text where there are no arguments.
        ? ["function" as const, item.arguments.trim() === "" ? "{}" : item.arguments]
        : ["custom" as const, item.input];
      return {
        role: "assistant",
        ...id,
        content: [{ type: "tool-call", kind, id: item.call_id, name: namespaces.flatten(item), input }],
        ...itemExtra(
          item as JsonObject,
          ["call_id", "name", "namespace", "arguments", "input"],
          foreignName(item, namespaces),
        ),
      };
    }
    case "function_call_output":
    case "custom_tool_call_output": {
      const hints = item.type === "custom_tool_call_output" ? { type: item.type } : undefined;
      return {
        role: "tool",
        ...id,
        content: [{ type: "tool-result", id: item.call_id, content: parseInput(item.output) }],
        ...itemExtra(item as JsonObject, ["call_id", "output"], hints),
      };
    }
    case "reasoning":
      return {
        role: "assistant",
        ...id,
        content: [parseReasoning(item as JsonObject)],
        ...itemExtra(item as JsonObject, ["summary", "content", "encrypted_content"]),
      };
    default:
      return item satisfies never;
  }
}

/** The key of the hint under which a call keeps the name and the namespace that are not the gateway's to change. */
const CALLED = "called";

function foreignName(
  { name, namespace }: { name: string; namespace?: string | null },
  namespaces: Namespaces,
): JsonObject | undefined {
  return namespace && !namespaces.isFlattened({ name, namespace }) ? { [CALLED]: { name, namespace } } : undefined;
}

/** What a reasoning item says: its summary, its content; and what only the vendor can read. */
export function parseReasoning(item: JsonObject): ReasoningPart {
  const content = textsIn(item.content).join("");
  const summary = textsIn(item.summary);
  const data = item.encrypted_content;
  const hints = summary.length > 0
    ? { summary: item.summary, ...(content !== "" && { content: item.content }) }
    : undefined;
  return {
    type: "reasoning",
    text: [...summary, content].filter((text) => text !== "").join("\n\n"),
    ...(typeof data === "string" && data !== "" && { opaque: { origin: WIRE, data } }),
    ...(hints && { extra: { wire: WIRE, fields: {}, hints } }),
  };
}

function textsIn(list: unknown): string[] {
  if (!Array.isArray(list)) return [];
  return list.map((one) => isJsonObject(one) && typeof one.text === "string" ? one.text : "").filter((text) =>
    text !== ""
  );
}

/** Items of tools that a server runs, of vendors, of times to come: kept whole, with words for models of other wires. */
function parseUnknown(item: Item): Message {
  const part: OpaquePart = parseOther(item as JsonObject);
  const isInput = /(_output|_response)$/.test(item.type);
  return isInput ? { role: "user", content: [part] } : { role: "assistant", content: [part] };
}

export function parseOther(fields: JsonObject): OpaquePart {
  const standIn = inWords(fields);
  return { type: "opaque", ...(standIn !== "" && { standIn }), extra: { wire: WIRE, fields } };
}

/** What says the same in words, as far as an item says anything to a model that cannot read it. */
function inWords(item: JsonObject): string {
  const text = TELLING.map((field) => item[field]).filter((value) => value !== undefined && value !== null)
    .map((value) => withoutBytes(toJsonText(value))).filter((one) => one !== "");
  return text.length === 0 ? "" : `[${String(item.type)}: ${text.join(" ")}]`;
}

/** What was done, then what came of it. */
const TELLING = [
  "name",
  "arguments",
  "code",
  "action",
  "operation",
  "queries",
  "approve",
  "content",
  "output",
  "outputs",
  "result",
  "results",
  "error",
];
/** The text with "..." for each run of base64: a picture as text is megabytes of noise. */
function withoutBytes(text: string): string {
  const pieces: string[] = [];
  let done = 0;
  BYTES.lastIndex = 0;
  for (let found = BYTES.exec(text); found; found = BYTES.exec(text)) {
    let end = BYTES.lastIndex;
    for (MORE_BYTES.lastIndex = end; MORE_BYTES.test(text);) end = MORE_BYTES.lastIndex;
    while (text[end] === "=") end++;
    pieces.push(text.slice(done, found.index), "...");
    done = BYTES.lastIndex = end;
  }
  return pieces.join("") + text.slice(done);
}

/**
 * Looked for where a run begins: from the middle of each run that is too short, too, it would take minutes. A pattern for the
 * whole run overflows the engine's stack at some megabytes.
 */
const BYTES = /(?<![A-Za-z0-9+/])(?:data:[\w.+/-]{1,200};base64,)?[A-Za-z0-9+/]{500}/g;
const MORE_BYTES = /[A-Za-z0-9+/]{1,10000}/y;

// Ids of our own

/** What the id of an item begins with, as on the vendor's own API. */
const PREFIX_OF: Record<OutputPart["type"], string> = {
  "text": "msg",
  "refusal": "msg",
  "reasoning": "rs",
  "tool-call": "fc",
  "file": "msg",
  "opaque": "msg",
};

/** The id of a part of an answer: the same in a stream, in the whole, and when it is asked for again. */
export function partId(answer: string, part: OutputPart, index: number): string {
  const prefix = part.type === "tool-call" && part.kind === "custom" ? "ctc" : PREFIX_OF[part.type];
  return `${prefix}_${bare(answer)}_${index}`;
}

/** The id of a message of a request, as lists of its items tell it. */
export function messageId(answer: string, { role, content }: Message, index: number): string {
  const [first] = content;
  const prefix = role === "tool"
    ? "fco"
    : first && first.type !== "tool-result"
    ? partId("", first, 0).split("_")[0]
    : "msg";
  return `${prefix}_${bare(answer)}_in${index}`;
}

function bare(answer: string): string {
  return answer.replace(/^resp_/, "");
}

function parseItemId(id: string, param: string): Pick<ItemReference, "answer" | "item"> {
  const [, answer, input, index] = /^[a-z]+_(\w+)_(in)?(\d+)$/.exec(id) ?? [];
  if (answer === undefined) throw new GatewayError("invalid_request", `Item with id '${id}' not found`, { param });
  return { answer: `resp_${answer}`, item: input ? { message: Number(index) } : { part: Number(index) } };
}

// Encrypted reasoning

const ENCRYPTED = /^(rs_[\w-]+):(.*)$/s;

/** The vendor binds encrypted reasoning to the id of its item, so both travel as one text. */
export function joinEncrypted(id: unknown, data: string): string {
  const joined = ENCRYPTED.test(data);
  return typeof id === "string" && ENCRYPTED.test(`${id}:`) && !joined ? `${id}:${data}` : data;
}

function splitEncrypted(text: string): { id?: string; encrypted_content: string } {
  const [, id, data] = ENCRYPTED.exec(text) ?? [];
  return id !== undefined && data !== undefined ? { id, encrypted_content: data } : { encrypted_content: text };
}

// Messages as items

/** What the spelling of items depends on. */
export interface Speech {
  context: Context;
  /** What instructions that stand among the items are called. */
  instructor: "system" | "developer";
  name(flat: string): ToolName;
  reader: Reader;
}

/**
 * Who reads it: the vendor's own models, other models, or a client. The vendor's know every item and every tool of the wire, and
 * take reasoning back only as they encrypted it; others know messages, functions and the plain text of what was thought.
 */
export type Reader = "vendor" | "open" | "client";

/** A conversation as items. `customCalls` are the ids of calls of custom tools, whose results are items of a type of their own. */
export function serializeItems(messages: readonly Message[], speech: Speech): JsonObject[] {
  const customCalls = new Set(
    messages.flatMap(({ role, content }) => role === "assistant" ? content : [])
      .filter((part) => part.type === "tool-call" && part.kind === "custom").map((part) => (part as ToolCallPart).id),
  );
  let thoughts = 0;
  return messages.flatMap((message): JsonObject[] => {
    const { role, id } = message;
    const { context } = speech;
    const { [AS_IT_WAS]: search, [CALLED]: called, ...fields } = fieldsFor(WIRE, message.extra, context.note);
    const extra = isJsonObject(called) && speech.reader !== "open" ? { ...fields, ...called } : fields;
    if (isJsonObject(search) && speech.reader !== "open") return [search];
    const name = present("id", id);
    switch (role) {
      case "system":
      case "user": {
        const [only] = message.content;
        if (isItem(only) && speech.reader !== "open") return [{ ...only.extra.fields, ...name }];
        const said = serializeContent(inPlainWords(message.content, speech), context, "input");
        const spoken = role === "system" ? speech.instructor : role;
        return isSilent(said, context) ? [] : [{ type: "message", ...name, role: spoken, content: said, ...extra }];
      }
      case "assistant":
        return serializeTurn(message, extra, speech, () => `rs_${thoughts++}`);
      case "tool":
        return message.content.map((result) => {
          const { type, ...fields } = message.content.length === 1 ? extra : {};
          const isCustom = customCalls.has(result.id) || type === "custom_tool_call_output";
          return { ...serializeResult(result, isCustom && speech.reader !== "open", context), ...name, ...fields };
        });
      default:
        return message satisfies never;
    }
  });
}

/** A turn in which another wire's client says nothing that this one can tell is left out. */
function isSilent(said: unknown, { clientWire }: Context): boolean {
  return said === "" && clientWire !== WIRE;
}

function isItem(part: { type: string } | undefined): part is OpaquePart {
  return part?.type === "opaque" && !isContent(part as OpaquePart);
}

function serializeTurn(
  message: AssistantMessage,
  extra: JsonObject,
  speech: Speech,
  nextThought: () => string,
): JsonObject[] {
  const items: JsonObject[] = [];
  const { context } = speech;
  let said: MessagePart[] = [];
  // Of an item that is a message of its own, the id and the further fields are the item's.
  const own = message.content.every(isSpoken) || message.content.length === 1;
  const flush = () => {
    if (said.length === 0) return;
    const content = serializeContent(said, context, "output");
    const fields = said.flatMap((part) => Object.entries(fieldsFor(WIRE, part.extra)));
    const { inner } = splitInside("message", Object.fromEntries(fields));
    const id = own ? present("id", message.id) : {};
    if (!isSilent(content, context)) {
      items.push({
        type: "message",
        ...id,
        role: "assistant",
        content,
        // A list of output needs a status, a text does not.
        ...(typeof content !== "string" && { status: "completed" }),
        ...inner,
        ...(own && extra),
      });
    }
    said = [];
  };
  for (const part of inPlainWords(message.content, speech)) {
    if (isSpoken(part)) {
      said.push(part);
      continue;
    }
    flush();
    const item = serializeOther(part, speech, () => own && message.id ? message.id : nextThought());
    if (item) items.push(own ? { ...item, ...present("id", item.id ?? message.id), ...extra } : item);
  }
  flush();
  return items;
}

/** The parts that those who do not know every kind of item can read: the others in words, if there are any. */
function inPlainWords<T extends OutputPart>(parts: readonly T[], { reader, context }: Speech): (T | TextPart)[] {
  if (reader !== "open") return [...parts];
  return parts.flatMap((part): (T | TextPart)[] => {
    if (part.type === "refusal") return [{ ...part, type: "text" }];
    if (!isItem(part)) return [part];
    const words = standInFor(part, context.note);
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
    case "reasoning":
      return serializeReasoning(part, speech, nextThought);
    case "tool-call":
      return serializeCall(part, speech, speech.context.note);
    default:
      return part satisfies never;
  }
}

/** A namespace that the upstream told comes back to it and to the client, unless the name is one that was flattened here. */
export function serializeCall(
  part: ToolCallPart,
  { name, reader }: Pick<Speech, "name" | "reader">,
  note?: (text: string) => void,
): JsonObject {
  const { id, kind, input } = part;
  const { namespace, ...fields } = fieldsFor(WIRE, part.extra, note);
  const own = name(part.name);
  const called = { ...(reader !== "open" && present("namespace", namespace)), ...own };
  if (kind === "custom" && reader !== "open") {
    return { type: "custom_tool_call", call_id: id, ...called, input, ...fields };
  }
  const args = kind === "custom" ? wrapCustomInput(input) : reader === "open" ? toJsonArguments(input) : input;
  return { type: "function_call", call_id: id, ...called, arguments: args, ...fields };
}

/**
 * Thoughts go back as their vendor, or the very target that is asked, encrypted them, else as plain text in the place where
 * servers of open models look for it, wherever the client was told it. Servers want an id, and take any.
 */
function serializeReasoning(
  { text, opaque, extra }: ReasoningPart,
  { context, reader }: Speech,
  nextThought: () => string,
): JsonObject | undefined {
  const { summary = [], content = [], ...fields } = fieldsFor(WIRE, extra, context.note);
  const summarized = extra?.wire === WIRE && extra.hints?.summary !== undefined;
  const thoughts = text === "" ? [] : [{ type: "reasoning_text", text }];
  const isReadable = opaque?.origin === WIRE && (reader !== "open" || opaque.target !== undefined);
  const sealed = isReadable ? splitEncrypted(opaque.data) : undefined;
  if (sealed || reader === "client") {
    const told = summarized ? content : thoughts;
    const said = Array.isArray(told) && told.length > 0 ? { content: told } : {};
    return { type: "reasoning", id: nextThought(), summary, ...said, ...sealed, ...fields };
  }
  if (opaque) context.note("dropped reasoning that only its vendor can read");
  if (text !== "" && reader === "vendor") context.note("dropped reasoning of earlier turns");
  return text === "" || reader === "vendor"
    ? undefined
    : { type: "reasoning", id: nextThought(), summary: [], content: thoughts, ...fields };
}

/** This wire has no mark for a failed result, so it says so. */
function serializeResult(
  { id, content, isError, extra }: ToolResultPart,
  isCustom: boolean,
  context: Context,
): JsonObject {
  const said = serializeContent(content, context, "input");
  const failed = typeof said === "string"
    ? `Error: ${said}`
    : [{ type: "input_text", text: "Error:" }, ...said as JsonObject[]];
  return {
    type: isCustom ? "custom_tool_call_output" : "function_call_output",
    call_id: id,
    output: isError ? failed : said,
    ...fieldsFor(WIRE, extra, context.note),
  };
}
