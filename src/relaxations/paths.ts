/** The fields of a body by their paths, with lists of fields taken together: `messages[].content[].text`. */
import { isJsonObject, type JsonObject, type JsonValue } from "../canonical/json.ts";
import type { BodyLayout } from "../contract/body_layout.ts";

/** How many values of a body are looked at. A longer conversation repeats the fields of its first turns. */
const MOST_VALUES = 20_000;
/** Fields with other names are the client's own. */
const FIELD = /^[a-zA-Z_$][\w$-]{0,63}$/;

/** Calls `see` with each field of a body, but not with those inside of schemas and of fields whose names are the client's. */
export function eachField(
  body: JsonObject,
  { free, schemas }: BodyLayout,
  see: (path: string, name: string, value: JsonValue) => void,
): void {
  let left = MOST_VALUES;
  const visit = (value: JsonValue, path: string): void => {
    if (left-- <= 0) return;
    if (Array.isArray(value)) {
      for (const item of value) visit(item, `${path}[]`);
      return;
    }
    if (!isJsonObject(value) || free.has(path) || schemas.has(path)) return;
    for (const name of Object.keys(value)) {
      const inner = value[name];
      if (inner === undefined || !FIELD.test(name)) continue;
      const at = path === "" ? name : `${path}.${name}`;
      see(at, name, inner);
      visit(inner, at);
    }
  };
  visit(body, "");
}

/**
 * The value with what `change` makes of the value at each place of the path; `undefined` leaves it out. Returns the same
 * value if nothing changes.
 */
export function changeAt(
  value: JsonValue,
  path: string,
  change: (value: JsonValue) => JsonValue | undefined,
): JsonValue {
  return changed(value, path.split(/\.|(?=\[\])/), change) ?? value;
}

function changed(
  value: JsonValue,
  [step, ...rest]: readonly string[],
  change: (value: JsonValue) => JsonValue | undefined,
): JsonValue | undefined {
  if (step === undefined) return change(value);
  if (step === "[]") {
    if (!Array.isArray(value)) return value;
    const items = value.map((item) => changed(item, rest, change)).filter((item) => item !== undefined);
    return items.length === value.length && items.every((item, at) => item === value[at]) ? value : items;
  }
  if (!isJsonObject(value) || !Object.hasOwn(value, step) || value[step] === undefined) return value;
  const inner = changed(value[step]!, rest, change);
  if (inner === value[step]) return value;
  if (inner !== undefined) return { ...value, [step]: inner };
  const { [step]: _, ...others } = value;
  return others;
}
