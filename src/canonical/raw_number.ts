import { findStringEnd } from "./json_limits.ts";

/**
 * Numbers that a double cannot hold exactly are kept as their text: `9007199254740993`, `0.12345678901234567890`,
 * `1e400`. Every other number is a plain one. Its spelling may change, but not its value: `1.0` becomes `1`, and `-0`
 * becomes `0`.
 *
 * The platform keeps such a text as an object that `JSON.stringify` writes unchanged, and that nothing else
 * understands. `structuredClone` throws on it, and code that walks through data takes it for an object. So raw numbers
 * occur only in data that is passed through (`extra`, the input of a tool, a schema). Typed fields hold plain numbers,
 * and data leaves the process as JSON text.
 */

/** A number as its JSON text. */
export interface RawNumber {
  readonly rawJSON: string;
}

// TypeScript's library lacks these.
const { rawJSON, isRawJSON } = JSON as unknown as {
  rawJSON(text: string): RawNumber;
  isRawJSON(value: unknown): value is RawNumber;
};
const { parse } = JSON;

/** A number with more than fifteen digits or a three-digit exponent, from its first digit on. Most texts have none. */
const LONG = /(?<=(?:^|[:,[])\s*-?)\d(?:[\d.]{15}|[\d.]*[eE][-+]?\d{3})/g;
/** A complete number that is a value. */
const NUMBER_VALUE = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?(?=\s*(?:[,\]}]|$))/y;

/** Each long number is examined separately. No conversation has this many, but lists of vectors do. */
const MOST_LONG_NUMBERS = 30_000;

/**
 * The prefix of the text that replaces a number during parsing. It is random, so no input contains it. It is made at the first need,
 * because some runtimes have no random values while a program loads.
 */
let mark = "";

/**
 * `JSON.parse` that keeps the exact values of numbers. In a text with more than thirty thousand long numbers, they
 * become the nearest doubles. A reviver, which sees the text of each number, costs ten times as much.
 */
export function parseExactly(text: string): unknown {
  const numbers: string[] = [];
  const marked = markNumbers(text, numbers);
  if (marked === undefined) return parse(text);
  let value: unknown;
  try {
    value = parse(marked);
  } catch {
    return parse(text); // throws as well, with the position in the original text
  }
  return restore(value, numbers);
}

/** The text with marks in place of the numbers that a double would change. `undefined` if there are none, or too many. */
function markNumbers(text: string, numbers: string[]): string | undefined {
  const pieces: string[] = [];
  let [done, count] = [0, 0];
  let quote = nextQuote(text, 0);
  LONG.lastIndex = 0;
  for (let found = LONG.exec(text); found; found = LONG.exec(text)) {
    const start = text[found.index - 1] === "-" ? found.index - 1 : found.index;
    let outside = 0;
    while (quote < start) {
      outside = findStringEnd(text, quote) + 1;
      quote = nextQuote(text, outside);
    }
    if (outside > start) {
      LONG.lastIndex = outside;
      continue;
    }
    NUMBER_VALUE.lastIndex = start;
    const source = NUMBER_VALUE.exec(text)?.[0];
    LONG.lastIndex = source === undefined ? found.index + 1 : start + source.length;
    if (source === undefined) continue;
    if (++count > MOST_LONG_NUMBERS) return undefined;
    if (isExact(source, Number(source))) continue;
    mark ||= crypto.randomUUID().slice(0, 18);
    pieces.push(text.slice(done, start), `"${mark}${numbers.length}"`);
    numbers.push(source);
    done = start + source.length;
  }
  return numbers.length === 0 ? undefined : pieces.join("") + text.slice(done);
}

function nextQuote(text: string, from: number): number {
  const at = text.indexOf('"', from);
  return at < 0 ? Infinity : at;
}

/** The value with each mark replaced by its number. */
function restore(value: unknown, numbers: readonly string[]): unknown {
  if (typeof value === "string") {
    return value.startsWith(mark) ? rawJSON(numbers[Number(value.slice(mark.length))]!) : value;
  }
  if (typeof value !== "object" || value === null) return value;
  const container = value as Record<string, unknown>;
  for (const key in container) {
    const inner = container[key];
    if (typeof inner === "string" || typeof inner === "object") container[key] = restore(inner, numbers);
  }
  return value;
}

/** The platform's own, which costs no call of ours: every object of a wire is asked. */
export const isRawNumber: (value: unknown) => value is RawNumber = isRawJSON;

export function isNumber(value: unknown): value is number | RawNumber {
  return typeof value === "number" || isRawJSON(value);
}

/** The nearest double. */
export function toDouble(value: number | RawNumber): number {
  return typeof value === "number" ? value : Number(value.rawJSON);
}

/** A text that is the same for all equal numbers. */
export function canonicalText(value: number | RawNumber): string {
  const { negative, digits, exponent } = decimalOf(value);
  return `${negative ? "-" : ""}${digits}e${exponent}`;
}

/** Negative if the first is less, positive if it is greater, and 0 if they are equal. */
export function compareNumbers(one: number | RawNumber, other: number | RawNumber): number {
  if (typeof one === "number" && typeof other === "number") return one - other;
  const [a, b] = [decimalOf(one), decimalOf(other)];
  if (signOf(a) !== signOf(b)) return signOf(a) - signOf(b);
  return signOf(a) * compareMagnitudes(a, b);
}

export function isInteger(value: number | RawNumber): boolean {
  return typeof value === "number" ? Number.isInteger(value) : decimalOf(value).exponent >= 0;
}

/** Longer integers would be too costly, and no real request needs them. */
const LONGEST_INTEGER = 1_000;

/** Whether the first is a multiple of the second, which must be positive. */
export function isMultiple(value: number | RawNumber, of: number | RawNumber): boolean {
  const [a, b] = [decimalOf(value), decimalOf(of)];
  const least = Math.min(a.exponent, b.exponent);
  const longest = Math.max(...[a, b].map(({ digits, exponent }) => digits.length + exponent - least));
  if (!(longest <= LONGEST_INTEGER)) return true;
  const scaled = ({ digits, exponent }: Decimal) => BigInt(digits + "0".repeat(exponent - least));
  return scaled(a) % scaled(b) === 0n;
}

/** `digits` × 10 ^ `exponent`. The digits have no leading or trailing zeros, except for zero itself. */
interface Decimal {
  negative: boolean;
  digits: string;
  exponent: number;
}

const NUMBER = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([-+]?\d+))?$/;

function decimalOf(value: number | RawNumber): Decimal {
  return readDecimal(typeof value === "number" ? String(value) : value.rawJSON);
}

function readDecimal(text: string): Decimal {
  const [, sign, whole = "0", fraction = "", exponent = "0"] = NUMBER.exec(text) ?? [];
  const all = (whole + fraction).replace(/^0+/, "");
  // A loop, because a pattern for trailing zeros takes quadratic time.
  let end = all.length;
  while (all[end - 1] === "0") end--;
  if (end === 0) return { negative: false, digits: "0", exponent: 0 };
  const scale = Number(exponent) - fraction.length + all.length - end;
  return { negative: sign === "-", digits: all.slice(0, end), exponent: scale };
}

function signOf({ negative, digits }: Decimal): number {
  return negative ? -1 : digits === "0" ? 0 : 1;
}

function compareMagnitudes(a: Decimal, b: Decimal): number {
  const places = a.digits.length + a.exponent - b.digits.length - b.exponent;
  if (places !== 0) return places;
  return a.digits < b.digits ? -1 : a.digits > b.digits ? 1 : 0;
}

const SHORT_INTEGER = /^-?[1-9]\d{0,20}$/;

/** Whether the double has exactly the value of its source text. */
function isExact(source: string, value: number): boolean {
  if (source.length <= 15 && !/e/i.test(source)) return true;
  const text = String(value);
  if (text === source) return true;
  // A double writes an integer of this many digits in full, so the texts would be equal.
  if (!Number.isFinite(value) || SHORT_INTEGER.test(source)) return false;
  const [read, kept] = [readDecimal(source), readDecimal(text)];
  return read.negative === kept.negative && read.digits === kept.digits && read.exponent === kept.exponent;
}
