import fc from "fast-check";
import type { JsonObject, JsonValue } from "../../src/canonical/json.ts";

/** The parts that the random inputs of all wires are made of. */

/**
 * Any character but half a surrogate pair. fast-check's unit `binary` and its URLs make a table of all characters first, which takes a
 * second in each test file.
 */
export const character = fc.oneof(fc.nat({ max: 0xd7ff }), fc.integer({ min: 0xe000, max: 0x10ffff }))
  .map((point) => String.fromCodePoint(point));
export const text = fc.oneof(fc.string(), fc.string({ unit: character }), fc.lorem({ maxCount: 6 }));
export const someText = text.filter((value) => value !== "");
export const name = fc.stringMatching(/^[a-zA-Z_][a-zA-Z0-9_-]{0,20}$/);
export const url = fc.tuple(
  fc.constantFrom("http", "https"),
  fc.domain(),
  fc.array(fc.string({ unit: character })),
  fc.string(),
)
  .map(([scheme, host, path, query]) => {
    const segments = path.map((segment) => `/${encodeURIComponent(segment)}`).join("");
    return `${scheme}://${host}${segments}${query === "" ? "" : `?${encodeURIComponent(query)}`}`;
  });
export const base64 = fc.base64String({ minLength: 4, maxLength: 40 });

/** Text through JSON and back, as it is on the wire: `-0` is `0`, and what is `undefined` is gone. */
export const overTheWire = <T>(value: T): T => JSON.parse(JSON.stringify(value));

/** Fields that no documentation knows. */
export const unknownFields: fc.Arbitrary<JsonObject> = fc.dictionary(
  fc.stringMatching(/^x_[a-z]{1,8}$/),
  fc.jsonValue({ maxDepth: 2 }).filter((value) => value !== null) as fc.Arbitrary<JsonValue>,
  { maxKeys: 3 },
);

/** An object with these fields, of which all but the required ones may be absent or, where `nulls` says so, null. */
export function object(
  required: Record<string, fc.Arbitrary<unknown>>,
  optional: Record<string, fc.Arbitrary<unknown>> = {},
  { nulls = true, unknown = true } = {},
): fc.Arbitrary<JsonObject> {
  const orNull = Object.entries(optional).map(([key, value]) => {
    return [key, nulls ? fc.option(value, { freq: 8 }) : value] as const;
  });
  const known = fc.record({ ...required, ...Object.fromEntries(orNull) }, { requiredKeys: Object.keys(required) });
  return fc.tuple(known, unknown ? unknownFields : fc.constant({}))
    .map(([fields, more]) => overTheWire({ ...more, ...fields }) as JsonObject);
}

export const schema = object(
  {
    type: fc.constant("object"),
    properties: fc.dictionary(name, fc.constantFrom<JsonValue>({ type: "string" }, { type: ["number", "null"] }), {
      maxKeys: 3,
    }).filter((properties) => Object.keys(properties).join() !== "input"),
  },
  { required: fc.array(name, { maxLength: 2 }), additionalProperties: fc.boolean() },
  { nulls: false },
);

export const limit = fc.integer({ min: 1, max: 1_000_000 });
export const tokens = fc.nat({ max: 100_000 });
