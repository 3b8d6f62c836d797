import { runSliced, runUnsliced, type SlicedWork } from "../util/sliced_work.ts";

/** Deeper than any real document, but still safe to walk through and serialize. */
export const DEEPEST_JSON = 512;

/** Limits on what a JSON text may contain. A text that exceeds them is refused before it is parsed and takes memory. */
export interface JsonLimits {
  /** How deeply lists and objects may be nested. */
  depth: number;
  /** Objects, lists, strings, field names, `true`, `false` and `null`. */
  values: number;
  /** Numbers, which cost less. Vectors have millions of them. */
  numbers: number;
  /** Distinct field names, which cost several times as much as other values. */
  names: number;
}

/** Real sessions stay within these limits, however long they are. `deno task bench:json` measures the cost. */
export const JSON_LIMITS: JsonLimits = { depth: DEEPEST_JSON, values: 200_000, numbers: 300_000, names: 20_000 };

/** The length up to which no text exceeds the limits: every level takes two characters, and every value at least one. */
export function harmlessLength({ depth, values, numbers, names }: JsonLimits): number {
  return Math.min(2 * depth, values, numbers, names);
}

/**
 * The limit that a JSON text exceeds, if any. It scans the text once and builds no values. Invalid JSON is scanned as
 * well.
 */
export function excessOf(text: string, limits: JsonLimits): keyof JsonLimits | undefined {
  if (text.length <= harmlessLength(limits)) return undefined;
  return runUnsliced(excessIn(text, limits));
}

/** How many characters are scanned before others may run. */
const SLICE = 1_000_000;

/** `excessOf` in slices. */
export function* excessIn(text: string, limits: JsonLimits): SlicedWork<keyof JsonLimits | undefined> {
  return (yield* scan(text, limits)).excess;
}

/** The result of one scan of a JSON text. */
export interface Scan {
  /** The limit that it exceeds, if any. */
  excess?: keyof JsonLimits;
  /** Whether the text may contain numbers that a double would change. If not, `JSON.parse` reads all of them exactly. */
  hasLongNumbers: boolean;
}

/** Scans the text once, as `excessIn` does. */
export function* scan(text: string, limits: JsonLimits): SlicedWork<Scan> {
  if (text.length <= SHORT_TEXT) return scanShort(text, limits);
  const counts = newCounts();
  const excess = yield* excessInAll([text], limits, counts);
  return { excess, hasLongNumbers: counts.hasLongNumbers };
}

/** A text of this length is scanned in far less time than others may have to wait. */
export const SHORT_TEXT = 2 ** 16;

/** Scans a text of at most `SHORT_TEXT` characters at once, as `scan` does. */
export function scanShort(text: string, limits: JsonLimits): Scan {
  const counts: Counts = { values: 0, numbers: 0, names: 0, hasLongNumbers: false };
  const excess = countSlice(text, { at: 0, depth: 0, isInText: false }, limits, counts);
  if (excess || counts.names <= limits.names) return { excess, hasLongNumbers: counts.hasLongNumbers };
  const hasMore = runUnsliced(hasMoreNames([text], limits.names));
  return { excess: hasMore ? "names" : undefined, hasLongNumbers: counts.hasLongNumbers };
}

interface Counts {
  values: number;
  numbers: number;
  names: number;
  hasLongNumbers: boolean;
}

function newCounts(): Counts {
  return { values: 0, numbers: 0, names: 0, hasLongNumbers: false };
}

/** The limit that several texts exceed together, because many short texts cost as much as a long one. */
function* excessInAll(
  texts: readonly string[],
  limits: JsonLimits,
  counts: Counts,
): SlicedWork<keyof JsonLimits | undefined> {
  for (const text of texts) {
    const excess = yield* countIn(text, limits, counts);
    if (excess) return excess;
  }
  return counts.names > limits.names && (yield* hasMoreNames(texts, limits.names)) ? "names" : undefined;
}

/**
 * The limit that the arguments of calls exceed together, if any. Each is JSON inside a string, so the scan of the
 * surrounding JSON did not count it. Arguments that are nested too deeply are never parsed and stay text.
 */
export function excessInArguments(
  texts: readonly string[],
  limits: JsonLimits,
): keyof JsonLimits | undefined | Promise<keyof JsonLimits | undefined> {
  let length = 0;
  for (const text of texts) length += text.length;
  // Every value, and every name, takes at least one character.
  if (length <= Math.min(limits.values, limits.numbers, limits.names)) return undefined;
  return runSliced(excessInAll(texts, { ...limits, depth: Infinity }, newCounts()));
}

/** The shortest number with more than fifteen digits has this many characters. */
const LONG_NUMBER = 16;

/** The position of the scan within a text. */
interface Position {
  at: number;
  depth: number;
  isInText: boolean;
}

/** Adds the contents of the text to `counts`. */
function* countIn(
  text: string,
  limits: JsonLimits,
  counts: Counts,
): SlicedWork<"depth" | "values" | "numbers" | undefined> {
  const place: Position = { at: 0, depth: 0, isInText: false };
  while (place.at < text.length) {
    const excess = countSlice(text, place, limits, counts);
    if (excess) return excess;
    if (place.isInText) place.isInText = yield* isEscapedInSlices(text, place.at - 1);
    // Each of many texts is followed by a pause, like each slice of a long one.
    yield;
  }
}

/**
 * Counts the contents of one slice, starting at `place`. It is a plain function, because the engine optimizes its loop better
 * than a generator's.
 */
function countSlice(text: string, place: Position, limits: JsonLimits, counts: Counts) {
  let { at, depth, isInText } = place;
  let { values, numbers, names, hasLongNumbers } = counts;
  const stop = at + SLICE;
  for (; at < text.length && at < stop; at++) {
    switch (isInText ? TEXT : KIND[text.charCodeAt(at)]) {
      case OPENING:
        if (++depth > limits.depth) return "depth";
        values++;
        break;
      case CLOSING:
        depth--;
        break;
      case TEXT:
        if (!isInText) values++;
        at = endOfText(text, isInText ? at : at + 1, stop);
        // Whether a quote beyond the slice ends the string is determined in slices.
        isInText = at >= stop && at < text.length;
        break;
      case WORD:
        values++;
        break;
      case NUMBER: {
        if (++numbers > limits.numbers) return "numbers";
        const start = at;
        let kind = 0;
        // Reads past the end of the slice to detect a long number. One longer than a slice is counted again in each
        // slice.
        const end = Math.max(stop, start + LONG_NUMBER);
        while (at < end && IN_NUMBER[text.charCodeAt(at + 1)]) kind |= IN_NUMBER[text.charCodeAt(++at)]!;
        hasLongNumbers ||= kind >= EXPONENT || at - start >= LONG_NUMBER - 1;
        break;
      }
      case COLON:
        names++;
        break;
      case SPACE:
        at = endOfBlank(text, at, stop);
        break;
    }
    if (values > limits.values) return "values";
  }
  Object.assign(place, { at, depth, isInText });
  Object.assign(counts, { values, numbers, names, hasLongNumbers });
  return undefined;
}

/** The end of the string that continues at `from`, or the position of a quote inside it beyond the slice. */
function endOfText(text: string, from: number, stop: number): number {
  let at = text.indexOf('"', from);
  while (at >= 0 && at < stop && text.charCodeAt(at - 1) === BACKSLASH && isEscaped(text, at)) {
    at = text.indexOf('"', at + 1);
  }
  return at < 0 ? text.length : at;
}

/** The end of the white space that continues at `at`, or the end of the slice. */
function endOfBlank(text: string, at: number, stop: number): number {
  let end = at;
  while (end < stop && text.charCodeAt(end + 1) <= 0x20) end++;
  return end;
}

/** Kinds of characters. `t`, `f` and `n` each begin one word and do not occur elsewhere in it. */
const [OPENING, CLOSING, TEXT, WORD, NUMBER, COLON, SPACE] = [1, 2, 3, 4, 5, 6, 7];
const KIND = new Uint8Array(128);
for (
  const [kind, characters] of [
    [OPENING, "[{"],
    [CLOSING, "]}"],
    [TEXT, '"'],
    [WORD, "tfn"],
    [NUMBER, "-0123456789"],
    [COLON, ":"],
    [SPACE, " \t\r\n"],
  ] as const
) {
  for (const character of characters) KIND[character.charCodeAt(0)] = kind;
}

const IN_NUMBER = new Uint8Array(128);
for (const character of "0123456789.eE+-") IN_NUMBER[character.charCodeAt(0)] = 1;
const EXPONENT = 2;
for (const character of "eE") IN_NUMBER[character.charCodeAt(0)] = EXPONENT;

const NAME_END = /\s*:/y;

function* hasMoreNames(texts: readonly string[], most: number): SlicedWork<boolean> {
  const names = new Set<string>();
  for (const text of texts) {
    let stop = SLICE;
    for (let at = text.indexOf('"'); at >= 0; at = text.indexOf('"', at)) {
      const end = findStringEnd(text, at) + 1;
      NAME_END.lastIndex = end;
      if (NAME_END.test(text) && names.add(text.slice(at, end)).size > most) return true;
      at = end;
      if (at < stop) continue;
      yield;
      stop = at + SLICE;
    }
    yield;
  }
  return false;
}

/** The position of the closing quote of the string that begins at `start`: a quote after an even number of backslashes. */
export function findStringEnd(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end !== -1; end = text.indexOf('"', end + 1)) {
    if (!isEscaped(text, end)) return end;
  }
  return text.length;
}

function isEscaped(text: string, quote: number): boolean {
  return (quote - startOfRun(text, quote, 0)) % 2 === 1;
}

/** `isEscaped` in slices, because almost the whole text may be backslashes. */
function* isEscapedInSlices(text: string, quote: number): SlicedWork<boolean> {
  let before = quote;
  for (let stop = quote - SLICE; (before = startOfRun(text, before, stop)) === stop; stop -= SLICE) yield;
  return (quote - before) % 2 === 1;
}

/** The start of the run of backslashes before `at`. The search ends at `stop`. */
function startOfRun(text: string, at: number, stop: number): number {
  while (at > stop && text.charCodeAt(at - 1) === BACKSLASH) at--;
  return at;
}

const BACKSLASH = 0x5c;

/** Describes an exceeded limit, to follow a subject such as "the body". */
export function describeExcess(excess: keyof JsonLimits, limits: JsonLimits): string {
  const most = limits[excess];
  switch (excess) {
    case "depth":
      return `is nested deeper than ${most} levels`;
    case "values":
      return `contains more than ${most} JSON values`;
    case "numbers":
      return `contains more than ${most} numbers`;
    case "names":
      return `contains more than ${most} distinct field names`;
    default:
      return excess satisfies never;
  }
}
