/**
 * JSON that is the same each time but for one text in it, as the frames of a stream are: what stands around the text is written
 * once, so that a frame costs its text alone.
 */
import type { JsonValue } from "./json.ts";

/** Stands for the text while the rest is written. Nobody can know it, so no text has it. */
const HOLE = crypto.randomUUID();
const WRITTEN_HOLE = JSON.stringify(HOLE);

/** `JSON.stringify(make(text))` as a function of the text, which `make` puts in as it is, once or several times. */
export function jsonAround(make: (text: string) => JsonValue): (text: string) => string {
  const [head = "", ...rest] = JSON.stringify(make(HOLE)).split(WRITTEN_HOLE);
  if (rest.length === 1) return (text) => head + JSON.stringify(text) + rest[0];
  return (text) => [head, ...rest].join(JSON.stringify(text));
}
