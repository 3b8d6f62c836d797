/** What is different between two values of JSON, in a few lines for a person to read. */
import type { JsonValue } from "../canonical/json.ts";
import { isObject } from "../util/merge.ts";

/** At one place. What was not there before has no `before`, and what is there no more has no `after`. */
export interface Difference {
  /** `messages[3].content[0].text`. */
  path: string;
  before?: JsonValue;
  after?: JsonValue;
}

/** More are not listed. */
const MOST = 20;
/** Longer values are cut, in characters. */
const LONGEST = 200;

/** The places where `after` is not what `before` is; of lists, what is between the beginning and the end that they share. */
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
  // As many in their place are the same ones, changed; else some came or went.
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
