/** Reads the pictures of services behind the hub: bytes, base64 inside JSON, or an address to fetch. */
import {
  delivered,
  type DrawRequest,
  type DrawResponse,
  type Picture,
  pictureIn,
  pictureInText,
} from "../../src/canonical/draw.ts";
import { isJsonObject } from "../../src/canonical/json.ts";
import type { Reply } from "../../src/contract/call.ts";
import type { Context } from "../../src/contract/context.ts";
import { refuseFailure } from "./failure.ts";

/** The keys under which answers have their pictures, or objects and lists with them. */
const KEYS = ["images", "image", "data", "output", "outputs", "image_result", "b64_json", "base64", "url"];
const DEEPEST = 4;

/** The pictures in an answer: addresses, data URLs and base64. */
export function entriesIn(value: unknown, depth = 0): string[] {
  if (typeof value === "string") return [value];
  if (depth > DEEPEST) return [];
  if (Array.isArray(value)) return value.flatMap((one) => entriesIn(one, depth + 1));
  if (!isJsonObject(value)) return [];
  const key = KEYS.find((name) => value[name] !== undefined && value[name] !== null);
  return key === undefined ? [] : entriesIn(value[key], depth + 1);
}

/** Whether it is an address to fetch. */
export function isAddress(text: string): boolean {
  return /^https?:\/\//i.test(text);
}

/** The pictures of all replies. Throws `upstream_error` if there is none. */
export function parsePictures(replies: readonly Reply[], input: DrawRequest, context: Context): DrawResponse {
  const read = replies.flatMap(({ body }): Picture[] => {
    if (body instanceof Uint8Array) return [pictureIn(body)];
    refuseFailure(body);
    return entriesIn(isJsonObject(body) ? body : undefined).slice(0, input.count).map((entry) =>
      isAddress(entry) ? { url: entry } : pictureInText(entry)
    );
  });
  const pictures = delivered(read, input, context.note);
  return { pictures, usage: { pictures: pictures.length } };
}
