/** The samples again, with nothing in each of their objects. */
import { isJsonObject, type JsonObject, type JsonValue } from "../../src/canonical/json.ts";
import type { Sample } from "../../plugins/programs/fidelity/sample.ts";

export interface Emptied {
  /** Where nothing is: `tools[].parameters`. */
  place: string;
  /** The sample's body, with `{}` at the place. */
  body: JsonObject;
}

/** One for each object that a sample has and that the same body without its field has not. */
export function emptiedIn({ with: full, without }: Sample): Emptied[] {
  return emptied(full, without, "").map(({ place, body }) => ({ place, body: body as JsonObject }));
}

function emptied(value: JsonValue, base: JsonValue | undefined, path: string): { place: string; body: JsonValue }[] {
  if (JSON.stringify(value) === JSON.stringify(base)) return [];
  if (Array.isArray(value)) {
    return value.flatMap((one, index) =>
      emptied(one, Array.isArray(base) ? base[index] : undefined, `${path}[]`)
        .map(({ place, body }) => ({ place, body: value.with(index, body) }))
    );
  }
  if (!isJsonObject(value)) return [];
  const here = path === "" || isJsonObject(base) ? [] : [{ place: path, body: {} }];
  return [
    ...here,
    ...Object.entries(value).flatMap(([key, inner]) =>
      emptied(inner ?? null, isJsonObject(base) ? base[key] : undefined, path === "" ? key : `${path}.${key}`)
        .map(({ place, body }) => ({ place, body: { ...value, [key]: body } }))
    ),
  ];
}
