import { assert, assertEquals, assertThrows } from "@std/assert";
import fc from "fast-check";
import { isJsonObject, type JsonObject, type JsonValue, parseJson } from "../../src/canonical/json.ts";
import { checkSchema, newBudget } from "../../src/transforms/json_schema.ts";
import {
  canonicalText,
  compareNumbers,
  isMultiple,
  isNumber,
  isRawNumber,
  parseExactly,
  type RawNumber,
} from "../../src/canonical/raw_number.ts";
import { JSON_LIMITS, scan } from "../../src/canonical/json_limits.ts";
import { runUnsliced } from "../../src/util/sliced_work.ts";
import { assertCheap } from "../support/cost.ts";
import { law } from "../support/law.ts";

/** Pieces of JSON in any order, among them numbers that a double would change. */
const brokenTexts = fc.array(
  fc.constantFrom(
    "9007199254740993",
    "-1e400",
    "0",
    "01234567890123456789",
    "[",
    "]",
    "{",
    "}",
    ",",
    ":",
    " ",
    '"',
    "\\",
    "a",
  ),
  { maxLength: 12 },
).map((pieces) => pieces.join(""));

const read = (text: string) => parseExactly(`[${text}]`) as unknown[];
const numberIn = (text: string) => read(text)[0] as number | RawNumber;

for (
  const text of ["9007199254740993", "-18446744073709551616", "1e400", "-1e-400", "4.9e-324", "0.10000000000000001"]
) {
  Deno.test(`${text} keeps its text, wherever it stands`, () => {
    assert(isRawNumber(numberIn(text)));
    for (const json of [text, ` ${text}`, `[${text}]`, `{"a":${text}}`, `[1,\n ${text}]`, `{"a":[{"b": ${text} }]}`]) {
      assertEquals(JSON.stringify(parseExactly(json)), json.replaceAll(/\s/g, ""));
    }
  });
}

for (
  const [text, number] of [
    ["1.0", 1],
    ["-0", -0],
    ["1E5", 100_000],
    ["9007199254740992", 2 ** 53],
    ["0.30000000000000004", 0.1 + 0.2],
    ["100000000000000000000", 1e20],
    ["1.7976931348623157e308", Number.MAX_VALUE],
    ["0.000000000000000000000", 0],
  ] as const
) {
  Deno.test(`${text}, which a double tells, is a plain number`, () => assertEquals(read(text), [number]));
}

Deno.test("numbers inside texts are texts", () => {
  const text = '{"a":"[9007199254740993, 1e400]","b":": 12345678901234567890"}';
  assertEquals(parseExactly(text), JSON.parse(text));
});

Deno.test("a raw number is no object", () => {
  const [raw] = read("9007199254740993");
  assertEquals([isJsonObject(raw), isNumber(raw)], [false, true]);
});

Deno.test("names that objects inherit, and nesting, are read as ever", () => {
  const text = '{"__proto__":{"constructor":9007199254740993},"toString":1}';
  assertEquals(JSON.stringify(parseJson(text)), text);
  assertEquals(parseJson("[".repeat(5_000) + "9007199254740993" + "]".repeat(5_000)), undefined);
});

const integer = fc.bigInt({ min: -(10n ** 30n), max: 10n ** 30n });
law("whole numbers are ordered by their values", fc.tuple(integer, integer), ([one, other]) => {
  const [a, b] = [numberIn(String(one)), numberIn(String(other))];
  assertEquals(Math.sign(compareNumbers(a, b)), one < other ? -1 : one > other ? 1 : 0);
  assertEquals(canonicalText(a) === canonicalText(b), one === other);
});

law("multiples of whole numbers are told", fc.tuple(integer, fc.bigInt({ min: 1n, max: 10n ** 20n })), ([one, of]) => {
  assertEquals(isMultiple(numberIn(String(one)), numberIn(String(of))), one % of === 0n);
});

law(
  "fractions are ordered by their values",
  fc.tuple(integer, integer, fc.nat({ max: 40 })),
  ([one, other, places]) => {
    const scale = (number: bigint) => numberIn(`${number}e-${places}`);
    assertEquals(Math.sign(compareNumbers(scale(one), scale(other))), one < other ? -1 : one > other ? 1 : 0);
  },
);

/** What a schema says of a value, both as JSON texts. */
function fits(schema: string, value: string): boolean {
  const read = parseJson(schema);
  assert(isJsonObject(read));
  return checkSchema(parseJson(value) as JsonValue, read as JsonObject, newBudget()).problems.length === 0;
}

for (
  const [schema, value, isFitting] of [
    ['{"type":"integer"}', "9007199254740993", true],
    ['{"type":"number"}', "0.12345678901234567890123", true],
    ['{"type":"integer"}', "0.12345678901234567890123", false],
    ['{"type":"string"}', "9007199254740993", false],
    ['{"type":"object"}', "9007199254740993", false],
    ['{"const":9007199254740993}', "9007199254740993", true],
    ['{"const":9007199254740993}', "9007199254740993.0", true],
    ['{"const":9007199254740992}', "9007199254740993", false],
    ['{"enum":[9007199254740992,9007199254740994]}', "9007199254740993", false],
    ['{"minimum":9007199254740993}', "9007199254740992", false],
    ['{"minimum":9007199254740993}', "9007199254740993", true],
    ['{"maximum":9007199254740992}', "9007199254740993", false],
    ['{"exclusiveMaximum":9007199254740993}', "9007199254740993", false],
    ['{"exclusiveMinimum":9007199254740992}', "9007199254740993", true],
    ['{"maximum":1e400}', "1e401", false],
    ['{"multipleOf":2}', "9007199254740993", false],
    ['{"multipleOf":3}', "9007199254740993", true],
    ['{"uniqueItems":true}', "[9007199254740993,9007199254740992]", true],
    ['{"uniqueItems":true}', "[9007199254740993,9007199254740993.00]", false],
    ['{"properties":{"a":{"type":"integer"}}}', '{"a":9007199254740993}', true],
  ] as const
) {
  Deno.test(`${value} ${isFitting ? "fits" : "does not fit"} ${schema}`, () =>
    assertEquals(fits(schema, value), isFitting));
}

Deno.test("a check of numbers that are long, or huge, ends", () => {
  const long = "1".repeat(200_000);
  const many = `[${Array(200).fill(long).join()}]`;
  const { unread } = checkSchema(parseJson(many) as JsonValue, { items: { minimum: 1, multipleOf: 7 } }, newBudget());
  assertEquals(unread, ["all"]);
  assertEquals(fits('{"multipleOf":1e-999999999}', "1e999999999"), true);
});

Deno.test("a number keeps its text among however many others, and beside texts that look like it", () => {
  const others = "1,".repeat(500_000);
  assert(isRawNumber((parseExactly(`[${others}9007199254740993]`) as unknown[]).at(-1)));
  const text = '{"a":"[9007199254740993,","\\\\":[9007199254740993,"\\",9007199254740993]"],"b":{"c":[-1e400]}}';
  assertEquals(JSON.stringify(parseExactly(text)), text);
});

Deno.test("of more long numbers than a conversation has, all are the nearest doubles", () => {
  const many = `[${"9007199254740993,".repeat(40_000)}9007199254740993]`;
  assertEquals(new Set(parseExactly(many) as number[]), new Set([2 ** 53]));
});

Deno.test("long numbers cost no more than a few times what others do", async () => {
  for (const count of [29_000, 300_000]) {
    const text = `[${"12345678901234567890,".repeat(count)}1]`;
    await assertCheap(10, () => parseExactly(text));
  }
});

law("a text that is no JSON stays none, and its mistake is found where it is", brokenTexts, (text) => {
  let expected: unknown;
  try {
    expected = JSON.parse(text);
  } catch (error) {
    assertThrows(() => parseExactly(text), SyntaxError, (error as Error).message);
    return;
  }
  assertEquals(JSON.parse(JSON.stringify(parseExactly(text))), expected);
});

Deno.test("A text in which a scan finds no long numbers has none that a double would change", () => {
  const digits = fc.stringMatching(/^-?(0|[1-9]\d{0,24})(\.\d{1,24})?([eE][-+]?\d{1,4})?$/);
  const text = fc.stringMatching(/^[\w \\",:[\]{}.+-]{0,12}$/).map((one) => JSON.stringify(one));
  const value = fc.oneof(digits, text, fc.constantFrom("null", "true", "[]", "{}"));
  fc.assert(
    fc.property(fc.array(fc.tuple(text, value), { maxLength: 4 }), fc.constantFrom("", " ", "\n\t"), (all, space) => {
      const json = `{${space}${all.map(([key, one]) => `${key}:${space}[${one}${space},${one}]`).join(",")}}`;
      const { excess, hasLongNumbers } = runUnsliced(scan(json, JSON_LIMITS));
      assertEquals(excess, undefined);
      if (!hasLongNumbers) assertEquals(JSON.stringify(JSON.parse(json)), JSON.stringify(parseExactly(json)));
    }),
    { seed: 1, numRuns: 20_000 },
  );
  for (const json of ["12345678901234567890", "-0.1234567890123456", "1e400", "[1E-400]", '{"a":1.0e+300}']) {
    assertEquals(runUnsliced(scan(json, JSON_LIMITS)).hasLongNumbers, true, json);
  }
  for (const json of ["123456789012345", '"12345678901234567890"', '"1e400"', '{"a":[-1.5,0.25,"\\"1e999"]}']) {
    assertEquals(runUnsliced(scan(json, JSON_LIMITS)).hasLongNumbers, false, json);
  }
});
