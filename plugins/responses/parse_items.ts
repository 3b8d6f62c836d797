/** Items of a conversation as messages: one item is one message, so that nothing of its place is lost. */
import type {
  ItemReference,
  Message,
  OpaquePart,
  ReasoningPart,
  ToolCallPart,
  ToolResultPart,
} from "../../src/canonical/generate.ts";
import type { ToolSearchCall } from "../../src/canonical/hosted.ts";
import { toArgumentsText } from "../../src/canonical/half_surrogates.ts";
import { asObjects, isText, type JsonObject, present, toJsonText } from "../../src/canonical/json.ts";
import { isTrigger, sealedIn } from "./compaction.ts";
import { itemExtra, type ItemKeys, itemKeys, MESSAGE_KEYS, parseContent, parseInput } from "./content.ts";
import { parseApproval, parseHosted } from "./hosted.ts";
import { parseItemId } from "./item_ids.ts";
import type { Namespaces } from "./namespaces.ts";
import { parseSearch, parseServerSearch } from "./tool_search.ts";
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
  let search: ToolSearchCall | undefined;
  const others = (item: Item, found: readonly string[] = []): Message => {
    const step = parseServerSearch(item as JsonObject, found, search);
    if (step?.call.kind === "tool-search") search = step.call;
    return step ? { role: "assistant", content: [step] } : parseSearch(item as JsonObject, found) ?? parseUnknown(item);
  };
  for (const [position, item] of items.entries()) {
    if (isTrigger(item)) continue;
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

const CALL_KEYS = itemKeys("call_id", "name", "namespace", "arguments", "input");
const RESULT_KEYS = itemKeys("call_id", "output");
const REASONING_KEYS = itemKeys("summary", "content", "encrypted_content");

function parseItem(item: ContentItem, namespaces: Namespaces): Message {
  switch (item.type) {
    case "message": {
      const role = item.role === "developer" ? "system" : item.role;
      const content = role === "assistant" ? parseContent(item.content) : parseInput(item.content);
      return messageOf(role, content, item, MESSAGE_KEYS);
    }
    case "function_call":
    case "custom_tool_call": {
      const name = namespaces.flatten(item);
      const call: ToolCallPart = item.type === "function_call"
        // Servers refuse an empty text where there are no arguments.
        ? {
          type: "tool-call",
          kind: "function",
          id: item.call_id,
          name,
          input: item.arguments.trim() === "" ? "{}" : toArgumentsText(item.arguments),
        }
        : { type: "tool-call", kind: "custom", id: item.call_id, name, input: item.input };
      return messageOf("assistant", [call], item, CALL_KEYS, foreignName(item, namespaces));
    }
    case "function_call_output":
    case "custom_tool_call_output": {
      const hints = item.type === "custom_tool_call_output" ? { type: item.type } : undefined;
      const result: ToolResultPart = { type: "tool-result", id: item.call_id, content: parseInput(item.output) };
      return messageOf("tool", [result], item, RESULT_KEYS, hints);
    }
    case "reasoning":
      return messageOf("assistant", [parseReasoning(item as JsonObject)], item, REASONING_KEYS);
    default:
      return item satisfies never;
  }
}

/** Without spreads, which would cost as much as all the rest. */
function messageOf(
  role: Message["role"],
  content: Message["content"],
  item: ContentItem,
  keys: ItemKeys,
  hints?: JsonObject,
): Message {
  const { id } = item;
  const message = (id === undefined || id === null ? { role, content } : { role, id, content }) as Message;
  const { extra } = itemExtra(item as JsonObject, keys, hints);
  if (extra) message.extra = extra;
  return message;
}

/** The key of the hint under which a call keeps the name and the namespace that are not the gateway's to change. */
export const CALLED = "called";

function foreignName(
  { name, namespace }: { name: string; namespace?: string | null },
  namespaces: Namespaces,
): JsonObject | undefined {
  return namespace && !namespaces.isFlattened({ name, namespace }) ? { [CALLED]: { name, namespace } } : undefined;
}

/** The thoughts of a reasoning item: its summary, its content, and what only the vendor can read. */
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
    ...(isText(data) && { opaque: { origin: WIRE, data } }),
    ...(hints && { extra: { wire: WIRE, fields: {}, hints } }),
  };
}

function textsIn(list: unknown): string[] {
  return asObjects(list).map(({ text }) => text).filter(isText);
}

/** Items of tools that a server runs, of vendors, of times to come: kept whole, with words for models of other wires. */
function parseUnknown(item: Item): Message {
  const hosted = parseHosted(item as JsonObject);
  if (hosted) return { role: "assistant", content: [hosted] };
  const part: OpaquePart = {
    ...parseOther(item as JsonObject),
    ...present("approval", parseApproval(item as JsonObject)),
  };
  const isInput = /(_output|_response)$/.test(item.type);
  return isInput ? { role: "user", content: [part] } : { role: "assistant", content: [part] };
}

export function parseOther(fields: JsonObject): OpaquePart {
  const standIn = inWords(fields);
  return { type: "opaque", ...(standIn !== "" && { standIn }), ...sealedIn(fields), extra: { wire: WIRE, fields } };
}

/** An item in words, as far as it says anything to a model that cannot read it. */
function inWords(item: JsonObject): string {
  const text = TELLING.map((field) => item[field]).filter((value) => value !== undefined && value !== null)
    .map((value) => withoutBytes(toJsonText(value))).filter((one) => one !== "");
  return text.length === 0 ? "" : `[${String(item.type)}: ${text.join(" ")}]`;
}

/** The fields that tell what was done, then those that tell what came of it. */
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
