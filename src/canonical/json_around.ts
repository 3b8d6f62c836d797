/**
 * Serializes JSON that varies only in one text, such as the frames of a stream. Everything around the text is written
 * once, so that a frame costs only its text.
 */
import type { JsonValue } from "./json.ts";

/**
 * Stands for the text while the rest is serialized. It is random, so no text contains it. It is made at the first need, because some
 * runtimes have no random values while a program loads.
 */
let hole = "";

/**
 * `JSON.stringify(make(text))` as a function of the text. `make` must insert the text unchanged, and may do so several
 * times. `from`: where in the JSON the result begins, which is before the text.
 */
export function jsonAround(make: (text: string) => JsonValue, from = 0): (text: string) => string {
  hole ||= crypto.randomUUID();
  const [head = "", ...rest] = JSON.stringify(make(hole)).slice(from).split(`"${hole}"`);
  const [tail] = rest;
  if (rest.length === 1) return (text) => head + JSON.stringify(text) + tail;
  return (text) => [head, ...rest].join(JSON.stringify(text));
}
