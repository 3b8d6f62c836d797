import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import type { JsonObject, JsonValue } from "../../../src/canonical/json.ts";
import { exampleOf } from "../../../plugins/sandbox/example.ts";
import { assertCheap } from "../../support/cost.ts";

const example = (schema: JsonValue | undefined) => exampleOf(schema, { text: (property) => property });

/** Each schema with the value that is made of it; the value can be seen to fit. */
const CASES: Record<string, [JsonValue, JsonValue | undefined][]> = {
  "boolean schemas": [[true, "value"], [false, undefined], [{}, "value"]],
  const: [[{ const: 7 }, 7], [{ const: null }, null], [{ type: "object", const: { a: 1 } }, { a: 1 }]],
  enum: [[{ enum: ["b", "a"] }, "b"], [{ type: "string", enum: [null, "a"] }, "a"], [{ enum: [] }, undefined]],
  "default, examples and example": [
    [{ type: "string", default: "d", examples: ["e"], example: "x" }, "d"],
    [{ type: "string", examples: ["e"], example: "x" }, "e"],
    [{ type: "integer", example: 4 }, 4],
    [{ type: "string", default: null, examples: [4] }, "value"],
    [{ type: ["string", "null"], default: null }, "value"],
  ],
  type: [
    [{ type: "string" }, "value"],
    [{ type: "integer" }, 1],
    [{ type: "number" }, 1],
    [{ type: "boolean" }, false],
    [{ type: "null" }, null],
    [{ type: "array" }, []],
    [{ type: "object" }, {}],
    [{ type: ["null", "integer"] }, 1],
    [{ type: "no such type" }, "value"],
  ],
  "a type that only the keywords tell": [
    [{ properties: { a: { minimum: 2 } } }, { a: 2 }],
    [{ items: { type: "null" } }, [null]],
    [{ multipleOf: 5 }, 5],
  ],
  "minLength and maxLength": [
    [{ type: "string", minLength: 8 }, "value..."],
    [{ type: "string", maxLength: 3 }, "val"],
    [{ type: "string", maxLength: 0 }, ""],
  ],
  pattern: [
    [{ type: "string", pattern: "^\\d{3}$" }, "000"],
    [{ type: "string", pattern: "^[a-z]+$", minLength: 4 }, "aaaa"],
    [{ type: "string", pattern: "(?=unreadable)" }, "value"],
  ],
  format: [
    [{ type: "string", format: "date" }, "2025-01-01"],
    [{ type: "string", format: "uuid" }, "00000000-0000-4000-8000-000000000000"],
    [{ type: "string", format: "no such format" }, "value"],
    [{ type: "string", format: "constructor" }, "value"],
  ],
  "minimum and maximum": [
    [{ type: "integer", minimum: 5 }, 5],
    [{ type: "integer", maximum: -3 }, -3],
    [{ type: "integer", minimum: 1.2, maximum: 2.9 }, 2],
    [{ type: "number", minimum: 0, maximum: 0.5 }, 0],
    [{ type: "integer", minimum: -10, maximum: 10 }, 1],
  ],
  "exclusiveMinimum and exclusiveMaximum": [
    [{ type: "integer", exclusiveMinimum: 5 }, 6],
    [{ type: "integer", exclusiveMaximum: 0 }, -1],
    [{ type: "number", exclusiveMinimum: 0, exclusiveMaximum: 1 }, 0.5],
    [{ type: "number", exclusiveMinimum: 3 }, 4],
    [{ type: "integer", minimum: 5, exclusiveMinimum: true }, 6],
    [{ type: "integer", minimum: 5, exclusiveMinimum: 2 }, 5],
  ],
  multipleOf: [
    [{ type: "integer", multipleOf: 7 }, 7],
    [{ type: "integer", multipleOf: 7, minimum: 15 }, 21],
    [{ type: "number", multipleOf: 0.5, maximum: 0.7 }, 0.5],
    [{ type: "integer", multipleOf: 0 }, 1],
  ],
  "properties and required": [
    [{ type: "object", properties: { a: { type: "string" }, b: { type: "integer" } }, required: ["b"] }, {
      a: "a",
      b: 1,
    }],
    [{ type: "object", required: ["x"] }, { x: "x" }],
    [{ type: "object", properties: { a: false, b: true } }, { b: "b" }],
    [{ type: "object", properties: { a: false }, required: ["a"] }, undefined],
  ],
  "additionalProperties and minProperties": [
    [{ type: "object", additionalProperties: { type: "integer" }, required: ["n"] }, { n: 1 }],
    [{ type: "object", additionalProperties: { type: "integer" }, minProperties: 2 }, { extra1: 1, extra2: 1 }],
  ],
  "items, prefixItems and contains": [
    [{ type: "array", items: { type: "integer" } }, [1]],
    [{ type: "array", prefixItems: [{ type: "string" }, { type: "boolean" }] }, ["value", true]],
    [{ type: "array", items: [{ type: "string" }, { type: "integer" }], additionalItems: false }, ["value", 2]],
    [{ type: "array", prefixItems: [{ const: "a" }], items: { const: "b" }, minItems: 3 }, ["a", "b", "b"]],
    [{ type: "array", contains: { const: 5 } }, [5]],
  ],
  "minItems, maxItems and uniqueItems": [
    [{ type: "array", items: { type: "integer" }, maxItems: 0 }, []],
    [{ type: "array", items: { type: "integer" }, minItems: 3, uniqueItems: true }, [1, 2, 3]],
    [{ type: "array", items: { type: "string" }, minItems: 2, uniqueItems: true }, ["value", "value 2"]],
    [{ type: "array", items: { enum: ["x", "y"] }, minItems: 2, uniqueItems: true }, ["x", "y"]],
    [{ type: "array", items: { properties: { id: { type: "integer" } } }, minItems: 2, uniqueItems: true }, [
      { id: 1 },
      { id: 2 },
    ]],
    [{ type: "array", items: false }, []],
    [{ type: "array", items: false, minItems: 1 }, undefined],
  ],
  "anyOf and oneOf": [
    [{ anyOf: [{ type: "null" }, { type: "integer" }] }, 1],
    [{ oneOf: [false, { type: "boolean" }] }, false],
    [{ anyOf: [{ type: "null" }] }, null],
    [{ type: "integer", anyOf: [{ type: "string" }, { minimum: 4 }] }, 4],
    [{ anyOf: [{ minimum: 4 }], oneOf: [{ maximum: 9, type: "integer" }] }, 4],
    [{ oneOf: [false] }, undefined],
  ],
  allOf: [
    [{ allOf: [{ type: "number", minimum: 3 }, { type: "integer", minimum: 5 }] }, 5],
    [{ allOf: [{ type: "string" }, { type: "integer" }] }, undefined],
    [{ enum: [1, 2, 3], allOf: [{ enum: [2, 3, 4] }] }, 2],
    [
      {
        properties: { a: { type: "integer" } },
        allOf: [{ properties: { a: { minimum: 9 }, b: { const: true } }, required: ["a"] }],
      },
      { a: 9, b: true },
    ],
    [{ allOf: [true, false] }, undefined],
  ],
  $ref: [
    [{ $ref: "#/$defs/id", $defs: { id: { type: "integer" } } }, 1],
    [{ $ref: "#/$defs/id", minimum: 4, $defs: { id: { type: "integer" } } }, 4],
    [{ $ref: "#/$defs/a~1b~0c", $defs: { "a/b~c": { const: 1 } } }, 1],
    [{ anyOf: [{ const: 1 }, { const: 2 }], properties: { a: { $ref: "#/anyOf/1" } } }, 1],
    [{ $ref: "#/nowhere" }, "value"],
    [{ $ref: "https://example.com/schema" }, "value"],
    [{ properties: { a: { $ref: "#anchor" } } }, { a: "a" }],
  ],
  "references that come back": [
    [{ $ref: "#" }, undefined],
    [{ $ref: "#/$defs/a", $defs: { a: { $ref: "#/$defs/b" }, b: { $ref: "#/$defs/a" } } }, undefined],
    [{ properties: { name: { type: "string" }, child: { $ref: "#" } } }, { name: "name" }],
    [
      {
        $ref: "#/$defs/n",
        $defs: { n: { properties: { a: true, of: { type: "array", items: { $ref: "#/$defs/n" } } } } },
      },
      { a: "a", of: [] },
    ],
    [{ properties: { children: { type: "array", items: { $ref: "#" } } }, required: ["children"] }, { children: [] }],
    [{ properties: { next: { anyOf: [{ $ref: "#" }, { type: "null" }] } }, required: ["next"] }, { next: null }],
    [{ properties: { child: { $ref: "#" } }, required: ["child"] }, undefined],
    [
      { properties: { a: { $ref: "#/$defs/s" }, b: { $ref: "#/$defs/s" } }, $defs: { s: { type: "string" } } },
      { a: "a", b: "b" },
    ],
  ],
};

for (const [keyword, cases] of Object.entries(CASES)) {
  Deno.test(`a value fits: ${keyword}`, () => {
    for (const [schema, value] of cases) assertEquals(example(schema), value, JSON.stringify(schema));
  });
}

Deno.test("what the wording leaves out or fixes is left out or fixed, though not against an enum", () => {
  const schema = {
    properties: { run: { type: "string", default: "x" }, mode: { enum: ["a"] }, other: { type: "string" } },
    required: ["run", "mode"],
  };
  const wording = { text: () => "t", fixed: () => "safe", requiredOnly: true };
  assertEquals(exampleOf(schema, wording), { run: "safe", mode: "a" });
});

Deno.test("a property named like a part of JavaScript's own objects is a property", () => {
  const schema: JsonObject = JSON.parse(
    '{"properties":{"__proto__":{"type":"integer"},"constructor":{"type":"integer"}},"required":["toString"]}',
  );
  assertEquals(JSON.stringify(example(schema)), '{"__proto__":1,"constructor":1,"toString":"toString"}');
});

Deno.test("a schema without bounds of its own ends soon", async () => {
  let deep: JsonObject = { type: "integer" };
  for (let depth = 0; depth < 10_000; depth++) deep = { allOf: [{ properties: { a: deep }, required: ["a"] }] };
  const branches = Array.from({ length: 9 }, (_, index) => ({ $ref: `#/$defs/d${index}` }));
  const every: JsonObject = { properties: { a: { anyOf: branches }, b: { anyOf: branches } }, required: ["a", "b"] };
  const $defs = Object.fromEntries(branches.map((_, index) => [`d${index}`, every]));
  const big = { default: "x".repeat(50_000) };
  const hostile: JsonValue[] = [
    deep,
    { $defs, ...every },
    { type: "array", items: { type: "array", items: { type: "string" }, minItems: 1e6 }, minItems: 1e6 },
    { type: "array", minItems: 1e308 },
    { type: "object", minProperties: 1e308 },
    { type: "array", items: big, minItems: 1_000 },
    { type: "array", items: { type: "string", minLength: 10_000 }, minItems: 1_000 },
    { allOf: Array.from({ length: 5_000 }, (_, index) => ({ properties: { [`p${index}`]: true } })) },
    { allOf: Array.from({ length: 3_000 }, (_, index) => ({ $ref: `#/nowhere/${index}` })), items: {}, minItems: 1e6 },
    { type: Array(100_000).fill("string"), enum: Array(100_000).fill(1) },
    { allOf: Array(5_000).fill({ required: ["a"], properties: { a: true } }) },
  ];
  for (const schema of hostile) await assertCheap(300, () => assertEquals(example(schema), undefined));
  assertEquals(String(example({ type: "string", minLength: 1e308 })).length, 10_000);
});

const keyword = fc.constantFrom(
  ..."type properties required items prefixItems enum const anyOf oneOf allOf $ref $defs default examples format pattern"
    .split(" "),
  ..."minLength maxLength minimum maximum exclusiveMinimum multipleOf minItems maxItems minProperties contains a b"
    .split(" "),
);
const leaf = fc.oneof(
  fc.constantFrom<JsonValue[]>(
    "string",
    "integer",
    "object",
    "array",
    "null",
    "#",
    "#/$defs/a",
    "#/properties/a",
    "date",
    "a",
  ),
  fc.boolean(),
  fc.integer({ min: -5, max: 5 }),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.constant(null),
  fc.string(),
);
const { schema: anySchema } = fc.letrec<{ schema: JsonValue }>((tie) => ({
  schema: fc.oneof(
    { maxDepth: 5, withCrossShrink: true },
    leaf,
    fc.array(tie("schema"), { maxLength: 3 }),
    fc.dictionary(keyword, tie("schema"), { maxKeys: 5 }),
  ),
}));

Deno.test("any schema gives a JSON value or nothing, and the same again", () => {
  let values = 0;
  fc.assert(
    fc.property(anySchema, (schema) => {
      const value = example(schema);
      assertEquals(example(structuredClone(schema)), value);
      if (value === undefined) return;
      values++;
      const text = JSON.stringify(value);
      assertEquals(JSON.stringify(JSON.parse(text)), text);
    }),
    { seed: 20261120, numRuns: 5_000 },
  );
  assert(values > 1_000);
});
