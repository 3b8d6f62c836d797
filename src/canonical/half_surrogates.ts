/**
 * Half surrogate pairs in JSON. A client that cuts a text within a character writes half of its pair as an escape, such as
 * `\ud83d`. No UTF-8 text can hold it, so many servers fail at it, and at every later request of the conversation.
 */
import { toJsonText } from "./json.ts";

/** A pair, or half of one. */
const SURROGATES = /\\u(?:[dD][89abAB][\da-fA-F]{2}(\\u[dD][c-fC-F][\da-fA-F]{2})?|[dD][c-fC-F][\da-fA-F]{2})/g;
const REPLACEMENT = "\\ufffd";

/** The JSON text with the replacement character for each half. The text stays as long as it is. */
export function replaceHalves(json: string): string {
  return json.replace(SURROGATES, (found, low: string | undefined, at: number) => {
    // Behind an odd number of backslashes this is no escape, and a low half after it has no high one.
    if (isEscaped(json, at)) return low === undefined ? found : found.slice(0, -low.length) + REPLACEMENT;
    return low === undefined ? REPLACEMENT : found;
  });
}

/** The arguments of a call as text. Servers parse them, and so meet the escapes inside. */
export function toArgumentsText(value: unknown): string {
  const text = toJsonText(value);
  return text.includes("\\ud") || text.includes("\\uD") ? replaceHalves(text) : text;
}

function isEscaped(text: string, at: number): boolean {
  let start = at;
  while (text[start - 1] === "\\") start--;
  return (at - start) % 2 === 1;
}
