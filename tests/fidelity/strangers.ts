/** Fields that nobody knows, put wherever a field can be. */
import { isJsonObject, type JsonObject, type JsonValue } from "../../src/canonical/json.ts";
import type { Sample } from "../../plugins/programs/fidelity/sample.ts";

export interface Stranger {
  /** Where it stands: `tools[].function`. */
  place: string;
  sample: Sample;
  /** The sample's request, with `FIELD` at the place. */
  body: JsonObject;
}

export const FIELD = { stranger: "keptStranger" };

/** One for each place that any of the samples has. */
export function strangersIn(samples: readonly Sample[]): Stranger[] {
  const strangers = new Map<string, Stranger>();
  for (const sample of samples) {
    for (const { place, body } of injected(sample.with, "")) {
      if (!strangers.has(place)) strangers.set(place, { place, sample, body: body as JsonObject });
    }
  }
  return [...strangers.values()];
}

/** The value once for each object in it, which has the field there. */
function injected(value: JsonValue, path: string): { place: string; body: JsonValue }[] {
  if (Array.isArray(value)) {
    return value.flatMap((one, index) =>
      injected(one, `${path}[]`).map(({ place, body }) => ({ place, body: value.with(index, body) }))
    );
  }
  if (!isJsonObject(value)) return [];
  const kind = value.type ?? value.role;
  const here = { place: kind === undefined ? path : `${path} (${kind})`, body: { ...value, ...FIELD } };
  return [
    here,
    ...Object.entries(value).flatMap(([key, inner]) =>
      injected(inner ?? null, path === "" ? key : `${path}.${key}`)
        .map(({ place, body }) => ({ place, body: { ...value, [key]: body } }))
    ),
  ];
}
