import { assert, assertEquals } from "@std/assert";
import { character } from "../../support/arbitraries.ts";
import fc from "fast-check";
import { textMatching } from "../../../plugins/sandbox/pattern.ts";

const READABLE = [
  "abc",
  "^$",
  "^[a-z]+$",
  "^[A-Z]{2,4}-\\d{3}$",
  "^(?:foo|bar)baz?$",
  "^(?<year>\\d{4})-(?<month>0[1-9]|1[0-2])$",
  "^[^a-z\\d]*$",
  "^[\\w.-]+@[\\w-]+\\.\\w{2,}$",
  "^\\S+\\s\\W\\D$",
  "^#?[0-9a-fA-F]{6}$",
  "^v\\d+(\\.\\d+){2}(-[a-z]+)?$",
  "^\\u0041\\x42\\u{1F600}\\p{Lu}\\p{L}\\p{N}$",
  "^\\$\\{x\\}\\/\\n$",
  "^[\\]\\-^]$",
  "^[😀-😂]$",
  "^[a-]$",
  "^.{3,}$",
  "^a{0}b{2,}?$",
  "^(a|b)*?c$",
];

for (const pattern of READABLE) {
  Deno.test(`a text is found for ${JSON.stringify(pattern)}`, () => {
    for (const extra of [0, 5]) {
      const text = textMatching(pattern, extra);
      assert(text !== undefined && new RegExp(pattern, "u").test(text), `Got ${JSON.stringify(text)}`);
    }
  });
}

Deno.test("open repetitions grow on request", () => {
  assertEquals(textMatching("^[a-z]+$", 8), "aaaaaaaa");
  assertEquals(textMatching("^[a-z]{2,5}$", 8), "aaaaa");
});

Deno.test("what is not read gives nothing", () => {
  for (
    const pattern of [
      "(?=a)b",
      "(?<!a)b",
      "(a)\\1",
      "\\k<x>",
      "(",
      "a)",
      "[a",
      "[z-",
      "\\",
      "\\q",
      "(?<>a)",
      "[\\S\\s]",
    ]
  ) {
    assertEquals(textMatching(pattern), undefined, pattern);
  }
});

Deno.test("a hostile pattern is neither run nor grown", () => {
  assertEquals(textMatching("^(a+)+$"), "a");
  for (const pattern of ["(((a{99}){99}){99}){99}", `a{${"9".repeat(400)}}`, "a".repeat(5_000), "(".repeat(5_000)]) {
    assertEquals(textMatching(pattern), undefined);
  }
  assertEquals(textMatching(`(){${"9".repeat(400)}}b`), "b");
  assertEquals(textMatching("(".repeat(400) + "x" + ")".repeat(400)), "x");
});

Deno.test("any text may stand as a pattern", () => {
  const symbols = fc.array(
    fc.constantFrom(
      "(",
      ")",
      "[",
      "]",
      "{",
      "}",
      "1",
      ",",
      "-",
      "^",
      "$",
      "|",
      "\\",
      "d",
      "u",
      "p",
      "x",
      "?",
      "*",
      "+",
      "a",
      "😀",
    ),
  ).map((parts) => parts.join(""));
  fc.assert(
    fc.property(fc.oneof(symbols, fc.string({ unit: character })), fc.nat({ max: 20 }), (pattern, extra) => {
      const text = textMatching(pattern, extra);
      assert(text === undefined || text.length <= 1_000);
    }),
    { seed: 20261120, numRuns: 5_000 },
  );
});
