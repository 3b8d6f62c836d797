/** Replaces all secrets and personal data of a request by placeholders. */
import type { SlicedWork } from "../../src/util/sliced_work.ts";
import { NOTHING_READ, WordFinder } from "../../src/util/word_finder.ts";
import { assignedSecrets, wholeSecret } from "./assigned.ts";
import { fold, type Folded } from "./fold.ts";
import { type Literal, literalsOf } from "./json_text.ts";
import { refuseUnreadable } from "./media.ts";
import type { Medium, PersonalKind, RedactOptions } from "./options.ts";
import { personalData } from "./personal.ts";
import type { Kind, Placeholders } from "./placeholder.ts";
import { type Detector, isWordAt, lookalikes, type Match, merged, scan } from "./scan.ts";
import { looksSecret, secretForms } from "./secrets.ts";
import { type Place, Walk } from "./walk.ts";

/** The kinds of text that the configuration names. */
export interface Recognition {
  detectors: readonly Detector[];
  hasSecrets: boolean;
  /** The kinds of content that may pass unread. */
  unreadable: readonly Medium[];
}

export function recognitionOf(options: RedactOptions): Recognition {
  const kinds = (Object.keys(personalData) as PersonalKind[]).filter((kind) => options[kind]);
  const detectors = [
    lookalikes,
    ...options.secrets ? [...secretForms, ...assignedSecrets] : [],
    ...kinds.map((kind) => personalData[kind]),
  ];
  return { detectors, hasSecrets: options.secrets, unreadable: options.unreadable };
}

/** Words by their text, with the kind that each is. */
type Words = Map<string, Kind>;

/**
 * The value with placeholders. Each text is searched once, and once more for secrets that other texts have shown to be ones.
 * `within`: others whose secrets are also ones here.
 */
export function* redactValue(
  value: unknown,
  recognition: Recognition,
  placeholders: Placeholders,
  within?: unknown,
): SlicedWork<unknown> {
  const words: Words = new Map();
  const found: Match[][] = [];
  const unreadable = (medium: Medium) => refuseUnreadable(medium, recognition.unreadable);
  if (within !== undefined && recognition.hasSecrets) yield* search(within, recognition, words, () => {}, () => {});
  let hasFound = words.size > 0;
  yield* search(value, recognition, words, unreadable, (matches) => {
    if (matches.length > 0) hasFound = true;
    found.push(matches);
  });
  if (!hasFound) return value;
  const finder = words.size === 0 ? undefined : yield* finderOf(words);
  let next = 0;
  return yield* new Walk({
    unreadable,
    text: inJson(function* (text, { isKeyword }) {
      const matches = found[next++]!;
      const more = finder && !isKeyword ? yield* wordsIn(text, finder, words) : [];
      if (matches.length + more.length === 0) return text;
      return replaced(text, more.length === 0 ? matches : merged([...matches, ...more]), placeholders);
    }),
  }).value(value);
}

/** Finds what each text shows. Secrets among it are added to `words`. */
function* search(
  value: unknown,
  recognition: Recognition,
  words: Words,
  unreadable: (medium: Medium) => void,
  onText: (matches: Match[]) => void,
): SlicedWork<void> {
  yield* new Walk({
    unreadable,
    text: inJson(function* (text, { name }) {
      onText(yield* matchesIn(text, name, recognition, words));
      return text;
    }),
  }).value(value);
}

const NO_MATCHES: Match[] = [];
/** A text that is too short to hold anything. */
const WORD = /^[\p{L}_ -]{0,16}$/u;

/** The matches in one text. Those that are secrets anywhere are added to `words`. */
function* matchesIn(
  text: string,
  name: string | undefined,
  { detectors, hasSecrets }: Recognition,
  words: Words,
): SlicedWork<Match[]> {
  const whole = hasSecrets ? wholeSecret(name, text) : undefined;
  if (whole === undefined && WORD.test(text)) return NO_MATCHES;
  const folded = yield* fold(text);
  const matches = yield* scan(folded.text, detectors);
  yield;
  const all = whole ? [{ ...whole, end: folded.text.length }] : matches;
  for (const { start, end, kind, spreads } of all) {
    if (spreads) addWord(words, folded.text.slice(start, end), kind);
  }
  // A field that is a secret as a whole may hold others, which may stand elsewhere.
  if (whole) {
    for (const { start, end, kind, spreads } of matches) {
      if (spreads) addWord(words, folded.text.slice(start, end), kind);
    }
  }
  return inOriginal(all, folded);
}

/** The longest secret that is searched for in other texts, and the most characters of all of them. */
const [MOST_SPREAD, MOST_WORDS] = [4_096, 2_000_000];

function addWord(words: Words, text: string, kind: Kind): void {
  if (text.length <= MOST_SPREAD) words.set(text, kind);
}

function* finderOf(words: Words): SlicedWork<WordFinder> {
  for (const [word, kind] of [...words]) {
    const inUrl = encodeURIComponent(word.toWellFormed());
    const inJson = JSON.stringify(word).slice(1, -1);
    if (inUrl !== word) words.set(inUrl, kind);
    if (inJson !== word) words.set(inJson, kind);
    yield;
  }
  let letters = 0;
  const kept = [...words.keys()].filter(({ length }) => (letters += length) <= MOST_WORDS);
  return yield* WordFinder.of(kept);
}

const SLICE = 262_144;

/** The places of words that are secrets. */
function* wordsIn(text: string, finder: WordFinder, words: Words): SlicedWork<Match[]> {
  const folded = yield* fold(text);
  const places: number[] = [];
  let state = NOTHING_READ;
  for (let at = 0; at < folded.text.length; at += SLICE) {
    state = finder.find(folded.text, at, Math.min(folded.text.length, at + SLICE), state, places);
    yield;
  }
  const matches: Match[] = [];
  for (let at = 0; at < places.length; at += 2) {
    const [start, end] = [places[at]!, places[at + 1]!];
    const isInWord = isWordAt(folded.text, start - 1) || isWordAt(folded.text, end);
    if (isInWord && !looksSecret(folded.text.slice(start, end))) continue;
    matches.push({ start, end, kind: words.get(folded.text.slice(start, end)) ?? "secret", spreads: false });
  }
  return inOriginal(matches, folded);
}

function inOriginal(matches: Match[], { places }: Folded): Match[] {
  if (!places) return matches;
  return matches.map((match) => ({ ...match, start: places[match.start]!, end: places[match.end]! }));
}

function replaced(text: string, matches: readonly Match[], placeholders: Placeholders): string {
  let written = "";
  let copied = 0;
  for (const { start, end, kind } of matches) {
    written += text.slice(copied, start) + placeholders.of(kind, text.slice(start, end));
    copied = end;
  }
  return written + text.slice(copied);
}

/** How deeply JSON inside JSON inside a text is read. */
const DEEPEST = 8;
const LONG_NUMBER = /(?<![\d.+\-eE])\d{13,19}(?![\d.eE])/g;

type OfText = (text: string, place: Place) => SlicedWork<string>;

/** Applies `change` to each string of a JSON text, and to the text itself if it is none. */
function inJson(change: OfText, depth = 0): OfText {
  return function* (text, place) {
    const literals = depth < DEEPEST ? yield* literalsOf(text) : undefined;
    if (!literals) return yield* change(text, place);
    const inner = inJson(change, depth + 1);
    let written = "";
    let copied = 0;
    for (const literal of literals) {
      written += yield* between(text.slice(copied, literal.start), change);
      written += yield* literalWith(literal, text, inner);
      copied = literal.end;
    }
    const whole = written + (yield* between(text.slice(copied), change));
    return whole === text ? text : whole;
  };
}

function* literalWith({ start, end, value, name }: Literal, text: string, change: OfText): SlicedWork<string> {
  const changed = yield* change(value, { ...(name !== undefined && { name }) });
  return changed === value ? text.slice(start, end) : JSON.stringify(changed);
}

/** Numbers that are replaced become strings. */
function* between(text: string, change: OfText): SlicedWork<string> {
  if (text.length < 13) return text;
  let written = "";
  let copied = 0;
  for (const { index, 0: digits } of text.matchAll(LONG_NUMBER)) {
    const changed = yield* change(digits, {});
    if (changed === digits) continue;
    written += text.slice(copied, index) + JSON.stringify(changed);
    copied = index + digits.length;
  }
  return written + text.slice(copied);
}
