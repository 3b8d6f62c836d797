/** Content blocks, both ways. */
import { type Extra, extraOf, fieldsFor } from "../../src/canonical/extra.ts";
import type {
  Annotation,
  FilePart,
  InputPart,
  OpaquePart,
  OutputPart,
  TextPart,
  ToolResultPart,
} from "../../src/canonical/generate.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../src/canonical/json.ts";
import { type Block, type Content, isKnownBlock, type KnownBlock, type Source, WIRE } from "./wire.ts";

export type ParsedPart = OutputPart | ToolResultPart;

export function parseContent(content: Content | null | undefined): ParsedPart[] {
  if (content === null || content === undefined || content === "") return [];
  return typeof content === "string" ? [{ type: "text", text: content }] : content.map(parseBlock);
}

function parseBlock(block: Block): ParsedPart {
  if (!isKnownBlock(block)) return opaque(block, inWords(block));
  switch (block.type) {
    case "text":
      return { type: "text", text: block.text, ...extraField(block, ["type", "text"]) };
    case "image":
    case "document":
      return parseFile(block);
    case "thinking": {
      const { thinking, signature } = block;
      return {
        type: "reasoning",
        text: thinking,
        ...(signature && { opaque: { origin: WIRE, data: signature } }),
        ...extraField(block, ["type", "thinking", "signature"]),
      };
    }
    case "redacted_thinking":
      return {
        type: "reasoning",
        text: "",
        opaque: { origin: WIRE, data: block.data },
        extra: { wire: WIRE, fields: { type: "redacted_thinking" } },
      };
    case "tool_use":
      return {
        type: "tool-call",
        kind: "function",
        id: block.id,
        name: block.name,
        input: JSON.stringify(block.input ?? {}),
        ...extraField(block, ["type", "id", "name", "input"]),
      };
    case "tool_result": {
      const { tool_use_id, content, is_error } = block;
      return {
        type: "tool-result",
        id: tool_use_id,
        content: inputParts(parseContent(content)),
        ...(is_error && { isError: true }),
        ...extraField(block, ["type", "tool_use_id", "content", "is_error"]),
      };
    }
    default:
      return block satisfies never;
  }
}

/** Parts that may stand in a turn that is not the assistant's; anything else there is kept as it is. */
export function inputParts(parts: readonly ParsedPart[]): InputPart[] {
  return parts.map((part) => {
    switch (part.type) {
      case "text":
      case "file":
      case "opaque":
        return part;
      case "reasoning":
      case "refusal":
        return { type: "text", text: part.text };
      case "tool-call":
      case "tool-result":
        return opaque({ ...serializeBlock(part), type: part.type }, "");
      default:
        return part satisfies never;
    }
  });
}

function parseFile(block: Extract<KnownBlock, { source: Source }>): FilePart | OpaquePart {
  const { type, source } = block;
  const title = block.type === "document" && typeof block.title === "string" ? block.title : undefined;
  const file = (mediaType: string, where: FilePart["source"]): FilePart => ({
    type: "file",
    mediaType,
    source: where,
    ...(title !== undefined && { name: title }),
    ...extraField(block, ["type", "source", ...(title === undefined ? [] : ["title"])]),
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
  return title === undefined ? text : `${title}\n\n${text}`;
}

function opaque(block: object, standIn: string): OpaquePart {
  return { type: "opaque", ...(standIn !== "" && { standIn }), extra: { wire: WIRE, fields: block as JsonObject } };
}

/** What says the same in words: results of a search, a call that a server made itself, tools that became known. */
function inWords(block: Block): string {
  const fields = block as JsonObject;
  switch (block.type) {
    case "search_result":
      return titled([fields.title, fields.source].filter(isText).join(" – "), textsIn(fields.content));
    case "tool_reference":
      return `The tool ${String(fields.tool_name)} is now available.`;
    case "server_tool_use":
    case "mcp_tool_use":
      return `[Called ${String(fields.name)} with ${JSON.stringify(fields.input ?? {})}]`;
    default: {
      const text = textsIn(fields.content);
      return text === "" ? `[${block.type}]` : `[${block.type}]\n${text}`;
    }
  }
}

function isText(value: unknown): value is string {
  return typeof value === "string" && value !== "";
}

/** All text inside a block's content, whatever its shape: blocks of text, search results, outputs. */
function textsIn(content: unknown): string {
  if (typeof content === "string") return content;
  if (Array.isArray(content)) return content.map(textsIn).filter(isText).join("\n");
  if (!isJsonObject(content)) return "";
  const { text, title, url, stdout, stderr, error_code } = content;
  const own = [text, title, url, stdout, stderr, error_code].filter(isText).join("\n");
  return own === "" ? textsIn(content.content) : own;
}

export function extraField(block: object, known: readonly string[]): { extra?: Extra } {
  const extra = extraOf(WIRE, block, new Set(known));
  return extra ? { extra } : {};
}

/** A part as a block. Another wire's unknown part has no block: its stand-in is said, or nothing. */
export function serializeBlock(part: ParsedPart): JsonObject {
  const fields = fieldsFor(WIRE, part.extra);
  switch (part.type) {
    case "text":
      return { type: "text", text: part.text, ...citations(part), ...fields };
    case "refusal":
      return { type: "text", text: part.text };
    case "reasoning":
      return fields.type === "redacted_thinking"
        ? { type: "redacted_thinking", data: part.opaque?.data ?? "" }
        : { type: "thinking", thinking: part.text, signature: signatureOf(part.opaque), ...fields };
    case "tool-call":
      return { type: "tool_use", id: part.id, name: part.name, input: parseInput(part.input), ...fields };
    case "tool-result":
      return {
        type: "tool_result",
        tool_use_id: part.id,
        ...(part.content.length > 0 && { content: serializeParts(part.content) }),
        ...(part.isError && { is_error: true }),
        ...fields,
      };
    case "file":
      return serializeFile(part, fields);
    case "opaque":
      return part.extra.wire === WIRE ? fields : { type: "text", text: part.standIn ?? "" };
    default:
      return part satisfies never;
  }
}

/** One plain text goes as a string. */
export function serializeParts(parts: readonly ParsedPart[]): JsonValue {
  const [first] = parts;
  return parts.length === 1 && first?.type === "text" && Object.keys(fieldsFor(WIRE, first.extra)).length === 0
    ? first.text
    : parts.map(serializeBlock);
}

/** A signature is its vendor's own; without one the field is there and empty, as clients store it. */
export function signatureOf(opaque: { origin: string; data: string } | undefined): string {
  return opaque?.origin === WIRE ? opaque.data : "";
}

/** The input of a call is an object on this wire. */
export function parseInput(input: string): JsonObject {
  try {
    const value = JSON.parse(input);
    return isJsonObject(value) ? value : { input: value };
  } catch {
    return input.trim() === "" ? {} : { input };
  }
}

function citations({ annotations }: TextPart): JsonObject {
  return annotations?.length ? { citations: annotations.map(serializeCitation) } : {};
}

export function serializeCitation({ url, title }: Annotation): JsonObject {
  return { type: "web_search_result_location", url, title: title ?? null, cited_text: "", encrypted_index: "" };
}

function serializeFile({ mediaType, source, name }: FilePart, fields: JsonObject): JsonObject {
  const type = mediaType.startsWith("image/") ? "image" : "document";
  const title = type === "document" && name !== undefined ? { title: name } : {};
  switch (source.type) {
    case "base64":
      return { type, source: { type: "base64", media_type: mediaType, data: source.data }, ...title, ...fields };
    case "url":
      return { type, source: { type: "url", url: source.url }, ...title, ...fields };
    case "id":
      return { type, source: { type: "file", file_id: source.id }, ...title, ...fields };
    default:
      return source satisfies never;
  }
}
