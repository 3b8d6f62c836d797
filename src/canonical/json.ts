import { isRawNumber, parseExactly } from "./raw_number.ts";
import { excessOf, JSON_LIMITS, type JsonLimits } from "./json_limits.ts";

/** Objects may include numbers that a double would change (`raw_number.ts`). `isJsonObject` excludes them. */
export type JsonValue = string | number | boolean | null | JsonValue[] | JsonObject;
/** A JSON object of a wire. A field that is `undefined` does not exist, as in `JSON.stringify`. */
export interface JsonObject {
  [key: string]: JsonValue | undefined;
}

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !isRawNumber(value);
}

/** The object, or an empty one. */
export function asObject(value: unknown): JsonObject {
  return isJsonObject(value) ? value : {};
}

/** The list, or an empty one. */
export function asList(value: unknown): JsonValue[] {
  return Array.isArray(value) ? value : [];
}

/** The objects in a list. */
export function asObjects(value: unknown): JsonObject[] {
  return Array.isArray(value) ? value.filter(isJsonObject) : [];
}

/** The texts in a list. */
export function asTexts(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((one) => typeof one === "string") : [];
}

/** The text, or an empty one. */
export function asText(value: unknown): string {
  return typeof value === "string" ? value : "";
}

/** The whole number above 0, if it is one. */
export function asCount(value: unknown): number | undefined {
  return isCount(value) ? value : undefined;
}

export function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) > 0;
}

/** Whether it is a text that is not empty. */
export function isText(value: unknown): value is string {
  return typeof value === "string" && value !== "";
}

/** The value as text, for wires that put JSON into a string. Text stays as it is. */
export function toJsonText(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value ?? {});
}

/** The parsed text, with all digits of its numbers. `undefined` if it is not JSON or exceeds the limits. */
export function parseJson(text: string, limits: JsonLimits = JSON_LIMITS, parse = parseExactly): JsonValue | undefined {
  return excessOf(text, limits) ? undefined : readJson(text, parse);
}

/** `parseJson` for text known to be within the limits. Pass `JSON.parse` as `parse` if doubles are enough. */
export function readJson(text: string, parse = parseExactly): JsonValue | undefined {
  try {
    return parse(text) as JsonValue;
  } catch {
    return undefined;
  }
}

/** Whether the text is one complete JSON value. */
export function isJsonText(text: string): boolean {
  // A text that does not end like a value is not parsed.
  const last = text.trimEnd().at(-1);
  if (last === undefined || !'}]"0123456789el'.includes(last)) return false;
  return parseJson(text, JSON_LIMITS, JSON.parse) !== undefined;
}

/**
 * The arguments of a call as valid JSON. Arguments that were cut off or malformed are wrapped in an object, because
 * servers would refuse the whole conversation over them.
 */
export function toJsonArguments(input: string): string {
  if (isJsonText(input)) return input;
  return input.trim() === "" ? "{}" : JSON.stringify({ input });
}

/** A field to spread into an object. Empty if the value is null or undefined, which both mean absent on a wire. */
export function present<K extends string, V>(key: K, value: V | null | undefined): { [_ in K]?: V } {
  return value === null || value === undefined ? {} : { [key]: value } as { [_ in K]: V };
}

/** A field with a text to spread into an object. Empty unless the value is a text that is not empty. */
export function presentText<K extends string>(key: K, value: unknown): { [_ in K]?: string } {
  return present(key, isText(value) ? value : undefined);
}

/** Pairs of names: that of a field in one object, and that of the same field in another. */
export type NewNames = readonly { readonly from: string; readonly to: string }[];

/** Copies the fields that are present to `fields`, under their new names. */
export function copyRenamed(object: object, names: NewNames, fields: JsonObject = {}): JsonObject {
  for (let at = 0; at < names.length; at++) {
    const { from, to } = names[at]!;
    const value = (object as JsonObject)[from];
    if (value !== null && value !== undefined) fields[to] = value;
  }
  return fields;
}

/** A copy of the object with one more field. For an object with a thousand fields, a spread takes four times as long. */
export function withField(object: JsonObject, name: string, value: JsonValue): JsonObject {
  const copy: JsonObject = {};
  for (const key in object) setField(copy, key, object[key]);
  setField(copy, name, value);
  return copy;
}

/** Sets a field of any name. A plain assignment to `__proto__` would change what the object inherits. */
export function setField(object: JsonObject, name: string, value: JsonValue | undefined): void {
  if (name !== "__proto__") object[name] = value;
  else Object.defineProperty(object, name, { value, enumerable: true, configurable: true, writable: true });
}

/** Sets all fields in `object`. They replace fields of the same name. */
export function addFields(fields: JsonObject, object: JsonObject): void {
  for (const name in fields) setField(object, name, fields[name]);
}

/** The fields that are present. Null means absent on every wire. */
export function withoutNulls<T extends object>(fields: T): T {
  const present = {} as T;
  addPresent(fields, present);
  return present;
}

/** Sets the fields that are present in `object`. They replace fields of the same name. */
export function addPresent<T extends object>(fields: T, object: T): void {
  for (const name of Object.keys(fields)) {
    const value = (fields as JsonObject)[name];
    if (value !== null && value !== undefined) setField(object as JsonObject, name, value);
  }
}
