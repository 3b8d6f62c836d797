/** Parts as content blocks. */
import { fieldsFor } from "../../src/canonical/extra.ts";
import type {
  Annotation,
  FilePart,
  OutputPart,
  ReasoningPart,
  TextPart,
  ToolResultPart,
} from "../../src/canonical/generate.ts";
import type { JsonObject } from "../../src/canonical/json.ts";
import type { Context } from "../../src/contract/context.ts";
import { noteLost } from "../../src/transforms/turns.ts";
import { placeholderFor } from "../../src/transforms/placeholder.ts";
import { serializeHosted } from "./hosted_blocks.ts";
import { inputOf } from "./tool_input.ts";
import { WIRE } from "./wire.ts";

export type ParsedPart = OutputPart | ToolResultPart;

/** A part as a block; `note` reports fields that only another wire understands. */
export function serializeBlock(part: ParsedPart, context?: Context): JsonObject {
  if (part.type === "opaque") {
    return part.extra.wire === WIRE ? part.extra.fields : { type: "text", text: part.standIn ?? "" };
  }
  if (part.type === "hosted") return serializeHosted(part);
  const fields = fieldsFor(WIRE, part.extra, context?.note);
  switch (part.type) {
    case "text":
      return isBare(part)
        ? { type: "text", text: part.text }
        : { type: "text", text: part.text, ...citations(part, context), ...fields };
    case "refusal":
      return { type: "text", text: part.text };
    case "reasoning":
      return isRedacted(part)
        ? { type: "redacted_thinking", data: part.opaque?.data ?? "", ...fields }
        : { type: "thinking", thinking: part.text, signature: signatureOf(part.opaque), ...fields };
    case "tool-call":
      return { type: "tool_use", id: part.id, name: part.name, input: inputOf(part), ...fields };
    case "tool-result":
      return serializeResult(part, fields, context);
    case "file":
      return { ...serializeFile(part, context), ...fields };
    default:
      return part satisfies never;
  }
}

function serializeResult({ id, content, isError }: ToolResultPart, fields: JsonObject, context?: Context): JsonObject {
  const block: JsonObject = { type: "tool_result", tool_use_id: id };
  const written = content.length > 0 ? serializeContent(content, context) : "";
  if (written.length > 0) block.content = written;
  if (isError) block.is_error = true;
  return Object.assign(block, fields);
}

/** The blocks of a turn. One plain text goes as a string. */
export function serializeContent(parts: readonly ParsedPart[], context?: Context): string | JsonObject[] {
  const [only] = parts;
  if (parts.length === 1 && only?.type === "text" && isBare(only) && (!context || isSpeakable(only, context))) {
    return only.text;
  }
  const blocks = serializeBlocks(parts, context);
  const [first] = blocks;
  return blocks.length === 1 && first?.type === "text" && Object.keys(first).length === 2 ? String(first.text) : blocks;
}

function isBare({ extra, annotations }: TextPart): boolean {
  return !extra && !annotations?.length;
}

/** The blocks of a request. Parts that the wire has no block for are left out and noted. */
export function serializeBlocks(parts: readonly ParsedPart[], context?: Context): JsonObject[] {
  return parts.filter((part) => !context || isSpeakable(part, context)).map((part) => serializeBlock(part, context));
}

function isSpeakable(part: ParsedPart, context: Context): boolean {
  // The answer to a client that got no text is an empty one, which servers refuse when it comes back.
  if (context.clientWire === WIRE) {
    return part.type !== "text" || /\S/.test(part.text) || isSpeakableText(part, context);
  }
  switch (part.type) {
    case "text":
      return isSpeakableText(part, context);
    case "reasoning":
      return isSpeakableReasoning(part, context);
    case "file":
      return isSpeakableFile(part, context);
    case "opaque":
      return part.extra.wire === WIRE || placeholderFor(part, context.note) !== undefined;
    case "refusal":
    case "tool-call":
    case "tool-result":
    case "hosted":
      return true;
    default:
      return part satisfies never;
  }
}

/** Servers refuse a text in which nothing is said. */
function isSpeakableText({ text, extra }: TextPart, { note }: Context): boolean {
  const isSpeakable = text.trim() !== "";
  if (!isSpeakable) noteLost(extra, note);
  return isSpeakable;
}

/** Reasoning that the upstream wrote itself comes back to it from the gateway's memory, whatever the client speaks. */
function isSpeakableReasoning({ text, opaque }: ReasoningPart, { note }: Context): boolean {
  if (opaque?.origin === WIRE) return true;
  if (opaque) note("dropped reasoning that only its vendor can read");
  return text !== "";
}

function isSpeakableFile({ mediaType }: FilePart, { note }: Context): boolean {
  const isSpeakable = !/^(audio|video)\//.test(mediaType);
  if (!isSpeakable) note(`dropped a file of type ${mediaType}`);
  return isSpeakable;
}

/** Reasoning whose text, too, only its vendor can read. */
export function isRedacted({ extra }: ReasoningPart): boolean {
  return fieldsFor(WIRE, extra).type === "redacted_thinking";
}

/** A signature is its vendor's own; without one the field is there and empty, as clients store it. */
export function signatureOf(opaque: { origin: string; data: string } | undefined): string {
  return opaque?.origin === WIRE ? opaque.data : "";
}

function citations({ annotations }: TextPart, context?: Context): JsonObject {
  for (const { extra } of annotations ?? []) fieldsFor(WIRE, extra, context?.note);
  return annotations?.length ? { citations: annotations.map(serializeCitation) } : {};
}

export function serializeCitation({ url, title, quote }: Annotation): JsonObject {
  return {
    type: "web_search_result_location",
    url,
    title: title ?? null,
    cited_text: quote ?? "",
    encrypted_index: "",
  };
}

function serializeFile({ mediaType, source, name, detail }: FilePart, context?: Context): JsonObject {
  const isPicture = mediaType.startsWith("image/");
  if (detail !== undefined && detail !== "auto") context?.note("dropped detail");
  if (name !== undefined && isPicture) context?.note("dropped filename");
  const title = isPicture || name === undefined ? {} : { title: name };
  return { type: isPicture ? "image" : "document", source: serializeSource(source, mediaType), ...title };
}

function serializeSource(source: FilePart["source"], mediaType: string): JsonObject {
  switch (source.type) {
    case "base64":
      return { type: "base64", media_type: mediaType, data: source.data };
    case "url":
      return { type: "url", url: source.url };
    case "id":
      return { type: "file", file_id: source.id };
    default:
      return source satisfies never;
  }
}
