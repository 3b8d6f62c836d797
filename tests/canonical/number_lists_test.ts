import { assert, assertEquals } from "@std/assert";
import { type JsonValue, parseJson } from "../../src/canonical/json.ts";
import { parseLists } from "../../src/canonical/number_lists.ts";
import { runUnsliced } from "../../src/util/sliced_work.ts";

const VECTOR = Array.from({ length: 200 }, (_, at) => Math.sin(at) / 16);
const LONG_TEXT = "x".repeat(600_000);
const data = Array.from({ length: 300 }, (_, index) => ({ index, embedding: VECTOR }));

const VALUES: Record<string, JsonValue> = {
  "vectors": { object: "list", data, usage: { prompt_tokens: 1 } },
  "lists of lists": data.map(({ embedding }) => [embedding, embedding]),
  "one list": Array.from({ length: 100_000 }, (_, at) => at),
  "a text that tells of a list": {
    a: LONG_TEXT,
    b: JSON.stringify(VECTOR),
    c: `"${JSON.stringify(VECTOR)}\\`,
    d: data,
  },
  "the mark of a list": { a: "\ue0000", d: data },
  "no list": { a: LONG_TEXT },
};

for (const [name, value] of Object.entries(VALUES)) {
  for (const indent of [0, 2]) {
    Deno.test(`lists of numbers: ${name}, ${indent ? "spaced" : "dense"}, are what the parser reads`, () => {
      const text = JSON.stringify(value, null, indent);
      assertEquals(runUnsliced(parseLists(text, parseJson)), JSON.parse(text));
    });
  }
}

for (const broken of ["[1,,2", "[1 2]", "[1,]", "[01]", "{}x"]) {
  Deno.test(`lists of numbers: ${broken} is no JSON`, () => {
    const text = `${JSON.stringify(VALUES["vectors"])}${broken}`;
    assertEquals(runUnsliced(parseLists(text, parseJson)), undefined);
    assertEquals(runUnsliced(parseLists(`[${broken.padEnd(300, "1")}${LONG_TEXT}]`, parseJson)), undefined);
  });
}

Deno.test("lists of numbers: others may have a turn after each list", () => {
  const parsing = parseLists(JSON.stringify(VALUES["vectors"]), parseJson);
  let turns = 0;
  while (!parsing.next().done) turns++;
  assert(turns === data.length, `${turns} turns`);
});
