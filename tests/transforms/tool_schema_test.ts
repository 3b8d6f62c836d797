import { assertEquals, assertStrictEquals } from "@std/assert";
import { objectSchema } from "../../src/transforms/tool_schema.ts";
import type { JsonObject } from "../../src/canonical/json.ts";

const CASES: { name: string; given: JsonObject | undefined; sent: JsonObject }[] = [
  { name: "no schema", given: undefined, sent: { type: "object", properties: {} } },
  { name: "an empty one", given: {}, sent: { type: "object", properties: {} } },
  { name: "no type", given: { properties: { a: {} } }, sent: { type: "object", properties: { a: {} } } },
  {
    name: "null for an absent keyword",
    given: { type: null, properties: { a: { type: "string", description: null } }, required: null },
    sent: { type: "object", properties: { a: { type: "string" } } },
  },
  {
    name: "an empty list for an empty object, at any depth",
    given: { type: "object", properties: [], $defs: [] },
    sent: { type: "object", properties: {}, $defs: {} },
  },
  {
    name: "an empty list for an empty object inside a list",
    given: { type: "object", properties: { l: { type: "array", items: { type: "object", properties: [] } } } },
    sent: { type: "object", properties: { l: { type: "array", items: { type: "object", properties: {} } } } },
  },
  {
    name: "a schema that allows any value",
    given: { type: "object", properties: { any: true, list: { type: "array", items: true } } },
    sent: { type: "object", properties: { any: {}, list: { type: "array", items: {} } } },
  },
  {
    name: "a type that other keywords tell",
    given: {
      type: "object",
      properties: {
        view: { enum: ["text", "raw"] },
        count: { const: 1 },
        inner: { properties: { a: { type: "string" } } },
        list: { items: { enum: [true] } },
      },
    },
    sent: {
      type: "object",
      properties: {
        view: { type: "string", enum: ["text", "raw"] },
        count: { type: "number", const: 1 },
        inner: { type: "object", properties: { a: { type: "string" } } },
        list: { type: "array", items: { type: "boolean", enum: [true] } },
      },
    },
  },
  { name: "a schema of no object", given: { type: "string" }, sent: { type: "object", properties: {} } },
];

for (const { name, given, sent } of CASES) {
  Deno.test(`a tool's schema is complete: ${name}`, () => assertEquals(objectSchema(given), sent));
}

Deno.test("a complete schema is sent as it is, with values and names that only look like keywords", () => {
  const schema: JsonObject = {
    type: ["object", "null"],
    properties: {
      properties: { type: "array", default: [], items: { $ref: "#/$defs/one" } },
      type: { enum: ["a", 1, null], default: null },
      either: { anyOf: [{ type: "string" }, { type: "null" }] },
    },
    additionalProperties: true,
    $defs: { one: { type: "object", properties: {}, examples: [{ properties: [] }] } },
  };
  assertStrictEquals(objectSchema(schema), schema);
});

Deno.test("a property named __proto__ stays a property", () => {
  const schema = JSON.parse('{"type":"object","properties":{"__proto__":{"enum":["a"]}}}');
  assertEquals(
    JSON.stringify(objectSchema(schema)),
    '{"type":"object","properties":{"__proto__":{"type":"string","enum":["a"]}}}',
  );
});
