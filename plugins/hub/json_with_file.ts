/** JSON bodies that carry a file as base64, for services that accept no forms. */
import type { JsonObject } from "../../src/canonical/json.ts";

/** Where the file's base64 goes, inside a string of the body. */
export const FILE = "<file>";

/** Bytes that become base64 at a time: without a remainder of three, so that the pieces join to one text. */
const PIECE_BYTES = 3 * 2 ** 16;

/**
 * The body as JSON, with the file's base64 in place of its first `FILE`: put that before anything a client wrote. The text
 * is never whole in memory: every piece goes into the blob at once, which holds a third more than the file has.
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
