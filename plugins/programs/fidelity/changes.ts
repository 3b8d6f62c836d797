import { isJsonObject, type JsonObject, type JsonValue } from "../../../src/canonical/json.ts";

/** One place in which two JSON values differ. */
export interface Change {
  /** Places in lists are `[]`: `messages[].content[]`. */
  path: string;
  /** Absent where something was added. */
  before?: JsonValue;
  /** Absent where something was taken away. */
  after?: JsonValue;
}

/** What of `after` is not in `before`, and the other way round. */
export function changesIn(before: JsonValue, after: JsonValue, path = ""): Change[] {
  if (isEqual(before, after)) return [];
  if (typeof before === "string" && Array.isArray(after)) return changesInList(asParts(before, after), after, path);
  if (typeof after === "string" && Array.isArray(before)) return changesInList(before, asParts(after, before), path);
  if (Array.isArray(before) && Array.isArray(after)) return changesInList(before, after, path);
  if (!isJsonObject(before) || !isJsonObject(after)) return [{ path, before, after }];
  const keys = new Set([...Object.keys(before), ...Object.keys(after)]);
  return [...keys].flatMap((key) => {
    const inner = path === "" ? key : `${path}.${key}`;
    const [was, is] = [before[key], after[key]];
    if (was === undefined) return is === undefined ? [] : [{ path: inner, after: is }];
    return is === undefined ? [{ path: inner, before: was }] : changesIn(was, is, inner);
  });
}

/** On every wire a text is short for a list with one part. */
function asParts(text: string, parts: readonly JsonValue[]): JsonObject[] {
  const same = parts.filter(isJsonObject).find((part) => part.text === text);
  return [{ type: same?.type ?? "text", text }];
}

/** Lists are compared from both ends: what was put in or taken out stands in between. */
function changesInList(before: readonly JsonValue[], after: readonly JsonValue[], path: string): Change[] {
  const shorter = Math.min(before.length, after.length);
  let start = 0;
  while (start < shorter && isEqual(before[start], after[start])) start++;
  let end = 0;
  while (end < shorter - start && isEqual(before.at(-1 - end), after.at(-1 - end))) end++;
  const was = before.slice(start, before.length - end);
  const is = after.slice(start, after.length - end);
  const inner = `${path}[]`;
  return Array.from({ length: Math.max(was.length, is.length) }).flatMap((_, index) => {
    if (index >= was.length) return [{ path: inner, after: is[index]! }];
    if (index >= is.length) return [{ path: inner, before: was[index]! }];
    return changesIn(was[index]!, is[index]!, inner);
  });
}

function isEqual(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}
