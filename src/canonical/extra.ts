import { isJsonObject, type JsonObject, setField } from "./json.ts";

/** What one wire carries and the canonical form does not model: read back only by the same wire. */
export interface Extra {
  readonly wire: string;
  readonly fields: JsonObject;
  /** Fields that other wires may leave behind without a word: nothing that the client asked for is lost with them. */
  readonly hints?: JsonObject;
}

/** The names of fields that are read apart. */
type Known = ReadonlySet<string> | readonly string[];

/**
 * The fields of `source` whose keys are not among `known`, kept for the same wire; nothing where there are none. A field that
 * is null counts as absent, as it does on every wire.
 */
export function extraOf(wire: string, source: object, known: Known): Extra | undefined {
  let fields: JsonObject | undefined;
  // No list of all entries: objects of a thousand unknown fields would cost several times as much.
  for (const key in source) {
    if (known instanceof Set ? known.has(key) : (known as readonly string[]).includes(key)) continue;
    const value = (source as JsonObject)[key];
    if (value !== undefined && value !== null) setField(fields ??= {}, key, value);
  }
  return fields && { wire, fields };
}

/** `extraOf` as a field to spread into a part or a message; none where there is nothing. */
export function extraField(wire: string, source: object, known: Known): { extra?: Extra } {
  const extra = extraOf(wire, source, known);
  return extra ? { extra } : {};
}

/** What `wire` left in an `extra`. Another wire's is not for it: `note` hears of every field that is left behind. */
export function fieldsFor(wire: string, extra: Extra | undefined, note?: (text: string) => void): JsonObject {
  if (!extra || extra.wire === wire) return { ...extra?.fields, ...extra?.hints };
  for (const key of Object.keys(extra.fields)) note?.(`dropped ${key}`);
  return {};
}

/** Unknown fields inside a field that is known itself, named by their path: `image_url.detail`. They are added to `fields`. */
export function inside(key: string, extra: Extra | undefined, fields: JsonObject = {}): JsonObject {
  for (const name in extra?.fields) fields[`${key}.${name}`] = extra.fields[name];
  return fields;
}

/**
 * A field that is known itself and has nothing in it, as a hint for the same wire. Servers take it as they take its absence.
 */
export function emptyField(key: string, value: unknown): JsonObject {
  return isJsonObject(value) && Object.keys(value).length === 0 ? { [key]: {} } : {};
}

/** Undoes `inside`: the fields that belong into the field `key`, and those that belong beside it. */
export function splitInside(key: string, fields: JsonObject): { inner: JsonObject; outer: JsonObject } {
  const inner: JsonObject = {};
  const outer: JsonObject = {};
  for (const [name, value] of Object.entries(fields)) {
    if (name.startsWith(`${key}.`)) inner[name.slice(key.length + 1)] = value;
    else outer[name] = value;
  }
  return { inner, outer };
}

/** Both of them, where they are of one wire; the later one wins where it is not. */
export function mergeExtras(first: Extra | undefined, second: Extra | undefined): Extra | undefined {
  if (!first || !second || first.wire !== second.wire) return second ?? first;
  const hints = { ...first.hints, ...second.hints };
  return {
    wire: first.wire,
    fields: { ...first.fields, ...second.fields },
    ...(Object.keys(hints).length > 0 && { hints }),
  };
}

/** Notes a field that another name of it outweighs, where both are there and say different things. */
export function noteOutweighed(field: string, value: unknown, weightier: unknown, note: (text: string) => void): void {
  const isThere = (one: unknown) => one !== undefined && one !== null;
  if (!isThere(value) || !isThere(weightier)) return;
  if (JSON.stringify(value) !== JSON.stringify(weightier)) note(`dropped ${field}`);
}

/**
 * The fields that each place of a request may have, where what it says is read field by field and nothing else of it goes on.
 * A place is a path; `tools[]` is every element of a list, and `[custom]` picks what is of this type or role.
 */
export type ClosedPlaces = Readonly<Record<string, readonly string[]>>;

/** `note` hears of every field that a closed place of the request has beyond the known ones. */
export function noteUnknown(body: unknown, places: ClosedPlaces, note: (text: string) => void): void {
  for (const [path, known] of Object.entries(places)) {
    for (const place of placesAt([body], path.split("."))) {
      for (const [key, value] of Object.entries(place)) {
        if (!known.includes(key) && value !== null) note(`dropped ${path.replaceAll(/\[\w*\]/g, "")}.${key}`);
      }
    }
  }
}

const STEP = /^(\w+)(?:\[(\w*)\])?$/;

function placesAt(values: readonly unknown[], [step, ...rest]: readonly string[]): JsonObject[] {
  const objects = values.filter(isJsonObject);
  if (step === undefined) return objects;
  const [, key = "", kind = ""] = STEP.exec(step) ?? [];
  const found: unknown[] = [];
  for (const object of objects) {
    const inner = object[key];
    for (const value of Array.isArray(inner) ? inner : [inner]) {
      if (kind === "" || (isJsonObject(value) && (value.type === kind || value.role === kind))) found.push(value);
    }
  }
  return placesAt(found, rest);
}
