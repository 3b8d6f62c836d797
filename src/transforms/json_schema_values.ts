/** Access to values and schemas during validation. Each access is counted, because both are untrusted. */
import { isJsonObject, type JsonObject, type JsonValue } from "../canonical/json.ts";
import {
  canonicalText,
  compareNumbers,
  isInteger,
  isNumber,
  isRawNumber,
  type RawNumber,
} from "../canonical/raw_number.ts";

/** The remaining budget for validating one answer, however many values it has. What exceeds it is skipped. */
export interface Budget {
  /** Schemas can be recursive, and alternatives multiply. */
  steps: number;
  /** Items looked at within a step: names, array items and characters that each of many values is compared with. */
  looks: number;
}

/** A few tenths of a second at most. */
export function newBudget(): Budget {
  return { steps: 100_000, looks: 3_000_000 };
}

/** The budget that the work is counted against. */
export interface Budgeted {
  readonly budget: Budget;
}

export function look(times: number, { budget }: Budgeted): void {
  budget.looks -= times;
}

/** The cost of looking at a value without its contents. A short text costs 1. */
export function sizeOf(value: JsonValue): number {
  if (typeof value === "string") return lookAt(value);
  if (typeof value !== "object" || value === null) return 1;
  return 1 + (Array.isArray(value) ? value.length : Object.keys(value).length);
}

/** Characters are faster to look at than items. */
export function lookAt({ length }: string): number {
  return 1 + length / 8;
}

/** The cost of looking at a number. */
export function digitsOf(value: number | RawNumber): number {
  return typeof value === "number" ? 0 : lookAt(value.rawJSON);
}

/** Resolves a JSON pointer within the same schema. */
export function resolve(reference: string, root: JsonObject): JsonValue | undefined {
  if (reference !== "#" && !reference.startsWith("#/")) return undefined;
  let target: JsonValue | undefined = root;
  for (const step of reference.split("/").slice(1)) {
    const name = decode(step).replaceAll("~1", "/").replaceAll("~0", "~");
    if (target === undefined) break;
    if (Array.isArray(target)) target = target[Number(name)];
    else target = isJsonObject(target) && Object.hasOwn(target, name) ? target[name] : undefined;
  }
  return target;
}

function decode(step: string): string {
  try {
    return decodeURIComponent(step);
  } catch {
    return step;
  }
}

/** An unknown type is not a constraint. */
export function isOfType(value: JsonValue, type: string): boolean {
  switch (type) {
    case "string":
      return typeof value === "string";
    case "number":
      return isNumber(value);
    case "integer":
      return isNumber(value) && isInteger(value);
    case "boolean":
      return typeof value === "boolean";
    case "null":
      return value === null;
    case "array":
      return Array.isArray(value);
    case "object":
      return isJsonObject(value);
    default:
      return true;
  }
}

export function isSame(one: JsonValue | undefined, other: JsonValue | undefined, run: Budgeted): boolean {
  look(typeof one === "string" ? lookAt(one) : 1, run);
  if (one === other) return true;
  if (Array.isArray(one) && Array.isArray(other)) {
    return one.length === other.length && one.every((item, index) => isSame(item, other[index], run));
  }
  if (isJsonObject(one) && isJsonObject(other)) {
    const keys = Object.keys(one);
    return keys.length === Object.keys(other).length &&
      keys.every((key) => Object.hasOwn(other, key) && isSame(one[key], other[key], run));
  }
  if (isNumber(one) && isNumber(other)) {
    look(digitsOf(one) + digitsOf(other), run);
    return compareNumbers(one, other) === 0;
  }
  return false;
}

/** Counts characters, not UTF-16 units. */
export function lengthOf(value: JsonValue): number | false {
  return typeof value === "string" && [...value].length;
}

export function listOf(value: JsonValue | undefined): JsonValue[] {
  return Array.isArray(value) ? value : value === undefined ? [] : [value];
}

const LONGEST_VALUE = 200;

export function shorten(value: JsonValue, run: Budgeted): string {
  return shortenText(jsonWithin(value, run));
}

/** Equal numbers have the same text. A raw number never equals a plain one. */
export function spell(value: JsonValue, run: Budgeted): string {
  if (!isRawNumber(value)) return jsonWithin(value, run);
  look(digitsOf(value), run);
  return canonicalText(value);
}

function jsonWithin(value: JsonValue, run: Budgeted): string {
  const text = JSON.stringify(value);
  look(lookAt(text), run);
  return text;
}

export function shortenText(text: string): string {
  return text.length > LONGEST_VALUE ? `${text.slice(0, LONGEST_VALUE)}…` : text;
}
