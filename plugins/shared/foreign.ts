/** Parts, tools and fields that clients mix into the requests of one wire from others, and options of their SDK. */
import { carrying, hasOther } from "../../src/canonical/extra.ts";
import type { FilePart, FileSource, TextPart } from "../../src/canonical/generate.ts";
import type { WireRequest } from "../../src/contract/context.ts";
import { GatewayError } from "../../src/errors.ts";
import {
  addFields,
  asList,
  asObject,
  isJsonObject,
  isText,
  type JsonObject,
  present,
} from "../../src/canonical/json.ts";

const DATA_URL = /^data:([\w.+-]+\/[\w.+-]+);base64,/;

/** A data URL as its bytes; anything else is an address, or `bare` bytes without their type. */
export function sourceOf(text: string, mediaType: string, bare = false): { mediaType: string; source: FileSource } {
  const match = DATA_URL.exec(text);
  if (match) return { mediaType: match[1]!, source: { type: "base64", data: text.slice(match[0].length) } };
  return { mediaType, source: bare ? { type: "base64", data: text } : { type: "url", url: text } };
}

export const ANY_FILE = "application/octet-stream";
const ANY_IMAGE = "image/*";
const AUDIO_TYPES: Readonly<Record<string, string>> = { wav: "audio/wav", mp3: "audio/mpeg" };

export function audioType(format: string): string {
  return Object.hasOwn(AUDIO_TYPES, format) ? AUDIO_TYPES[format]! : `audio/${format}`;
}

export function audioFormat(mediaType: string): string {
  return Object.keys(AUDIO_TYPES).find((name) => AUDIO_TYPES[name] === mediaType) ?? mediaType.split("/")[1] ?? "";
}

/**
 * A text, picture, file or sound in the form of another wire than `wire`, whose own forms are read before. `undefined` for
 * anything else.
 */
export function foreignPart(part: JsonObject, wire: string): TextPart | FilePart | undefined {
  const { type } = part;
  if (type === "input_text" || type === "output_text") {
    const known = ["type", "text", ...["annotations", "logprobs"].filter((name) => asList(part[name]).length === 0)];
    return isText(part.text) ? carrying<TextPart>({ type: "text", text: part.text }, wire, part, known) : undefined;
  }
  const inner = isJsonObject(part[String(type)]) ? asObject(part[String(type)]) : part;
  const sourced = foreignSource(part, inner);
  if (!sourced || [inner, asObject(part.source)].some((place) => place !== part && hasOther(place, INNER_KEYS))) {
    return undefined;
  }
  const { detail } = inner;
  const name = inner.filename ?? part.title;
  return carrying<FilePart>(
    {
      type: "file",
      ...sourced,
      ...(isText(name) && { name }),
      ...present("detail", isText(detail) && detail !== "auto" ? detail : undefined),
    },
    wire,
    part,
    [...FILE_KEYS, String(type)],
  );
}

const FILE_KEYS = ["type", "source", "title", "detail", "file_id", "file_data", "file_url", "filename", "image_url"];

/** A part in which something else stands is left as it is, because a part of another form has no place for it. */
const INNER_KEYS = new Set([
  ...["type", "media_type", "data", "url", "detail", "format"],
  ...["file_id", "file_data", "file_url", "filename"],
]);

/** `inner`: the object that holds the part's fields on some wires. */
function foreignSource({ type, source, image_url }: JsonObject, inner: JsonObject): Sourced | undefined {
  const id = inner.file_id;
  switch (type) {
    case "image":
    case "document":
      return isJsonObject(source) ? typedSource(source, type === "image" ? ANY_IMAGE : "application/pdf") : undefined;
    case "image_url":
    case "input_image": {
      if (isText(id)) return { mediaType: ANY_IMAGE, source: { type: "id", id } };
      const url = isText(image_url) ? image_url : inner.url;
      return isText(url) ? sourceOf(url, ANY_IMAGE) : undefined;
    }
    case "file":
    case "input_file": {
      if (isText(id)) return { mediaType: ANY_FILE, source: { type: "id", id } };
      const { file_url, file_data } = inner;
      if (isText(file_url)) return sourceOf(file_url, ANY_FILE);
      return isText(file_data) ? sourceOf(file_data, ANY_FILE, true) : undefined;
    }
    case "input_audio": {
      const { data, format } = inner;
      if (!isText(data) || !isText(format)) return undefined;
      return { mediaType: audioType(format), source: { type: "base64", data } };
    }
    default:
      return undefined;
  }
}

type Sourced = { mediaType: string; source: FileSource };

function typedSource({ type, media_type, data, url, file_id }: JsonObject, anyType: string): Sourced | undefined {
  if (type === "base64" && isText(data)) {
    return { mediaType: isText(media_type) ? media_type : anyType, source: { type: "base64", data } };
  }
  if (type === "url" && isText(url)) return { mediaType: anyType, source: { type: "url", url } };
  return type === "file" && isText(file_id) ? { mediaType: anyType, source: { type: "id", id: file_id } } : undefined;
}

/** A tool in the form of the messages wire, which some editors send on the chat wire, is a function there. */
export function asChatTool(tool: unknown): unknown {
  if (!isJsonObject(tool) || !isJsonObject(tool.input_schema) || tool.parameters || tool.function) return tool;
  const { type: _, name, description, input_schema: parameters, strict, ...outer } = tool;
  return { ...outer, type: "function", function: { name, description, parameters, strict } };
}

/** A call that names nothing at all, which clients keep of an answer that broke off, is one without a function. */
export function withoutEmptyCall(call: unknown): unknown {
  if (!isJsonObject(call) || typeof call.name === "string") return call;
  const { function: called, custom, ...rest } = call;
  const isEmpty = (one: unknown) => !one || isJsonObject(one) && Object.keys(one).length === 0;
  const isKnown = !rest.type || rest.type === "function" || rest.type === "custom";
  return isKnown && isEmpty(called) && isEmpty(custom) ? { ...rest, type: "function" } : call;
}

/** Fields that stand for turns which a server keeps. On a wire that has them not, the request would be answered without those turns. */
const KEPT_TURNS = ["previous_response_id", "conversation", "thread"];

/** Refuses a request that holds only the rest of a conversation. `served`: the fields whose turns the gateway finds. */
export function refusePartial(body: { [name: string]: unknown }, served: readonly string[] = []): void {
  const param = KEPT_TURNS.find((name) => body[name] && !served.includes(name));
  if (param === undefined) return;
  const message = `This endpoint keeps no conversations: send the whole one instead of "${param}"`;
  throw new GatewayError("invalid_request", message, { param });
}

/** Options of the vendors' SDKs. They may hold secrets, so they are for no upstream. */
const OUTSIDE_BODY = ["headers", "extra_headers", "extra_query"];

export const SDK_OPTIONS: readonly string[] = ["extra_body", ...OUTSIDE_BODY];

export function hasSdkOptions(body: { [name: string]: unknown }): boolean {
  const { extra_body } = body;
  // One vendor's API has a field of this name.
  const isField = isJsonObject(extra_body) && isJsonObject(extra_body.google);
  return extra_body !== undefined && !isField || OUTSIDE_BODY.some((name) => body[name] !== undefined);
}

/** The request as the SDK would have sent it: with the fields of `extra_body`, which win, and without options of the call. */
export function asSent(wire: WireRequest, note: (text: string) => void): WireRequest {
  return { ...wire, body: withoutSdkOptions(wire.body as JsonObject, note) };
}

export function withoutSdkOptions(body: JsonObject, note: (text: string) => void): JsonObject {
  const plain = { ...body };
  for (const name of OUTSIDE_BODY) {
    if (plain[name] !== undefined && plain[name] !== null) note(`dropped ${name}`);
    delete plain[name];
  }
  const { extra_body } = plain;
  if (!hasSdkOptions(plain)) return plain;
  delete plain.extra_body;
  if (isJsonObject(extra_body)) addFields(extra_body, plain);
  else if (extra_body !== undefined && extra_body !== null) note("dropped extra_body");
  return plain;
}
