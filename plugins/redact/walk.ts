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

/** Where a text stands. */
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

/** What is done with the texts. */
export interface Visitor {
  text(text: string, place: Place): SlicedWork<string>;
  /** Called for what cannot be read. Throws if it may not pass. */
  unreadable(medium: Medium): void;
}

/** Fields with data that only the upstream which wrote it can read. */
const SEALED = new Set([
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
const PLAIN_NAME = /^[A-Za-z_]{0,40}$/;
/** A shorter text in such a field may be a word. */
const LEAST_FILE = 64;
const LEAST_NUMBER = 1e12;

export type Walker = (value: unknown, place?: Place) => SlicedWork<unknown>;

/** A walk with this visitor. Objects in which nothing changes stay the same. */
export function walkerFor(visitor: Visitor): Walker {
  function* walk(value: unknown, place: Place = {}): SlicedWork<unknown> {
    if (typeof value === "string") return yield* walkText(value, place);
    if (Array.isArray(value)) return yield* walkList(value, place);
    if (isRawNumber(value)) return yield* walkNumber(value.rawJSON, value);
    if (typeof value === "number") {
      return value >= LEAST_NUMBER && place.name !== "seed" ? yield* walkNumber(String(value), value) : value;
    }
    return isJsonObject(value) && isPlain(value) ? yield* walkObject(value, place) : value;
  }

  function* walkText(text: string, place: Place): SlicedWork<string> {
    if (text.startsWith("data:")) {
      const file = parseDataUrl(text);
      if (file) {
        const data = yield* walkFile(file.base64, file.mediaType);
        return data === file.base64 ? text : text.slice(0, text.length - file.base64.length) + data;
      }
    }
    return yield* visitor.text(text, place);
  }

  /** A number whose digits are to be replaced becomes a text. */
  function* walkNumber(digits: string, value: unknown): SlicedWork<unknown> {
    const changed = yield* visitor.text(digits, {});
    return changed === digits ? value : changed;
  }

  function* walkFile(base64: string, mediaType: string | undefined): SlicedWork<string> {
    const text = textOf(base64, mediaType);
    if (text === undefined) {
      visitor.unreadable(mediumOf(mediaType || mediaTypeOf(base64)));
      return base64;
    }
    const changed = yield* visitor.text(text, {});
    return changed === text ? base64 : base64Of(changed);
  }

  function* walkList(list: readonly unknown[], place: Place): SlicedWork<unknown> {
    if (typeof list[0] === "number" && typeof list.at(-1) === "number") return list;
    let copy: unknown[] | undefined;
    for (let at = 0; at < list.length; at++) {
      const changed = yield* walk(list[at], place);
      if (changed !== list[at]) (copy ??= list.slice())[at] = changed;
    }
    return copy ?? list;
  }

  function* walkObject(object: JsonObject, { name: own, mediaType: outer }: Place): SlicedWork<unknown> {
    const { type, kind } = object;
    if (type === "file" && isJsonObject(object.source)) noteSource(object, visitor);
    const mediaType = typeBeside(object) ?? outer;
    let copy: JsonObject | undefined;
    let seen = 0;
    for (const name in object) {
      const value = object[name];
      const isJson = name === "arguments" || name === "input" && (kind === "function" || kind === "mcp");
      const changed = isSealed(name, value, own, type)
        ? value
        : isFile(name, value, type)
        ? yield* walkFile(value, mediaType)
        : yield* walk(value, { name, type, mediaType, isJson, isKeyword: KEYWORDS.has(name) });
      const newName = PLAIN_NAME.test(name) ? name : yield* visitor.text(name, {});
      if (!copy && (changed !== value || newName !== name)) copy = firstOf(object, seen);
      if (copy) setField(copy, newName, changed as JsonObject);
      seen++;
    }
    return copy ?? object;
  }

  return walk;
}

/** A file that is somewhere else cannot be read either. */
function noteSource({ source, mediaType }: JsonObject, visitor: Visitor): void {
  const { type, url } = source as JsonObject;
  if (type === "base64" || type === "url" && String(url).startsWith("data:")) return;
  visitor.unreadable(mediumOf(String(mediaType)));
}

function isFile(name: string, value: unknown, type: unknown): value is string {
  if (typeof value !== "string" || !FILES.has(name) || beginsLikeKey(value)) return false;
  return isBase64(value, type === "base64" ? 1 : LEAST_FILE);
}

/** The media type that an object states beside its file. */
function typeBeside(object: JsonObject): string | undefined {
  const { mediaType, media_type, mime_type, mimeType, format } = object;
  const found = [mediaType, media_type, mime_type, mimeType].find((one) => typeof one === "string");
  return found as string | undefined ?? (typeof format === "string" && object.data ? `audio/${format}` : undefined);
}

function isSealed(name: string, value: unknown, owner: string | undefined, type: unknown): boolean {
  if (typeof value !== "string" || !SEALED_DATA.test(value) || beginsLikeKey(value)) return false;
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
