import { isRawNumber, parseExactly } from "./raw_number.ts";
import { excessOf, JSON_LIMITS, type JsonLimits } from "./json_limits.ts";

/** Among the objects may be numbers that a double would change (`raw_number.ts`): `isJsonObject` tells them apart. */
export type JsonValue = string | number | boolean | null | JsonValue[] | JsonObject;
/** An object of a wire. A field that is `undefined` does not exist, as in `JSON.stringify`. */
export interface JsonObject {
  [key: string]: JsonValue | undefined;
}

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !isRawNumber(value);
}

/** The value as text, as a wire that carries JSON in a string wants it: text stays as it is. */
export function toJsonText(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value ?? {});
}

/** The value that the text is, its numbers with all their digits; nothing where it is none, or goes beyond the limits. */
export function parseJson(text: string, limits: JsonLimits = JSON_LIMITS, parse = parseExactly): JsonValue | undefined {
  return excessOf(text, limits) ? undefined : readJson(text, parse);
}

/** The same for a text that is known to be within the limits. `parse`: `JSON.parse` where only doubles are wanted. */
export function readJson(text: string, parse = parseExactly): JsonValue | undefined {
  try {
    return parse(text) as JsonValue;
  } catch {
    return undefined;
  }
}

/** Whether the text is one complete JSON value. */
export function isJsonText(text: string): boolean {
  // Asked of a text that grows: what does not end like a value need not be read again.
  const last = text.trimEnd().at(-1);
  if (last === undefined || !'}]"0123456789el'.includes(last)) return false;
  return parseJson(text, JSON_LIMITS, JSON.parse) !== undefined;
}

/**
 * The arguments of a call as the JSON that they were to be: one that was cut off, or that the model got wrong, is sent inside
 * an object, because servers refuse a whole conversation over it.
 */
export function toJsonArguments(input: string): string {
  if (isJsonText(input)) return input;
  return input.trim() === "" ? "{}" : JSON.stringify({ input });
}

/** A field to spread into an object; none where the value is null or undefined, which both mean absent on a wire. */
export function present<K extends string, V>(key: K, value: V | null | undefined): { [_ in K]?: V } {
  return value === null || value === undefined ? {} : { [key]: value } as { [_ in K]: V };
}

/** The object with a field more. For one of a thousand fields a spread takes four times as long. */
export function withField(object: JsonObject, name: string, value: JsonValue): JsonObject {
  const copy: JsonObject = {};
  for (const key in object) setField(copy, key, object[key]);
  setField(copy, name, value);
  return copy;
}

/** Sets a field of whatever name; by a plain assignment, one of them would change what the object inherits. */
export function setField(object: JsonObject, name: string, value: JsonValue | undefined): void {
  if (name !== "__proto__") object[name] = value;
  else Object.defineProperty(object, name, { value, enumerable: true, configurable: true, writable: true });
}

/** The fields that are there: null means absent on every wire. */
export function withoutNulls<T extends object>(fields: T): T {
  const present: JsonObject = {};
  for (const name of Object.keys(fields)) {
    const value = (fields as JsonObject)[name];
    if (value !== null && value !== undefined) setField(present, name, value);
  }
  return present as T;
}
