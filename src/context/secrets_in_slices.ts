/** Hides secrets in long texts slice by slice, with exactly the same result as in one pass. */
import { GatewayError } from "../errors.ts";
import { NOTHING_READ, WordFinder } from "../util/word_finder.ts";
import type { SlicedWork } from "../util/sliced_work.ts";
import { BEARER, endOf, maskPlaces } from "./secrets.ts";

/** The number of characters in a slice. */
const SLICE_LENGTH = 262_144;
/**
 * The most characters of secrets that one request may bring, in all spellings. Each character takes 30 bytes during the
 * search.
 */
const MOST_CHARACTERS = 2_000_000;

const BEARER_WORD = /Bearer\s/gi;
const BEARER_HERE = new RegExp(BEARER.source, "iy");

/** The finder of the secrets that a request brings. Throws `request_too_large` if they are too many to hide all of them. */
export function* finderFor(spellings: Iterable<string>): SlicedWork<WordFinder> {
  const words = new Set<string>();
  let characters = 0;
  for (const spelling of spellings) {
    if (!words.has(spelling)) characters += spelling.length;
    words.add(spelling);
    if (characters > MOST_CHARACTERS) {
      const message =
        `The request brings more than ${MOST_CHARACTERS} characters of credentials, too many to hide them all`;
      throw new GatewayError("request_too_large", message);
    }
    yield;
  }
  return yield* WordFinder.of([...words]);
}

/** The text without the words of the finders and without bearer tokens. */
export function* hideInSlices(text: string, finders: readonly WordFinder[], length = SLICE_LENGTH): SlicedWork<string> {
  let hidden = text;
  for (const finder of finders) hidden = yield* hideFound(hidden, finder, length);
  return yield* replaceBearers(hidden, length);
}

/** The text without the words of the finder. */
export function* hideFound(text: string, finder: WordFinder, length = SLICE_LENGTH): SlicedWork<string> {
  const end = endOf(text);
  const places: number[] = [];
  let state = NOTHING_READ;
  for (let at = 0; at < end; at += length) {
    state = finder.find(text, at, Math.min(at + length, end), state, places);
    yield;
  }
  return maskPlaces(text, places, finder.lengthOf(state));
}

/** Slices are searched only for the word. Its token may be of any length. */
function* replaceBearers(text: string, length: number): SlicedWork<string> {
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
export function* spellOut(text: string, length = SLICE_LENGTH): SlicedWork<string> {
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
