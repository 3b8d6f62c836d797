/** Whether a stream repeats an item that is done. */
import { isJsonObject, type JsonObject, type JsonValue } from "../../src/canonical/json.ts";
import { isRawNumber } from "../../src/canonical/raw_number.ts";
import type { OutputItem } from "./wire.ts";

/** Some servers open a finished item once more (transformers, the message before a call). A status may have changed. */
export function isSameItem(item: OutputItem, other: OutputItem): boolean {
  const { status: _, ...one } = item;
  const { status: __, ...two } = other;
  return isSame(one as JsonObject, two as JsonObject);
}

/** Stops at the first difference: a small item costs little beside a large one. */
function isSame(one: JsonValue | undefined, other: JsonValue | undefined): boolean {
  if (Array.isArray(one)) {
    return Array.isArray(other) && one.length === other.length && one.every((item, at) => isSame(item, other[at]));
  }
  if (isRawNumber(one) && isRawNumber(other)) return one.rawJSON === other.rawJSON;
  if (!isJsonObject(one) || !isJsonObject(other)) return one === other;
  const keys = Object.keys(one);
  return keys.length === Object.keys(other).length &&
    keys.every((key) => Object.hasOwn(other, key) && isSame(one[key], other[key]));
}
