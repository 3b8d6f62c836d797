/**
 * One walk over all data of a request or an answer. Every string is a text unless it is sealed data or a file, so that no field
 * is forgotten: neither a new one nor one that only some wire has.
 */
import { parseDataUrl } from "../../src/canonical/audio.ts";
import { isJsonObject, type JsonObject, setField } from "../../src/canonical/json.ts";
import { isRawNumber } from "../../src/canonical/raw_number.ts";
import type { SlicedWork } from "../../src/util/sliced_work.ts";
import { base64Of, isBase64, mediaTypeOf, mediumOf, textOf } from "./media.ts";
import type { Medium } from "./options.ts";
import { beginsLikeKey } from "./secrets.ts";

/** The field that a text was found in, and the facts about it that decide how the text is read. */
export interface Place {
  /** The field that has it. */
  name?: string;
  /** The `type` of the object that has the field. */
  type?: unknown;
  /** The media type that an object around it states. */
  mediaType?: string;
  /** Whether it is JSON, such as the arguments of a call. */
  isJson?: boolean;
  /** Whether the wires give it a meaning, so that only a text which is unmistakable may be replaced. */
  isKeyword?: boolean;
}

/** Changes texts, and judges what is none. */
export interface Visitor {
  text(text: string, place: Place): SlicedWork<string>;
  /** Called for what cannot be read. Throws if it may not pass. */
  unreadable(medium: Medium): void;
}

/** Fields with data that only the upstream which wrote it can read. */
const SEALED = new Set([
  "sealed",
  "signature",
  "encrypted_content",
  "encrypted_index",
  "encrypted_stdout",
  "thought_signature",
  "thoughtSignature",
]);
const SEALED_OBJECTS = new Set(["opaque", "sealed"]);
const SEALED_TYPE = /redacted|encrypted|compaction/;
const SEALED_DATA = /^[\w+/=.:~-]{64,}$/;
/** Fields with files in base64. */
const FILES = new Set(["data", "file_data", "fileData", "b64_json", "bytes", "blob", "base64"]);
const KEYWORDS = new Set([
  "type",
  "role",
  "kind",
  "wire",
  "mediaType",
  "media_type",
  "format",
  "origin",
  "syntax",
  "detail",
]);
/** Names that cannot hold anything. */
const PLAIN_NAME = /^[A-Za-z_]{0,24}$/;
/** A shorter text in such a field may be a word. */
const LEAST_FILE = 64;
const LEAST_NUMBER = 1e12;

/** A walk with its visitor. Objects in which nothing changes stay the same. */
export class Walk {
  readonly #visitor: Visitor;

  constructor(visitor: Visitor) {
    this.#visitor = visitor;
  }

  /** The value with all its texts changed. */
  *value(value: unknown, place: Place = {}): SlicedWork<unknown> {
    if (typeof value === "string") return yield* this.#text(value, place);
    if (Array.isArray(value)) return yield* this.#list(value, place);
    if (isRawNumber(value)) return yield* this.#number(value.rawJSON, value);
    if (typeof value === "number") {
      return value >= LEAST_NUMBER && place.name !== "seed" ? yield* this.#number(String(value), value) : value;
    }
    return isJsonObject(value) && isPlain(value) ? yield* this.#object(value, place) : value;
  }

  *#text(text: string, place: Place): SlicedWork<string> {
    const file = text.startsWith("data:") ? parseDataUrl(text) : undefined;
    if (!file) return yield* this.#visitor.text(text, place);
    const data = yield* this.#file(file.base64, file.mediaType);
    return data === file.base64 ? text : text.slice(0, text.length - file.base64.length) + data;
  }

  /** A number whose digits are to be replaced becomes a text. */
  *#number(digits: string, value: unknown): SlicedWork<unknown> {
    const changed = yield* this.#visitor.text(digits, {});
    return changed === digits ? value : changed;
  }

  *#file(base64: string, mediaType: string | undefined): SlicedWork<string> {
    const text = textOf(base64, mediaType);
    if (text === undefined) {
      this.#visitor.unreadable(mediumOf(mediaType || mediaTypeOf(base64)));
      return base64;
    }
    const changed = yield* this.#visitor.text(text, {});
    return changed === text ? base64 : base64Of(changed);
  }

  *#list(list: readonly unknown[], place: Place): SlicedWork<unknown> {
    if (typeof list[0] === "number" && typeof list.at(-1) === "number") return list;
    let copy: unknown[] | undefined;
    for (let at = 0; at < list.length; at++) {
      const changed = yield* this.value(list[at], place);
      if (changed !== list[at]) (copy ??= list.slice())[at] = changed;
    }
    return copy ?? list;
  }

  *#object(object: JsonObject, place: Place): SlicedWork<unknown> {
    if (object.type === "file" && isJsonObject(object.source)) noteSource(object, this.#visitor);
    const mediaType = typeBeside(object) ?? place.mediaType;
    let copy: JsonObject | undefined;
    let seen = 0;
    for (const name in object) {
      const value = object[name];
      const changed = yield* this.#field(name, value, object, { ...place, mediaType });
      const newName = PLAIN_NAME.test(name) ? name : yield* this.#visitor.text(name, {});
      if (!copy && (changed !== value || newName !== name)) copy = firstOf(object, seen);
      if (copy) setField(copy, newName, changed as JsonObject);
      seen++;
    }
    return copy ?? object;
  }

  /** The value of a field of `object`, which stands at `outer`. */
  *#field(name: string, value: unknown, { type, kind }: JsonObject, outer: Place): SlicedWork<unknown> {
    if (typeof value === "string") {
      if (isSealed(name, value, outer.name, type)) return value;
      if (isFile(name, value, type)) return yield* this.#file(value, outer.mediaType);
    }
    const isJson = name === "arguments" || name === "input" && (kind === "function" || kind === "mcp");
    return yield* this.value(value, { name, type, mediaType: outer.mediaType, isJson, isKeyword: KEYWORDS.has(name) });
  }
}

/** A file that is somewhere else cannot be read either. */
function noteSource({ source, mediaType }: JsonObject, visitor: Visitor): void {
  const { type, url } = source as JsonObject;
  if (type === "base64" || type === "url" && String(url).startsWith("data:")) return;
  visitor.unreadable(mediumOf(String(mediaType)));
}

function isFile(name: string, value: string, type: unknown): boolean {
  if (!FILES.has(name) || beginsLikeKey(value)) return false;
  return isBase64(value, type === "base64" ? 1 : LEAST_FILE);
}

/** The media type that an object states beside its file. */
function typeBeside(object: JsonObject): string | undefined {
  const { mediaType, media_type, mime_type, mimeType, format } = object;
  const found = [mediaType, media_type, mime_type, mimeType].find((one) => typeof one === "string");
  return found as string | undefined ?? (typeof format === "string" && object.data ? `audio/${format}` : undefined);
}

function isSealed(name: string, value: string, owner: string | undefined, type: unknown): boolean {
  if (!SEALED_DATA.test(value) || beginsLikeKey(value)) return false;
  const isData = name === "data" &&
    (owner !== undefined && SEALED_OBJECTS.has(owner) || typeof type === "string" && SEALED_TYPE.test(type));
  return isData || SEALED.has(name);
}

/** Whether it has fields of its own, unlike bytes or a stream. */
function isPlain(object: object): boolean {
  const prototype = Object.getPrototypeOf(object);
  return prototype === Object.prototype || prototype === null;
}

/** A copy with the first fields. */
function firstOf(object: JsonObject, count: number): JsonObject {
  const copy: JsonObject = {};
  let copied = 0;
  for (const name in object) {
    if (copied++ === count) break;
    setField(copy, name, object[name]);
  }
  return copy;
}
