export type JsonValue = string | number | boolean | null | JsonValue[] | JsonObject;
/** An object of a wire. A field that is `undefined` does not exist, as in `JSON.stringify`. */
export interface JsonObject {
  [key: string]: JsonValue | undefined;
}

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The value as text, as a wire that carries JSON in a string wants it: text stays as it is. */
export function toJsonText(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value ?? {});
}

/** Deeper than any document, and no deeper than what can be walked through and written again. */
export const DEEPEST_JSON = 512;

/** The value that the text is; nothing where it is none, or is nested deeper than `DEEPEST_JSON`. */
export function parseJson(text: string): JsonValue | undefined {
  try {
    const value: JsonValue = JSON.parse(text);
    return isTooDeep(value, text) ? undefined : value;
  } catch {
    return undefined;
  }
}

/** Whether the value, which is written in `text`, is nested deeper than `DEEPEST_JSON`. */
function isTooDeep(value: JsonValue, text: string): boolean {
  // Every level takes two characters.
  return text.length > 2 * DEEPEST_JSON && isDeeper(value, DEEPEST_JSON);
}

function isDeeper(value: JsonValue | undefined, levels: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  if (levels === 0) return true;
  if (Array.isArray(value)) {
    for (const item of value) if (isDeeper(item, levels - 1)) return true;
  } else {
    for (const key in value) if (isDeeper(value[key], levels - 1)) return true;
  }
  return false;
}

/** Whether the text is one complete JSON value. */
export function isJsonText(text: string): boolean {
  // Asked of a text that grows: what does not end like a value need not be read again.
  const last = text.trimEnd().at(-1);
  return last !== undefined && '}]"0123456789el'.includes(last) && parseJson(text) !== undefined;
}

/**
 * The arguments of a call as the JSON that they were to be: one that was cut off, or that the model got wrong, is told inside
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

/** The fields that are there: null means absent on every wire. */
export function withoutNulls<T extends object>(fields: T): T {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null && value !== undefined)) as T;
}
