/** Hides secrets in long texts slice by slice, with exactly the same result as in one pass. */
import type { Work } from "../util/work.ts";
import { BEARER, maskEnd } from "./secrets.ts";

/** The number of characters in a slice. */
const SLICE_LENGTH = 262_144;

const BEARER_WORD = /Bearer\s/gi;
const BEARER_HERE = new RegExp(BEARER.source, "iy");

/** `secrets`: spellings from `spellingsFor`. */
export function* hideInSlices(text: string, secrets: readonly string[], length = SLICE_LENGTH): Work<string> {
  let hidden = text;
  for (const secret of secrets) hidden = maskEnd(yield* replaceSecret(hidden, secret, length), secret);
  return yield* replaceBearers(hidden, length);
}

/** A secret may span two slices, so each slice is searched together with enough of the next one. */
function* replaceSecret(text: string, secret: string, length: number): Work<string> {
  const pieces: string[] = [];
  let copied = 0;
  for (let at = 0; at < text.length;) {
    const slice = text.slice(at, at + length + secret.length - 1);
    for (let found = slice.indexOf(secret); found !== -1; found = slice.indexOf(secret, copied - at)) {
      pieces.push(text.slice(copied, at + found));
      copied = at + found + secret.length;
    }
    at = Math.max(at + length, copied);
    yield;
  }
  return pieces.length === 0 ? text : [...pieces, text.slice(copied)].join("***");
}

/** Slices are searched only for the word. Its token may be of any length. */
function* replaceBearers(text: string, length: number): Work<string> {
  let hidden = "";
  let copied = 0;
  for (let at = 0; at < text.length;) {
    const slice = text.slice(at, at + length + "Bearer".length);
    for (const { index } of slice.matchAll(BEARER_WORD)) {
      BEARER_HERE.lastIndex = at + index;
      const found = at + index < copied ? null : BEARER_HERE.exec(text);
      if (!found) continue;
      hidden += `${text.slice(copied, found.index)}${found[1]} ***`;
      copied = BEARER_HERE.lastIndex;
    }
    at = Math.max(at + length, copied);
    yield;
  }
  return hidden + text.slice(copied);
}

/** The numeric escape of a printable ASCII character. In JSON inside a JSON string, further backslashes precede it. */
const SPELLED = /\\u00(2[013-9a-f]|[346][\da-f]|5[\dabd-f]|7[\da-e])/gi;

/** The number of characters in an escape. */
const SPELLED_LENGTH = 6;

/** The text with those escapes replaced by their characters. */
export function* spellOut(text: string, length = SLICE_LENGTH): Work<string> {
  const pieces: string[] = [];
  let copied = 0;
  for (let at = 0; at < text.length; at += length) {
    for (const { index, 1: code } of text.slice(at, at + length + SPELLED_LENGTH - 1).matchAll(SPELLED)) {
      const spelled = at + index;
      let begin = spelled;
      while (begin > copied && text[begin - 1] === "\\") {
        begin--;
        if ((spelled - begin) % length === 0) yield;
      }
      pieces.push(text.slice(copied, begin), String.fromCharCode(parseInt(code!, 16)));
      copied = spelled + SPELLED_LENGTH;
    }
    yield;
  }
  return pieces.join("") + text.slice(copied);
}
