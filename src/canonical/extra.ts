import { addFields, isJsonObject, type JsonObject, type JsonValue, setField } from "./json.ts";

/** The fields of one wire that the canonical form does not model. Only the same wire reads them back. */
export interface Extra {
  readonly wire: string;
  readonly fields: JsonObject;
  /** Fields that other wires may drop without a note, because the client loses nothing that it requested. */
  readonly hints?: JsonObject;
}

/** The names of the fields that are read separately. */
type Known = ReadonlySet<string> | readonly string[];

/**
 * The fields of `source` that are not among `known`, kept for the same wire. `undefined` if there are none. Null counts
 * as absent, as on every wire.
 */
export function extraOf(wire: string, source: object, known: Known): Extra | undefined {
  let fields: JsonObject | undefined;
  // Iterates without `Object.entries`, which is several times slower for objects with a thousand unknown fields.
  for (const key in source) {
    if (known instanceof Set ? known.has(key) : (known as readonly string[]).includes(key)) continue;
    const value = (source as JsonObject)[key];
    if (value !== undefined && value !== null) setField(fields ??= {}, key, value);
  }
  return fields && { wire, fields };
}

/** Whether `extraOf` would find a field. Most objects have none, and need no other look then. */
export function hasOther(source: object, known: ReadonlySet<string>): boolean {
  for (const key in source) {
    if (known.has(key)) continue;
    const value = (source as JsonObject)[key];
    if (value !== undefined && value !== null) return true;
  }
  return false;
}

/** Adds the unknown fields to those collected before, such as from each chunk of a stream. */
export function addUnknown(source: object, known: ReadonlySet<string>, fields: JsonObject): void {
  for (const key in source) {
    if (known.has(key)) continue;
    const value = (source as JsonObject)[key];
    if (value !== undefined && value !== null) setField(fields, key, value);
  }
}

/** The part or message itself, with the unknown fields of its source as its `extra`. */
export function carrying<T extends { extra?: Extra }>(part: T, wire: string, source: object, known: Known): T {
  const extra = extraOf(wire, source, known);
  if (extra) part.extra = extra;
  return part;
}

/** The result of `extraOf` as a field to spread into a part or message. Empty if there is none. */
export function extraField(wire: string, source: object, known: Known): { extra?: Extra } {
  const extra = extraOf(wire, source, known);
  return extra ? { extra } : {};
}

/** The extra with this value of a field, or without the field. `undefined` if nothing remains. */
export function replaceField(extra: Extra, name: string, value?: JsonValue): Extra | undefined {
  const { [name]: _, ...fields } = extra.fields;
  if (value !== undefined) fields[name] = value;
  return Object.keys(fields).length + Object.keys(extra.hints ?? {}).length > 0 ? { ...extra, fields } : undefined;
}

/** Shared, because most parts of a long conversation have none. */
const NONE: JsonObject = Object.freeze({});

/** The fields that `wire` stored in an `extra`. Those of another wire are dropped, and `note` reports each. */
export function fieldsFor(wire: string, extra: Extra | undefined, note?: (text: string) => void): Readonly<JsonObject> {
  if (!extra) return NONE;
  if (extra.wire === wire) return { ...extra.fields, ...extra.hints };
  for (const key of Object.keys(extra.fields)) note?.(`dropped ${key}`);
  return NONE;
}

/** Unknown fields inside a known field, named by their path: `image_url.detail`. They are added to `fields`. */
export function inside(key: string, extra: Extra | undefined, fields: JsonObject = {}): JsonObject {
  for (const name in extra?.fields) fields[`${key}.${name}`] = extra.fields[name];
  return fields;
}

/**
 * Does what `inside` does, directly from the field's value. It makes no intermediate object, because tools may have very many
 * unknown fields.
 */
export function addInside(key: string, source: object, known: ReadonlySet<string>, fields: JsonObject): JsonObject {
  const prefix = `${key}.`;
  for (const name in source) {
    const value = (source as JsonObject)[name];
    if (value !== undefined && value !== null && !known.has(name)) fields[prefix + name] = value;
  }
  return fields;
}

/** A known field that is an empty object, as a hint for the same wire. Servers treat it as if it were absent. */
export function emptyField(key: string, value: unknown): JsonObject {
  return isJsonObject(value) && Object.keys(value).length === 0 ? { [key]: {} } : {};
}

/** Reverses `inside`: separates the fields inside `key` from those beside it. */
export function splitInside(key: string, fields: JsonObject): { inner: JsonObject; outer: JsonObject } {
  if (fields === NONE) return { inner: NONE, outer: NONE };
  const inner: JsonObject = {};
  const outer: JsonObject = {};
  for (const [name, value] of Object.entries(fields)) {
    if (name.startsWith(`${key}.`)) inner[name.slice(key.length + 1)] = value;
    else outer[name] = value;
  }
  return { inner, outer };
}

/** Merges the extras of one wire, of which the later ones overrule the earlier. An extra of another wire replaces those before it. */
export function mergeExtras(extras: readonly (Extra | undefined)[]): Extra | undefined {
  const given = extras.filter((extra) => extra !== undefined);
  const { wire } = given.at(-1) ?? {};
  const same = given.slice(given.findLastIndex((extra) => extra.wire !== wire) + 1);
  if (same.length < 2) return same[0];
  const fields: JsonObject = {};
  const hints: JsonObject = {};
  // There may be very many: a copy for each of them would be a copy of all those before it.
  for (const extra of same) {
    addFields(extra.fields, fields);
    if (extra.hints) addFields(extra.hints, hints);
  }
  return { wire: same[0]!.wire, fields, ...(Object.keys(hints).length > 0 && { hints }) };
}

/** Notes a field that is overruled by another field with the same meaning, if both are present and differ. */
export function noteOutweighed(field: string, value: unknown, weightier: unknown, note: (text: string) => void): void {
  if (value === undefined || value === null || weightier === undefined || weightier === null) return;
  if (JSON.stringify(value) !== JSON.stringify(weightier)) note(`dropped ${field}`);
}

/**
 * The fields that each place of a request may have, where everything is read field by field and the rest is discarded.
 * A place is a path. `tools[]` means every element of a list, and `[custom]` selects elements of this type or role.
 */
export type ClosedPlaces = Readonly<Record<string, readonly string[]>>;

/** Notes every unknown field in the closed places of the request. */
export function noteUnknown(body: unknown, places: ClosedPlaces, note: (text: string) => void): void {
  if (!isJsonObject(body)) return;
  const found: Found[] = [];
  look(body, treeOf(places), found);
  // In the order of the table.
  for (const { field } of found.sort((a, b) => a.place - b.place)) note(`dropped ${field}`);
}

interface Found {
  /** The position of its place in the table. */
  place: number;
  field: string;
}

/** The table as a tree, so that the request is walked only once. Each branch says what to check below one place. */
interface Branch {
  /** Present if the place is closed. */
  closed?: { place: number; path: string; known: readonly string[] };
  forks: Fork[];
}

/** The branch for a field. For a list, it applies to each element. */
interface Fork {
  key: string;
  any?: Branch;
  /** For objects of this type or role. */
  kinds: Map<unknown, Branch>;
}

const STEP = /^(\w+)(?:\[(\w*)\])?$/;
const trees = new WeakMap<ClosedPlaces, Branch>();

function treeOf(places: ClosedPlaces): Branch {
  const grown = trees.get(places);
  if (grown) return grown;
  const root: Branch = { forks: [] };
  for (const [place, [path, known]] of Object.entries(places).entries()) {
    let branch = root;
    for (const step of path.split(".")) {
      const [, key = "", kind = ""] = STEP.exec(step) ?? [];
      let fork = branch.forks.find((one) => one.key === key);
      if (!fork) branch.forks.push(fork = { key, kinds: new Map() });
      let next = kind === "" ? fork.any : fork.kinds.get(kind);
      if (!next) {
        next = { forks: [] };
        if (kind === "") fork.any = next;
        else fork.kinds.set(kind, next);
      }
      branch = next;
    }
    branch.closed = { place, path: path.replaceAll(/\[\w*\]/g, ""), known };
  }
  trees.set(places, root);
  return root;
}

function look(object: JsonObject, { closed, forks }: Branch, found: Found[]): void {
  if (closed) {
    for (const key in object) {
      if (object[key] === null || closed.known.includes(key)) continue;
      found.push({ place: closed.place, field: `${closed.path}.${key}` });
    }
  }
  for (const fork of forks) {
    const inner = object[fork.key];
    if (!Array.isArray(inner)) lookInto(inner, fork, found);
    else for (const value of inner) lookInto(value, fork, found);
  }
}

function lookInto(value: unknown, { any, kinds }: Fork, found: Found[]): void {
  if (!isJsonObject(value)) return;
  if (any) look(value, any, found);
  if (kinds.size === 0) return;
  const { type, role } = value;
  const typed = kinds.get(type);
  if (typed) look(value, typed, found);
  const acting = role === type ? undefined : kinds.get(role);
  if (acting) look(value, acting, found);
}
