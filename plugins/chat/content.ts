/** Message content, both ways: a text, or a list of parts. */
import { carrying, extraField, extraOf, fieldsFor, inside, splitInside } from "../../src/canonical/extra.ts";
import type {
  FilePart,
  FileSource,
  InputPart,
  Message,
  ReasoningPart,
  RefusalPart,
  TextPart,
  ToolCallPart,
  ToolResultPart,
} from "../../src/canonical/generate.ts";
import { isText, type JsonObject, type JsonValue, present } from "../../src/canonical/json.ts";
import type { Context } from "../../src/contract/context.ts";
import { validate } from "../../src/contract/validate.ts";
import { ANY_FILE, audioFormat, audioType, foreignPart, sourceOf } from "../shared/foreign.ts";
import { type Content, type ContentPart, contentSchema, isKnownPart, type KnownPart, WIRE } from "./wire.ts";

type ParsedPart = InputPart | RefusalPart;

export function parseContent(content: Content | null | undefined): ParsedPart[] {
  if (content === null || content === undefined || content === "") return [];
  return typeof content === "string" ? [{ type: "text", text: content }] : content.map(parsePart);
}

/** The content of an assistant's turn, in which editors also write calls and thoughts as blocks of the messages wire. */
export function parseTurn(content: Content | null | undefined): (ParsedPart | ToolCallPart | ReasoningPart)[] {
  return Array.isArray(content)
    ? content.map((part) => parseBlock(part as JsonObject) ?? parsePart(part))
    : parseContent(content);
}

function parseBlock({ type, id, name, input, thinking }: JsonObject): ToolCallPart | ReasoningPart | undefined {
  if (type === "thinking" && isText(thinking)) return { type: "reasoning", text: thinking };
  if (type !== "tool_use" || !isText(id) || !isText(name)) return undefined;
  return { type: "tool-call", kind: "function", id, name, input: JSON.stringify(input ?? {}) };
}

/** A refusal in a turn that is not the assistant's is plain text. */
export function inputParts(content: Content | null | undefined): InputPart[] {
  const parts = parseContent(content);
  return parts.some(({ type }) => type === "refusal")
    ? parts.map((part) => part.type === "refusal" ? { type: "text", text: part.text } : part)
    : parts as InputPart[];
}

/** The content of a user's turn, in which editors also write results of tools as blocks of the messages wire. */
export function splitResults(content: Content): { results: ToolResultPart[]; rest: Content } {
  const blocks = content as JsonObject[];
  if (!blocks.some(isResult)) return { results: [], rest: content };
  return {
    results: blocks.filter(isResult).map(parseResult),
    rest: blocks.filter((block) => !isResult(block)) as Content,
  };
}

function isResult({ type, tool_use_id }: JsonObject): boolean {
  return type === "tool_result" && isText(tool_use_id);
}

function parseResult({ tool_use_id, content, is_error }: JsonObject): ToolResultPart {
  const parts = inputParts(validate(contentSchema, content ?? ""));
  return { type: "tool-result", id: String(tool_use_id), content: parts, ...(is_error === true && { isError: true }) };
}

const TEXT_KEYS = ["type", "text"];

function parsePart(part: ContentPart): ParsedPart {
  if (!isKnownPart(part)) {
    const fields = part as JsonObject;
    return foreignPart(fields, WIRE) ?? { type: "opaque", extra: { wire: WIRE, fields } };
  }
  switch (part.type) {
    case "text":
      return carrying<TextPart>({ type: "text", text: part.text }, WIRE, part, TEXT_KEYS);
    case "refusal":
      return { type: "refusal", text: part.refusal, ...extraField(WIRE, part, ["type", "refusal"]) };
    case "image_url":
      return {
        ...fileOf(part, "image_url", ["url", "detail"], sourceOf(part.image_url.url, "image/*")),
        ...present("detail", part.image_url.detail),
      };
    case "input_audio": {
      const { data, format } = part.input_audio;
      const sourced = { mediaType: audioType(format), source: { type: "base64" as const, data } };
      return fileOf(part, "input_audio", ["data", "format"], sourced);
    }
    case "file": {
      const { file_data, file_id, filename } = part.file;
      if (!file_id && !file_data) return { type: "opaque", extra: { wire: WIRE, fields: part as JsonObject } };
      const sourced = file_id
        ? { mediaType: ANY_FILE, source: { type: "id" as const, id: file_id } }
        : sourceOf(file_data ?? "", ANY_FILE, true);
      const file = fileOf(part, "file", ["file_data", "file_id", "filename"], sourced);
      return filename ? { ...file, name: filename } : file;
    }
    default:
      return part satisfies never;
  }
}

function fileOf(
  part: KnownPart,
  key: string,
  known: string[],
  sourced: { mediaType: string; source: FileSource },
): FilePart {
  const inner = extraOf(WIRE, part[key] as JsonObject, new Set(known));
  const outer = extraOf(WIRE, part, new Set(["type", key]));
  const fields = { ...outer?.fields, ...inside(key, inner) };
  return {
    type: "file",
    ...sourced,
    ...(Object.keys(fields).length > 0 && { extra: { wire: WIRE, fields } }),
  };
}

/**
 * One plain text goes as a string, which every server takes, and so do the texts of a client of another wire, whose blocks
 * mean nothing here unless they are to stay `apart`; anything else goes as parts.
 */
export function serializeContent(parts: readonly ParsedPart[], context: Context, apart = false): JsonValue {
  const text = onlyText(parts);
  if (text !== undefined) return text;
  const blocks = parts.map((part) => serializePart(part, context)).filter((part) => part !== undefined);
  if (context.clientWire !== WIRE && !apart && blocks.every(isPlainText)) {
    return blocks.map(({ text }) => text).filter((text) => text !== "").join("\n\n");
  }
  const [first] = blocks;
  if (first === undefined) return "";
  return blocks.length === 1 && isPlainText(first) ? first.text : blocks;
}

/** The text of a turn that holds nothing else. */
export function onlyText(parts: Message["content"] | readonly ParsedPart[]): string | undefined {
  const [only] = parts;
  const isBare = only?.type === "text" && parts.length === 1 && !only.extra && !only.annotations?.length;
  return isBare ? only.text : undefined;
}

function isPlainText(part: JsonObject): part is { type: "text"; text: string } {
  return part.type === "text" && Object.keys(part).length === 2;
}

export function serializePart(part: ParsedPart, context: Context): JsonObject | undefined {
  if (part.type === "opaque") return part.extra.fields;
  const fields = fieldsFor(WIRE, part.extra, context.note);
  switch (part.type) {
    case "text":
      if (part.annotations?.length) context.note("dropped annotations");
      return { type: "text", text: part.text, ...fields };
    case "refusal":
      return { type: "refusal", refusal: part.text, ...fields };
    case "file":
      return serializeFile(part, fields, context);
    default:
      return part satisfies never;
  }
}

function serializeFile(
  { mediaType, source, name, detail }: FilePart,
  fields: JsonObject,
  { note }: Context,
): JsonObject {
  const [kind] = mediaType.split("/");
  const part = (type: string, known: JsonObject): JsonObject => {
    const { inner, outer } = splitInside(type, fields);
    return { type, [type]: { ...known, ...inner }, ...outer };
  };
  if (kind === "image" && source.type !== "id") {
    if (name !== undefined) note("dropped filename");
    return part("image_url", { url: urlOf(mediaType, source), detail });
  }
  const isSound = kind === "audio" && source.type === "base64";
  if (isSound && name !== undefined) note("dropped filename");
  if (detail !== undefined && detail !== "auto") note("dropped detail");
  if (isSound) {
    return part("input_audio", { data: source.data, format: audioFormat(mediaType) });
  }
  if (source.type === "url") {
    // Only pictures have a place for an address here.
    note("replaced a file with its URL");
    return { type: "text", text: `[${name ?? "File"}: ${source.url}]` };
  }
  return part("file", { ...fileFields(mediaType, source), ...(name !== undefined && { filename: name }) });
}

function fileFields(mediaType: string, source: Exclude<FileSource, { type: "url" }>): JsonObject {
  if (source.type === "id") return { file_id: source.id };
  return { file_data: mediaType === "application/octet-stream" ? source.data : urlOf(mediaType, source) };
}

function urlOf(mediaType: string, source: Exclude<FileSource, { type: "id" }>): string {
  return source.type === "url" ? source.url : `data:${mediaType};base64,${source.data}`;
}
