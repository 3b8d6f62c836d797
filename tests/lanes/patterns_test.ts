import { assertEquals } from "@std/assert";
import { createFinder, matchesAny } from "../../src/lanes/patterns.ts";
import { assertCheap } from "../support/cost.ts";

const find = createFinder({
  "big-*": "pattern",
  "big-9": "exact",
  "big-9-*": "longer",
  "*": "any",
  "a.c*": "dot",
  "*-end": "end",
  "x*y*z": "two",
});

for (
  const [name, expected] of [
    ["big-9", "exact"],
    ["big-10", "pattern"],
    ["big-", "pattern"],
    ["big-9-1", "longer"],
    ["bigger", "any"],
    ["a.cd", "dot"],
    ["abcd", "any"],
    ["the-end", "end"],
    ["xyz", "two"],
    ["x1y2z", "two"],
    ["xyyz", "two"],
    ["xz", "any"],
    ["xzy", "any"],
    ["org/model:policy\n", "any"],
    ["toString", "any"],
  ]
) {
  Deno.test(`aliases: "${name}" finds "${expected}"`, () => assertEquals(find(name!), expected));
}

Deno.test("aliases: a name that nothing matches finds nothing, not even what every object inherits", () => {
  const find = createFinder({ "claude-opus-*": 1 });
  for (const name of ["claude-opus", "my-claude-opus-5", "CLAUDE-OPUS-5", "constructor", ""]) {
    assertEquals(find(name), undefined);
  }
});

Deno.test("aliases: of patterns as long the first wins", () => {
  assertEquals(createFinder({ "a*": 1, "*b": 2 })("ab"), 1);
  assertEquals(createFinder({ "*b": 2, "a*": 1 })("ab"), 2);
});

Deno.test("aliases: what is before and after a star is not the same text twice", () => {
  assertEquals(["ab", "aba", "abxba"].map((name) => matchesAny(name, ["ab*ba"])), [false, false, true]);
  assertEquals(["a-b", "a-b-b", "a-b-c-b"].map((name) => matchesAny(name, ["a*-b*-b"])), [false, true, true]);
  assertEquals(["", "a", "a*"].map((name) => matchesAny(name, ["**"])), [true, true, true]);
});

Deno.test("aliases: a name that comes close to a pattern in many places is cheap to judge", async () => {
  await assertCheap(100, () => assertEquals(matchesAny("a-".repeat(1_000), ["*a*a*a*a*b*c"]), false));
});
