/** Message content, both ways: a text, or a list of parts. */
import { carrying, extraField, extraOf, fieldsFor, inside, splitInside } from "../../src/canonical/extra.ts";
import type { FilePart, FileSource, InputPart, Message, RefusalPart, TextPart } from "../../src/canonical/generate.ts";
import { type JsonObject, type JsonValue, present } from "../../src/canonical/json.ts";
import type { Context } from "../../src/contract/context.ts";
import { type Content, type ContentPart, isKnownPart, type KnownPart, WIRE } from "./wire.ts";

type ParsedPart = InputPart | RefusalPart;

const DATA_URL = /^data:([\w.+-]+\/[\w.+-]+);base64,/;
const AUDIO_TYPES: Readonly<Record<string, string>> = { wav: "audio/wav", mp3: "audio/mpeg" };

export function parseContent(content: Content | null | undefined): ParsedPart[] {
  if (content === null || content === undefined || content === "") return [];
  return typeof content === "string" ? [{ type: "text", text: content }] : content.map(parsePart);
}

const TEXT_KEYS = ["type", "text"];

function parsePart(part: ContentPart): ParsedPart {
  if (!isKnownPart(part)) return { type: "opaque", extra: { wire: WIRE, fields: part as JsonObject } };
  switch (part.type) {
    case "text":
      return carrying<TextPart>({ type: "text", text: part.text }, WIRE, part, TEXT_KEYS);
    case "refusal":
      return { type: "refusal", text: part.refusal, ...extraField(WIRE, part, ["type", "refusal"]) };
    case "image_url":
      return {
        ...fileOf(part, "image_url", ["url", "detail"], "image/*", sourceOf(part.image_url.url)),
        ...present("detail", part.image_url.detail),
      };
    case "input_audio": {
      const { data, format } = part.input_audio;
      const mediaType = Object.hasOwn(AUDIO_TYPES, format) ? AUDIO_TYPES[format]! : `audio/${format}`;
      return fileOf(part, "input_audio", ["data", "format"], mediaType, { type: "base64", data });
    }
    case "file": {
      const { file_data, file_id, filename } = part.file;
      if (!file_id && !file_data) return { type: "opaque", extra: { wire: WIRE, fields: part as JsonObject } };
      const source: Sourced = file_id ? { type: "id", id: file_id } : sourceOf(file_data ?? "", true);
      const file = fileOf(part, "file", ["file_data", "file_id", "filename"], "application/octet-stream", source);
      return filename ? { ...file, name: filename } : file;
    }
    default:
      return part satisfies never;
  }
}

type Sourced = FileSource & { mediaType?: string };

/** A data URL as its bytes; anything else is an address (or, for a file, the bytes without their type). */
function sourceOf(url: string, bare = false): Sourced {
  const match = DATA_URL.exec(url);
  if (match) return { type: "base64", data: url.slice(match[0].length), mediaType: match[1]! };
  return bare ? { type: "base64", data: url } : { type: "url", url };
}

function fileOf(part: KnownPart, key: string, known: string[], mediaType: string, sourced: Sourced): FilePart {
  const { mediaType: declared, ...source } = sourced;
  const inner = extraOf(WIRE, part[key] as JsonObject, new Set(known));
  const outer = extraOf(WIRE, part, new Set(["type", key]));
  const fields = { ...outer?.fields, ...inside(key, inner) };
  return {
    type: "file",
    mediaType: declared ?? mediaType,
    source,
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
  const [kind, subtype = ""] = mediaType.split("/");
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
    const format = Object.keys(AUDIO_TYPES).find((name) => AUDIO_TYPES[name] === mediaType) ?? subtype;
    return part("input_audio", { data: source.data, format });
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
