/**
 * Parses JSON that is mostly long lists of numbers, such as vectors. At tens of megabytes, `JSON.parse` would block for
 * half a second. Each list is parsed separately, and others may run in between.
 */
import { isJsonObject, type JsonValue } from "./json.ts";
import { findStringEnd } from "./json_limits.ts";
import type { SlicedWork } from "../util/sliced_work.ts";

/** Shorter texts cost no noticeable time. In characters. */
const LONG = 500_000;
/** A list of numbers long enough to be parsed separately, or the start of a string, whose contents are skipped. */
const LIST_OR_TEXT = /"|\[[\d\s.,eE+-]{200,}\]/g;
const LIST = /\[[\d\s.,eE+-]{200,}\]/;
/** Marks a list's position, followed by its number. Texts that contain it are parsed as a whole. */
const MARK = "\ue000";

/** The same result as `parse(text)`. */
export function* parseLists(
  text: string,
  parse: (text: string) => JsonValue | undefined,
): SlicedWork<JsonValue | undefined> {
  if (text.length < LONG || !LIST.test(text) || text.includes(MARK) || /\\ue000/i.test(text)) return parse(text);
  const lists: JsonValue[] = [];
  const rest: string[] = [];
  let start = 0;
  LIST_OR_TEXT.lastIndex = 0;
  for (let at = 0; at < text.length;) {
    LIST_OR_TEXT.lastIndex = at;
    const found = LIST_OR_TEXT.exec(text);
    if (!found) break;
    const { index, 0: { length } } = found;
    if (length === 1) {
      at = findStringEnd(text, index) + 1;
      continue;
    }
    const list = parse(text.slice(index, index + length));
    // Invalid JSON is left to the parser.
    if (list === undefined) return parse(text);
    rest.push(text.slice(start, index), `"${MARK}${lists.length}"`);
    lists.push(list);
    at = start = index + length;
    yield;
  }
  if (lists.length === 0) return parse(text);
  const value = parse(rest.join("") + text.slice(start));
  return value === undefined ? undefined : withLists(value, lists);
}

/** The value, with each list restored at its position. */
function withLists(value: JsonValue, lists: readonly JsonValue[]): JsonValue {
  if (typeof value === "string") return value.startsWith(MARK) ? lists[Number(value.slice(1))]! : value;
  if (Array.isArray(value)) return value.map((item) => withLists(item, lists));
  if (!isJsonObject(value)) return value;
  for (const [key, item] of Object.entries(value)) value[key] = withLists(item!, lists);
  return value;
}
