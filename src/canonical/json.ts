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

/** Whether the text is one complete JSON value. */
export function isJsonText(text: string): boolean {
  // Asked of a text that grows: what does not end like a value need not be read again.
  const last = text.trimEnd().at(-1);
  if (last === undefined || !'}]"0123456789el'.includes(last)) return false;
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
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
