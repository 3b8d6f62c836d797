import { assertEquals } from "@std/assert";
import type { JsonObject, JsonValue } from "../../src/canonical/json.ts";
import { checkSchema, newBudget } from "../../src/transforms/json_schema.ts";
import { assertCheap } from "../support/cost.ts";

/** Values of a schema: those that fit it, and those that do not, with what is said of them. */
interface Row {
  title: string;
  schema: JsonObject;
  fit?: JsonValue[];
  unfit?: [value: JsonValue, ...problems: string[]][];
  unread?: string[];
}

const STEP = {
  type: "object",
  properties: { by: { type: "string", enum: ["hand", "machine"] } },
  required: ["by"],
  additionalProperties: false,
};

const ROWS: Row[] = [
  {
    title: "what the SDKs' helpers make: $defs, null beside a type, nothing more than is named",
    schema: {
      $schema: "https://json-schema.org/draft/2020-12/schema",
      type: "object",
      properties: {
        steps: { type: "array", items: { $ref: "#/$defs/step" } },
        note: { anyOf: [{ type: "string" }, { type: "null" }] },
      },
      required: ["steps", "note"],
      additionalProperties: false,
      $defs: { step: STEP },
    },
    fit: [{ steps: [{ by: "hand" }], note: null }, { steps: [], note: "none" }],
    unfit: [
      [{ steps: [{ by: "foot" }], note: null }, '$.steps[0].by must be one of ["hand","machine"]'],
      [{ steps: [{ by: "hand", at: 1 }], note: null }, "$.steps[0].at is not allowed"],
      [{ steps: [] }, "$.note is missing"],
      [{ steps: {}, note: 1 }, "$.steps must be of type array", "$.note must be of type string"],
      ["text", "$ must be of type object"],
    ],
  },
  {
    title: "definitions, and references to a place",
    schema: {
      type: "object",
      properties: { first: { $ref: "#/definitions/a~1b" }, second: { $ref: "#/properties/first" } },
      definitions: { "a/b": { type: "string" } },
    },
    fit: [{ first: "x", second: "y" }, {}],
    unfit: [[{ second: 1 }, "$.second must be of type string"]],
  },
  {
    title: "a schema that refers to itself",
    schema: { type: "object", properties: { next: { anyOf: [{ $ref: "#" }, { type: "null" }] } }, required: ["next"] },
    fit: [{ next: { next: null } }],
    unfit: [[{ next: { next: {} } }, "$.next.next.next is missing"]],
  },
  {
    title: "several types, OpenAPI's null, numbers of any size",
    schema: {
      type: "object",
      properties: { a: { type: ["string", "null"] }, b: { type: "string", nullable: true }, c: { type: "integer" } },
    },
    fit: [{ a: null, b: null, c: 1e20 }, { c: 1.0 }],
    unfit: [[
      { a: 1, b: 2, c: 1.5 },
      "$.a must be of type string or null",
      "$.b must be of type string",
      "$.c must be of type integer",
    ]],
  },
  {
    title: "constants that are objects, in whatever order of their keys",
    schema: { anyOf: [{ const: { a: 1, b: [2] } }, { enum: [null, { c: 3 }] }] },
    fit: [{ b: [2], a: 1 }, null, { c: 3 }],
    unfit: [[{ a: 1 }, '$ must be {"a":1,"b":[2]}']],
  },
  {
    title: "alternatives: what is wrong with the one that was meant",
    schema: {
      oneOf: [
        { type: "string" },
        { type: "object", properties: { kind: { const: "a" }, size: { type: "number" } }, required: ["kind", "size"] },
      ],
    },
    fit: ["x", { kind: "a", size: 1 }],
    unfit: [[{ kind: "a", size: "big" }, "$.size must be of type number"]],
  },
  {
    title: "exactly one, all, and none of several",
    schema: { allOf: [{ oneOf: [{ minimum: 5 }, { multipleOf: 0.1 }] }, { not: { const: 7 } }] },
    fit: [0.3, 5.05],
    unfit: [[6, "$ matches several alternatives, but must match one"]],
  },
  { title: "none of it", schema: { not: { const: 7 } }, fit: [6], unfit: [[7, "$ matches what it must not match"]] },
  {
    title: "conditions",
    schema: {
      if: { required: ["a"] },
      then: { required: ["b"] },
      else: { required: ["c"] },
      dependentRequired: { b: ["d"] },
    },
    fit: [{ a: 1, b: 1, d: 1 }, { c: 1 }],
    unfit: [[{ a: 1 }, "$.b is missing"], [{}, "$.c is missing"], [{ a: 1, b: 1 }, "$.d is missing"]],
  },
  {
    title: "lists: in order, and the rest of them",
    schema: {
      prefixItems: [{ type: "string" }],
      items: { type: "number" },
      minItems: 1,
      maxItems: 3,
      uniqueItems: true,
    },
    fit: [["a"], ["a", 1, 2]],
    unfit: [
      [[], "$ must have 1 items or more"],
      [["a", 1, 1], "$ must not have duplicate items"],
      [[1, "a"], "$[0] must be of type string", "$[1] must be of type number"],
      [["a", 1, 2, 3], "$ must have 3 items or fewer"],
    ],
  },
  {
    title: "lists: as older drafts say it, and what they contain",
    schema: { items: [{ type: "string" }], additionalItems: false, contains: { const: "a" } },
    fit: [["a"]],
    unfit: [[["a", 1], "$[1] is not allowed"], [["b"], "$ has too few or too many matching items"]],
  },
  {
    title: "limits",
    schema: {
      properties: {
        a: { minimum: 1, maximum: 2 },
        b: { exclusiveMinimum: 1, exclusiveMaximum: 2 },
        c: { minimum: 1, exclusiveMinimum: true },
        d: { minLength: 2, maxLength: 2 },
      },
      maxProperties: 1,
      minProperties: 1,
      propertyNames: { maxLength: 1 },
    },
    fit: [{ a: 1 }, { b: 1.5 }, { d: "🙂🙂" }],
    unfit: [
      [{ a: 3 }, "$.a is too large: the maximum is 2"],
      [{ b: 1 }, "$.b must be more than 1"],
      [{ b: 2 }, "$.b must be less than 2"],
      [{ c: 1 }, "$.c is too small: the minimum is 1"],
      [{ d: "a" }, "$.d must have 2 characters or more"],
      [{ d: "abc" }, "$.d must have 2 characters or fewer"],
      [{}, "$ must have 1 properties or more"],
      [{ e: 1, f: 1 }, "$ must have 1 properties or fewer"],
      [{ ee: 1 }, "$ must have 1 characters or fewer"],
    ],
  },
  {
    title: "names that objects have of themselves",
    schema: JSON.parse('{"properties":{"__proto__":{"type":"string"}},"required":["__proto__","constructor"]}'),
    fit: [JSON.parse('{"__proto__":"x","constructor":1}')],
    unfit: [[{}, "$.__proto__ is missing", "$.constructor is missing"]],
  },
  {
    title: "what is not tried, or not known, is said, and nothing is refused for it",
    schema: {
      properties: {
        a: { type: "string", pattern: "^(a+)+$", format: "uri" },
        b: { $ref: "https://example.com/b.json" },
      },
      "x-own": true,
      not: { properties: { a: { pattern: "a" } } },
    },
    fit: [{ a: "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!", b: 1 }],
    unread: ["pattern", "$ref"],
  },
];

for (const { title, schema, fit = [], unfit = [], unread = [] } of ROWS) {
  Deno.test(`schema: ${title}`, () => {
    for (const value of fit) assertEquals(checkSchema(value, schema, newBudget()), { problems: [], unread });
    for (const [value, ...problems] of unfit) assertEquals(checkSchema(value, schema, newBudget()).problems, problems);
  });
}

Deno.test("schema: one that leads nowhere, or to ever more, comes to an end, which is said", async () => {
  const circle: JsonObject = { $ref: "#" };
  assertEquals(checkSchema(1, circle, newBudget()), { problems: [], unread: ["all"] });
  const names = Array.from({ length: 40 }, (_, index) => `n${index}`);
  const $defs = Object.fromEntries(names.map((name, index) => {
    const next = { $ref: `#/$defs/n${index + 1}` };
    return [name, { anyOf: [next, next] }];
  }));
  const tree: JsonObject = { $defs: { ...$defs, n40: { type: "string" } }, $ref: "#/$defs/n0" };
  await assertCheap(200, () => assertEquals(checkSchema(1, tree, newBudget()).unread, ["all"]));
});

Deno.test("a list that is wrong in more ways than a call takes arguments is just wrong", () => {
  const names = Array.from({ length: 1_000 }, (_, at) => `name_${at}`);
  const { problems } = checkSchema(
    Array.from({ length: 500 }, () => ({})),
    { items: { required: names } },
    newBudget(),
  );
  assertEquals(problems.length, 5);
});

Deno.test("schema: long lists, names and texts, asked of many items, come to an end, which is said", async () => {
  const many = <T>(count: number, make: (index: number) => T) =>
    Array.from({ length: count }, (_, index) => make(index));
  const words = many(20_000, (index) => `w${index}`);
  const rows: [value: JsonValue, schema: JsonObject][] = [
    [many(5_000, (index) => `v${index}`), { items: { anyOf: [{ enum: words }, true] } }],
    [many(5_000, () => ({})), { items: { anyOf: [{ required: words }, true] } }],
    [many(5_000, () => 1), { items: { $ref: `#${"/a".repeat(20_000)}` } }],
    [many(5_000, () => 1), { items: { type: [...words, "number"] } }],
    [many(50_000, (index) => index), { allOf: many(500, () => ({ uniqueItems: true })) }],
    [[many(20_000, (index) => index)], {
      allOf: many(10_000, () => ({ $ref: "#/$defs/list" })),
      $defs: { list: { const: [many(20_000, (index) => index)] } },
    }],
    ["x".repeat(1_000_000), { allOf: many(1_000, () => ({ maxLength: 2_000_000 })) }],
  ];
  for (const [value, schema] of rows) {
    await assertCheap(
      200,
      () => assertEquals(checkSchema(value, schema, newBudget()).unread.includes("all"), true),
    );
  }
});
