import { assertEquals } from "@std/assert";
import fc from "fast-check";
import { parseJson } from "../../src/canonical/json.ts";
import { readNearJson } from "../../src/transforms/near_json.ts";
import { law } from "../support/law.ts";

const CERTAIN: [text: string, value: unknown][] = [
  ["{'a': 'x'}", { a: "x" }],
  [`{'say': 'she said "no"', "it": "it's"}`, { say: 'she said "no"', it: "it's" }],
  [String.raw`{'a': 'it\'s \"so\" \\ \n'}`, { a: 'it\'s "so" \\ \n' }],
  ['{"a":1,"b":[1,2,],}', { a: 1, b: [1, 2] }],
  ['{"a":True,"b":False,"c":None}', { a: true, b: false, c: null }],
  ['{a:1,_b$:2,"c-d":3, e-f: 4}', { a: 1, _b$: 2, "c-d": 3, "e-f": 4 }],
  ['{"command":"cd x\n\tls"}', { command: "cd x\n\tls" }],
  ['```json\n{"a":1}\n```', { a: 1 }],
  ['```\n{"a":1,}\n```\n', { a: 1 }],
  ['"command": "echo hi"}', { command: "echo hi" }],
  ["command: 'x', 'a': {}}", { command: "x", a: {} }],
  ['{"a":1}}', { a: 1 }],
  ['{"a":{"b":1}}}', { a: { b: 1 } }],
  ['{{"a":1}', { a: 1 }],
  ['{{"a":1}}', { a: 1 }],
  ['{"a":1}{"a":1}', { a: 1 }],
  ['{"a": 1}\n{"a":1}\n{"a":1}', { a: 1 }],
  ['{}{"a":1}', { a: 1 }],
  ["{}{}", {}],
  ['{"n":12345678901234567890,}', parseJson('{"n":12345678901234567890}')],
];

for (const [text, value] of CERTAIN) {
  Deno.test(`there is one way to read ${JSON.stringify(text)}`, () => {
    assertEquals([readNearJson(text)?.value, readNearJson(text)?.isOpen], [value, false]);
  });
}

Deno.test("what the model wrote of a number stays", () => {
  assertEquals(readNearJson("{'n':12345678901234567890}")?.text, '{"n":12345678901234567890}');
});

/** Of most of these a library that repairs JSON makes something. */
const UNCERTAIN = [
  '{"command":"rm -rf /tmp/x',
  '{"command":"rm -rf /tmp/x","dir":"/',
  '{"a":1',
  '{"a":tr',
  '{"a":"x",',
  '{"a":"x","b',
  '{"a":"x","b":',
  '{"a":["x"',
  "{'a': 'it's'}",
  "{'a': 'don't', 'b': 'can't'}",
  '{"a":"say "hi" x"}',
  '{"re":"\\d+"}',
  '{"a":"it\\\'s"}',
  '{"a":"x\\\ny"}',
  "{'a':'x\\/y'}",
  "{'a':'\\x41'}",
  '{"a": hello world}',
  '{"a": hello}',
  '{"a":NaN}',
  '{"a":01}',
  '{"a":1}{"b":2}',
  '{"a":1} done',
  '{"a":1}</tool_call>',
  '{"a":1}}}',
  '{"a":1}{"a":2}',
  '{"a":1},{"a":1}',
  '{"a":1}{"a":1',
  '"a"}',
  '"a":1',
  '[{"a":1}]}',
  '{"a":1]',
  '{"a":(1,2)}',
  '{"a":1 /* one */}',
  '{"a":constructor}',
  "rm -rf /",
  "'a'",
  "[1,2,]",
  "",
  "{",
];

for (const text of UNCERTAIN) {
  Deno.test(`nobody knows what was to be ${JSON.stringify(text)}`, () => assertEquals(readNearJson(text), undefined));
}

/** JSON as Python prints it. */
function inPython(value: unknown): string {
  if (typeof value === "string") {
    const inner = JSON.stringify(value).slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'");
    return `'${inner}'`;
  }
  if (Array.isArray(value)) return `[${value.map(inPython).join(", ")}]`;
  if (value === null || typeof value === "boolean") {
    return new Map<unknown, string>([[null, "None"], [true, "True"], [false, "False"]]).get(value)!;
  }
  if (typeof value !== "object") return JSON.stringify(value);
  return `{${Object.entries(value).map(([key, one]) => `${inPython(key)}: ${inPython(one)}`).join(", ")}}`;
}

const jsonObject = fc.dictionary(fc.oneof(fc.string(), fc.constantFrom("a", "command")), fc.jsonValue({ maxDepth: 2 }))
  .map((value) => JSON.parse(JSON.stringify(value)));

law("what Python prints is read as what it is", jsonObject, (value) => {
  assertEquals(readNearJson(inPython(value))?.value, value);
});

law("JSON is read as what it is", jsonObject, (value) => {
  assertEquals(readNearJson(JSON.stringify(value))?.text, JSON.stringify(value));
});

law(
  "what was cut is read as what it was, or without its last brace, or not at all",
  fc.tuple(jsonObject, fc.nat(), fc.boolean()),
  ([value, at, python]) => {
    const text = python ? inPython(value) : JSON.stringify(value);
    const cut = text.slice(0, at % text.length);
    const near = readNearJson(cut);
    if (!near) return;
    assertEquals(near.isOpen, true);
    for (const [key, field] of Object.entries(near.value)) assertEquals(field, value[key]);
  },
);

Deno.test("a fence of nothing but line ends is read before anybody's patience ends", () => {
  assertEquals(readNearJson("```json" + "\n".repeat(20_000)), undefined);
  assertEquals(readNearJson("```json" + "\n".repeat(20_000) + "{'a':1}\n```")?.value, { a: 1 });
});
