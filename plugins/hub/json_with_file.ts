/** JSON bodies that carry a file as base64, for services that accept no forms. */
import type { JsonObject } from "../../src/canonical/json.ts";

/** Marks the position of the file's base64, inside a string of the body. */
export const FILE = "<file>";

/** How many bytes are encoded at a time. A multiple of three, so that the pieces join to one base64 text. */
const PIECE_BYTES = 3 * 2 ** 16;

/**
 * The body as JSON, with the file's base64 in place of the first `FILE`, which must come before any text of the client. The text is
 * never in memory as a whole: every piece goes directly into the blob, which is a third larger than the file.
 */
export function jsonWithFile(body: JsonObject, file: Uint8Array<ArrayBuffer>): Blob {
  const json = JSON.stringify(body);
  const place = json.indexOf(FILE);
  const parts: (string | Blob)[] = [json.slice(0, place)];
  for (let offset = 0; offset < file.length; offset += PIECE_BYTES) {
    parts.push(new Blob([file.subarray(offset, offset + PIECE_BYTES).toBase64()]));
  }
  parts.push(json.slice(place + FILE.length));
  return new Blob(parts, { type: "application/json" });
}
