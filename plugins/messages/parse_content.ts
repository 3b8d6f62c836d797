/** Content blocks as parts. */
import { carrying, extraField, extraOf } from "../../src/canonical/extra.ts";
import type {
  Annotation,
  FilePart,
  InputPart,
  OpaquePart,
  TextPart,
  ToolCallPart,
  ToolResultPart,
} from "../../src/canonical/generate.ts";
import { isJsonObject, isText, type JsonObject, type JsonValue, toJsonText } from "../../src/canonical/json.ts";
import { nameLine } from "../../src/util/printable.ts";
import { foreignPart } from "../shared/foreign.ts";
import { sealedIn } from "./compaction.ts";
import { type HostedBlocks, TOOL_SET } from "./hosted.ts";
import { type ParsedPart, serializeBlock } from "./serialize_content.ts";
import { type Block, type Content, isKnownBlock, type KnownBlock, type Source, WIRE } from "./wire.ts";

/** `hosted`: where the steps of hosted tools may stand. */
export function parseContent(content: Content | null | undefined, hosted?: HostedBlocks): ParsedPart[] {
  if (content === null || content === undefined || content === "") return [];
  return typeof content === "string"
    ? [{ type: "text", text: content }]
    : content.map((block) => parseBlock(block, hosted));
}

const TEXT_KEYS = ["type", "text"];
const CALL_KEYS = ["type", "id", "name", "input"];
const RESULT_KEYS = ["type", "tool_use_id", "content", "is_error"];

function parseBlock(block: Block, hosted?: HostedBlocks): ParsedPart {
  if (!isKnownBlock(block)) {
    const fields = block as JsonObject;
    return hosted?.parse(fields) ?? foreignPart(fields, WIRE) ??
      { ...opaque(block, inWords(fields)), ...sealedIn(fields) };
  }
  switch (block.type) {
    case "text":
      return carrying<TextPart>({ type: "text", text: block.text }, WIRE, block, TEXT_KEYS);
    case "image":
    case "document":
      return parseFile(block);
    case "thinking": {
      const { thinking, signature } = block;
      return {
        type: "reasoning",
        text: thinking,
        ...(signature && { opaque: { origin: WIRE, data: signature } }),
        ...extraField(WIRE, block, ["type", "thinking", "signature"]),
      };
    }
    case "redacted_thinking":
      return {
        type: "reasoning",
        text: "",
        opaque: { origin: WIRE, data: block.data },
        extra: {
          wire: WIRE,
          fields: { ...extraOf(WIRE, block, new Set(["type", "data"]))?.fields },
          hints: { type: block.type },
        },
      };
    case "tool_use": {
      const { id, name, input } = block;
      const call: ToolCallPart = { type: "tool-call", kind: "function", id, name, input: JSON.stringify(input ?? {}) };
      return carrying(call, WIRE, block, CALL_KEYS);
    }
    case "tool_result": {
      const { tool_use_id, content, is_error } = block;
      const result: ToolResultPart = {
        type: "tool-result",
        id: tool_use_id,
        content: inputParts(parseContent(content)),
      };
      if (is_error) result.isError = true;
      return carrying(result, WIRE, block, RESULT_KEYS);
    }
    default:
      return block satisfies never;
  }
}

/** Parts that may stand in a turn that is not the assistant's; anything else there is kept as it is. */
export function inputParts(parts: readonly ParsedPart[]): InputPart[] {
  return parts.every(isInput) ? parts as InputPart[] : parts.map((part) => {
    switch (part.type) {
      case "text":
      case "file":
      case "opaque":
        return part;
      case "reasoning":
      case "refusal":
        return { type: "text", text: part.text };
      case "tool-call":
      case "hosted":
      case "tool-result":
        return opaque({ ...serializeBlock(part), type: part.type }, "");
      default:
        return part satisfies never;
    }
  });
}

function isInput({ type }: ParsedPart): boolean {
  return type === "text" || type === "file" || type === "opaque";
}

function parseFile(block: Extract<KnownBlock, { source: Source }>): FilePart | OpaquePart {
  const { type, source } = block;
  const title = block.type === "document" && typeof block.title === "string" ? block.title : undefined;
  const file = (mediaType: string, where: FilePart["source"]): FilePart => ({
    type: "file",
    mediaType,
    source: where,
    ...(title !== undefined && { name: title }),
    ...extraField(WIRE, block, ["type", "source", ...(title === undefined ? [] : ["title"])]),
  });
  const anyType = type === "image" ? "image/*" : "application/pdf";
  switch (source.type) {
    case "base64":
      return file(source.media_type, { type: "base64", data: source.data });
    case "url":
      return file(anyType, { type: "url", url: source.url });
    case "file":
      return file(anyType, { type: "id", id: source.file_id });
    // A document of text is text to every model.
    case "text":
      return opaque(block, titled(title, source.data));
    case "content":
      return opaque(block, titled(title, textsIn(source.content)));
    default:
      return source satisfies never;
  }
}

function titled(title: string | undefined, text: string): string {
  return title === undefined ? text : `${nameLine(title)}\n\n${text}`;
}

function opaque(block: object, standIn: string): OpaquePart {
  return { type: "opaque", ...(standIn !== "" && { standIn }), extra: { wire: WIRE, fields: block as JsonObject } };
}

/** A block in words: results of a search, a call that a server made itself, tools that became known. */
export function inWords(block: JsonObject): string {
  switch (block.type) {
    case "search_result":
      return titled([block.title, block.source].filter(isText).join(" – "), textsIn(block.content));
    case "tool_reference": {
      const tools = toolReferences(block);
      if (tools.length > 0) return `The tool ${tools.join(", ")} is now available.`;
      break;
    }
    case "tool_addition":
    case "tool_removal": {
      const change = toolChange(block);
      const isNow = block.type === "tool_addition" ? "now" : "no longer";
      if (change) return `The tool ${change.name} is ${isNow} available.`;
      break;
    }
    case "server_tool_use":
    case "mcp_tool_use":
      return `[Called ${toJsonText(block.name)} with ${JSON.stringify(block.input ?? {})}]`;
  }
  const text = textsIn(block.content);
  return text === "" ? `[${block.type}]` : `[${block.type}]\n${text}`;
}

/** A change that a turn makes to the tools: it adds one, by name or with its definition, or takes one away. */
export interface ToolChange {
  /** For a remote server's tool or all of its tools: a name that no tool has. */
  name: string;
  isAddition: boolean;
  definition?: JsonObject;
}

export function toolChange({ type, tool }: JsonObject): ToolChange | undefined {
  const isAddition = type === "tool_addition";
  if (!isJsonObject(tool) || !isAddition && type !== "tool_removal") return undefined;
  const { server_name: server, definition } = tool;
  const name = tool.name ?? tool.tool_name;
  switch (tool.type) {
    case "tool_reference":
      return isText(name) ? { name, isAddition } : undefined;
    case "mcp_tool_reference":
      return isText(name) && isText(server) ? { name: `${name} of ${server}`, isAddition } : undefined;
    case "mcp_toolset_reference":
      return isText(server) ? { name: setOf(server), isAddition } : undefined;
    case "tool_definition":
      return isJsonObject(definition) ? { name: nameInTurns(definition), definition, isAddition } : undefined;
    default:
      return undefined;
  }
}

/** The name by which turns mean a tool of the request. */
export function nameInTurns({ type, name, mcp_server_name: server }: JsonObject): string {
  if (type === TOOL_SET && isText(server)) return setOf(server);
  return isText(name) ? name : String(type);
}

function setOf(server: string): string {
  return `set of ${server}`;
}

/** The names of the tools that a block refers to, however deep inside it. */
export function toolReferences(value: unknown): string[] {
  const names: string[] = [];
  const look = (inner: unknown) => {
    if (Array.isArray(inner)) return inner.forEach(look);
    if (!isJsonObject(inner)) return;
    const { type, tool_name, name } = inner;
    const named = tool_name ?? name;
    if (type === "tool_reference" && isText(named)) names.push(named);
    else Object.values(inner).forEach(look);
  };
  look(value);
  return names;
}

/** All text inside a block's content, whatever its shape: blocks of text, search results, documents, outputs. */
function textsIn(content: unknown): string {
  const texts: unknown[] = [];
  const look = (inner: unknown) => {
    if (Array.isArray(inner)) return inner.forEach(look);
    if (!isJsonObject(inner)) return void (typeof inner === "string" && texts.push(inner));
    const { text, title, url, stdout, stderr, error_code, source, tool_references } = inner;
    const data = isJsonObject(source) && source.type === "text" ? source.data : undefined;
    texts.push(text, title, url, data, stdout, stderr, error_code);
    look(inner.content);
    for (const name of toolReferences(tool_references)) texts.push(name);
  };
  look(content);
  return texts.filter(isText).join("\n");
}

/** The citations of pages: only those mean the same on other wires. */
export function parseCitations(citations: readonly JsonValue[]): Annotation[] {
  return citations.filter(isJsonObject).flatMap(({ url, title }): Annotation[] =>
    isText(url) ? [{ type: "url-citation", url, ...(isText(title) && { title }) }] : []
  );
}
