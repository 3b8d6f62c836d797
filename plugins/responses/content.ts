/** The content of messages and of results, both ways: a text, or a list of parts. */
import { carrying, type Extra, extraField, extraOf, fieldsFor } from "../../src/canonical/extra.ts";
import type { PartEnd } from "../../src/transforms/part_writer.ts";
import type {
  Annotation,
  FilePart,
  FileSource,
  InputPart,
  OpaquePart,
  RefusalPart,
  TextPart,
} from "../../src/canonical/generate.ts";
import {
  asList,
  asObjects,
  asText,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  present,
} from "../../src/canonical/json.ts";
import type { Context } from "../../src/contract/context.ts";
import { ANY_FILE, audioFormat, foreignPart, sourceOf } from "../shared/foreign.ts";
import { type Offsets, offsetsIn } from "./offsets.ts";
import { type ContentPart, type Contents, isKnownContent, type KnownContent, WIRE } from "./wire.ts";

/** A part that may stand in a message. */
export type MessagePart = InputPart | RefusalPart;

export function parseContent(content: Contents | null | undefined): MessagePart[] {
  if (content === null || content === undefined || content === "") return [];
  return typeof content === "string" ? [{ type: "text", text: content }] : content.map(parsePart);
}

/** A refusal where only the assistant could refuse is plain text. */
export function parseInput(content: Contents | null | undefined): InputPart[] {
  const parts = parseContent(content);
  return parts.some(({ type }) => type === "refusal")
    ? parts.map((part) => part.type === "refusal" ? { type: "text", text: part.text } : part)
    : parts as InputPart[];
}

function parsePart(part: ContentPart): MessagePart {
  if (!isKnownContent(part)) {
    const fields = part as JsonObject;
    return foreignPart(fields, WIRE) ?? { type: "opaque", extra: { wire: WIRE, fields } };
  }
  switch (part.type) {
    case "input_text":
    case "output_text":
    case "text":
      return parseText(part as JsonObject & { text: string });
    case "refusal":
      return { type: "refusal", text: part.refusal, ...extraField(WIRE, part, ["type", "refusal"]) };
    case "input_image": {
      const { image_url, file_id } = part;
      return {
        type: "file",
        ...(file_id
          ? { mediaType: "image/*", source: { type: "id", id: file_id } }
          : sourceOf(image_url ?? "", "image/*")),
        // The vendor's clients always say it.
        ...present("detail", part.detail === "auto" ? undefined : part.detail),
        ...extraField(WIRE, part, ["type", "image_url", "file_id", "detail"]),
      };
    }
    case "input_file":
      return parseFile(part);
    default:
      return part satisfies never;
  }
}

/** A text that the model wrote or is given. */
function parseText(part: JsonObject & { text: string }): TextPart {
  const text: TextPart = { type: "text", text: part.text };
  if (part.annotations === undefined && part.logprobs === undefined) return carrying(text, WIRE, part, TEXT_KEYS);
  const { annotations, end } = textEnd(part);
  return { ...text, ...(annotations && { annotations }), ...end };
}

/** The fields of a text that the canonical form has: its citations where all of them are such, no list of nothing. */
const TEXT_KEYS = ["type", "text", "refusal"];
const CITED_KEYS = [...TEXT_KEYS, "annotations"];
const LOGGED_KEYS = [...TEXT_KEYS, "logprobs"];
const ALL_KEYS = [...CITED_KEYS, "logprobs"];

/** The end of a text: its citations, and what only this wire knows of it. */
export function textEnd(part: JsonObject): { annotations?: Annotation[]; end: { extra?: Extra } } {
  const cited = asList(part.annotations);
  const text = asText(part.text);
  const annotations = cited.length > 0 ? parseAnnotations(cited, offsetsIn(text)) : [];
  const isWhole = annotations.length === cited.length;
  const known = isEmpty(part.logprobs) ? isWhole ? ALL_KEYS : LOGGED_KEYS : isWhole ? CITED_KEYS : TEXT_KEYS;
  return { ...(annotations.length > 0 && { annotations }), end: extraField(WIRE, part, known) };
}

/** Servers send the list even if it is empty. */
function isEmpty(list: unknown): boolean {
  return Array.isArray(list) && list.length === 0;
}

function parseAnnotations(cited: readonly JsonValue[], offsets: Offsets): Annotation[] {
  return cited.map((one) => parseAnnotation(one, offsets)).filter((one) => one !== undefined);
}

/** A citation of a page: no other citations mean the same on other wires. */
function parseAnnotation(value: JsonValue, { toUnits }: Offsets): Annotation | undefined {
  if (!isJsonObject(value) || value.type !== "url_citation" || typeof value.url !== "string") return undefined;
  const { url, title, start_index: start, end_index: end } = value;
  return {
    type: "url-citation",
    url,
    ...(typeof title === "string" && { title }),
    ...(typeof start === "number" && { start: toUnits(start) }),
    ...(typeof end === "number" && { end: toUnits(end) }),
    ...extraField(WIRE, value, ["type", "url", "title", "start_index", "end_index"]),
  };
}

export function serializeAnnotations({ text, annotations = [] }: TextPart): JsonObject[] {
  if (annotations.length === 0) return [];
  const offsets = offsetsIn(text);
  return annotations.map((one) => serializeAnnotation(one, offsets));
}

function serializeAnnotation(
  { url, title, start = 0, end = 0, extra }: Annotation,
  { toCodePoints }: Offsets,
): JsonObject {
  return {
    type: "url_citation",
    url,
    title: title ?? "",
    start_index: toCodePoints(start),
    end_index: toCodePoints(end),
    ...fieldsFor(WIRE, extra),
  };
}

function parseFile(part: Extract<KnownContent, { type: "input_file" }>): FilePart {
  const { file_data, file_url, file_id, filename } = part;
  const source = file_id
    ? { mediaType: ANY_FILE, source: { type: "id" as const, id: file_id } }
    : file_url
    ? sourceOf(file_url, ANY_FILE)
    : sourceOf(file_data ?? "", ANY_FILE, true);
  return {
    type: "file",
    ...source,
    ...(filename && { name: filename }),
    ...extraField(WIRE, part, ["type", "file_data", "file_url", "file_id", "filename"]),
  };
}

/** The content that a request holds. One plain text goes as a string, which every server takes. */
export function serializeContent(parts: readonly MessagePart[], context: Context, side: "input" | "output"): JsonValue {
  const [only] = parts;
  if (parts.length === 1 && only?.type === "text" && !only.extra && !only.annotations?.length) return only.text;
  const written = parts.map((part) => serializePart(part, context, side)).filter((part) => part !== undefined);
  const [first] = written;
  if (first === undefined) return "";
  return written.length === 1 && typeof first.text === "string" && Object.keys(first).length === 2
    ? first.text
    : written;
}

function serializePart(part: MessagePart, context: Context, side: "input" | "output"): JsonObject | undefined {
  if (part.type === "opaque") return part.extra.fields;
  const fields = fieldsFor(WIRE, part.extra, context.note);
  switch (part.type) {
    case "text":
      return {
        type: side === "input" ? "input_text" : "output_text",
        text: part.text,
        ...(part.annotations?.length && { annotations: serializeAnnotations(part) }),
        ...(part.extra && withoutItem(fields)),
      };
    case "refusal":
      return { type: "refusal", refusal: part.text, ...withoutItem(fields) };
    case "file":
      return serializeFile(part, fields, context);
    default:
      return part satisfies never;
  }
}

/** Only the vendor's own servers have a part for sounds, and only clients of this wire know which one they ask. */
function serializeSound(
  mediaType: string,
  source: FileSource,
  fields: JsonObject,
  { clientWire, note }: Context,
): JsonObject | undefined {
  if (clientWire === WIRE && source.type === "base64") {
    return { type: "input_audio", input_audio: { data: source.data, format: audioFormat(mediaType) }, ...fields };
  }
  note(`dropped a file of type ${mediaType}`);
  return undefined;
}

/** Fields of the item that a part of an answer stood in. */
function withoutItem(fields: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(fields).filter(([key]) => !key.startsWith("message.")));
}

function serializeFile(
  { mediaType, source, name, detail }: FilePart,
  fields: JsonObject,
  context: Context,
): JsonObject | undefined {
  const { note } = context;
  if (/^(audio|video)\//.test(mediaType)) {
    return serializeSound(mediaType, source, fields, context);
  }
  const isImage = mediaType.startsWith("image/");
  if (isImage && name !== undefined) note("dropped filename");
  if (!isImage && detail !== undefined && detail !== "auto") note("dropped detail");
  const bytes = (data: string) => mediaType === "application/octet-stream" ? data : `data:${mediaType};base64,${data}`;
  const where = source.type === "id"
    ? { file_id: source.id }
    : source.type === "url"
    ? { [isImage ? "image_url" : "file_url"]: source.url }
    : { [isImage ? "image_url" : "file_data"]: bytes(source.data) };
  return isImage
    ? { type: "input_image", detail: detail ?? "auto", ...where, ...fields }
    : { type: "input_file", ...(name !== undefined && { filename: name }), ...where, ...fields };
}

/** Whether an opaque part is content of a message, and not an item of its own. */
export function isContent({ extra }: OpaquePart): boolean {
  return extra.wire !== WIRE || /^(input|output)_/.test(String(extra.fields.type));
}

/** Fields of an item that the canonical form does not model; a status other than the usual one is among them. */
export function itemExtra(item: JsonObject, known: ItemKeys, hints?: JsonObject): { extra?: Extra } {
  const isUsual = item.status === "completed" || item.status === undefined;
  const extra = extraOf(WIRE, item, isUsual ? known.usual : known.other);
  if (!extra && !hints) return {};
  return { extra: { wire: WIRE, fields: extra?.fields ?? {}, ...(hints && { hints }) } };
}

/** The fields of one kind of item that are read apart. The usual status is among them. */
export interface ItemKeys {
  usual: ReadonlySet<string>;
  other: ReadonlySet<string>;
}

export function itemKeys(...known: string[]): ItemKeys {
  const other = ["type", "id", ...known];
  return { usual: new Set([...other, "status"]), other: new Set(other) };
}

export const MESSAGE_KEYS = itemKeys("role", "content");

/** The parts of a message, and its own fields under the names that they have as a text's. */
export function partsOf(item: JsonObject): { parts: JsonObject[]; fields: JsonObject } {
  const { extra } = itemExtra(item, MESSAGE_KEYS);
  const fields = Object.entries(extra?.fields ?? {}).map(([name, value]) => [`message.${name}`, value]);
  const content = typeof item.content === "string" ? [{ type: "output_text", text: item.content }] : item.content;
  const parts = asObjects(content);
  return { parts, fields: Object.fromEntries(fields) };
}

/** The end of a message's part, with the message's own fields. */
export function messageEnd(part: JsonObject, messageFields: JsonObject): PartEnd {
  const { annotations, end } = textEnd(part);
  const fields = { ...end.extra?.fields, ...messageFields };
  return {
    ...(annotations && { annotations }),
    ...(Object.keys(fields).length > 0 && { extra: { wire: WIRE, fields } }),
  };
}
