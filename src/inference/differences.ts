/** The differences between two JSON values, in a few lines for a person to read. */
import type { JsonValue } from "../canonical/json.ts";
import { isObject } from "../util/config_text.ts";

/** The difference at one path. An added value has no `before`, and a removed one has no `after`. */
export interface Difference {
  /** `messages[3].content[0].text`. */
  path: string;
  before?: JsonValue;
  after?: JsonValue;
}

/** The most differences that are listed. */
const MOST = 20;
/** The length in characters at which values are cut off. */
const LONGEST = 200;

/**
 * The paths at which `after` differs from `before`. In lists, only the part between their common beginning and end is
 * compared.
 */
export function differences(before: unknown, after: unknown): Difference[] {
  const found: Difference[] = [];
  compare(before, after, "", found);
  return found;
}

function compare(before: unknown, after: unknown, path: string, found: Difference[]): void {
  if (found.length >= MOST || isSame(before, after)) return;
  if (Array.isArray(before) && Array.isArray(after)) compareLists(before, after, path, found);
  else if (isObject(before) && isObject(after)) {
    for (const key of new Set([...Object.keys(before), ...Object.keys(after)])) {
      compare(before[key], after[key], path === "" ? key : `${path}.${key}`, found);
    }
  } else {
    found.push({
      path,
      ...(before !== undefined && { before: excerpt(before) }),
      ...(after !== undefined && { after: excerpt(after) }),
    });
  }
}

function compareLists(before: readonly unknown[], after: readonly unknown[], path: string, found: Difference[]): void {
  const shorter = Math.min(before.length, after.length);
  let start = 0;
  while (start < shorter && isSame(before[start], after[start])) start++;
  let end = 0;
  while (end < shorter - start && isSame(before.at(-1 - end), after.at(-1 - end))) end++;
  // Lists of equal length are taken to have changed items. Otherwise items were added or removed.
  const paired = before.length === after.length ? before.length - end : start;
  for (let at = start; at < paired; at++) compare(before[at], after[at], `${path}[${at}]`, found);
  for (let at = paired; at < before.length - end; at++) compare(before[at], undefined, `${path}[${at}]`, found);
  for (let at = paired; at < after.length - end; at++) compare(undefined, after[at], `${path}[${at}]`, found);
}

function isSame(one: unknown, other: unknown): boolean {
  return one === other || JSON.stringify(one) === JSON.stringify(other);
}

function excerpt(value: unknown): JsonValue {
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return text.length <= LONGEST ? value as JsonValue : `${text.slice(0, LONGEST)}…`;
}
