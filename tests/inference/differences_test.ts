import { assertEquals } from "@std/assert";
import { differences } from "../../src/inference/differences.ts";

Deno.test("differences: the same has none, whatever the order of its fields was", () => {
  assertEquals(differences({ a: [1, { b: "c" }] }, { a: [1, { b: "c" }] }), []);
});

Deno.test("differences: what changed, came and went, each at its place", () => {
  assertEquals(differences({ a: 1, b: { c: "x" }, d: true }, { a: 2, b: { c: "y" }, e: null }), [
    { path: "a", before: 1, after: 2 },
    { path: "b.c", before: "x", after: "y" },
    { path: "d", before: true },
    { path: "e", after: null },
  ]);
});

Deno.test("differences: an element that came into a list moves none of the others", () => {
  assertEquals(differences(["a", "b", "c"], ["a", "x", "b", "c"]), [{ path: "[1]", after: "x" }]);
  assertEquals(differences(["a", "b", "c"], ["a", "c"]), [{ path: "[1]", before: "b" }]);
  assertEquals(differences({ list: [{ n: 1 }, { n: 2 }] }, { list: [{ n: 1 }, { n: 3 }] }), [
    { path: "list[1].n", before: 2, after: 3 },
  ]);
});

Deno.test("differences: long values are cut, and a long list of changes too", () => {
  assertEquals(differences("", "x".repeat(1_000)), [{ path: "", before: "", after: `${"x".repeat(200)}…` }]);
  const many = Array.from({ length: 100 }, (_, index) => index);
  assertEquals(differences(many, many.map((one) => one + 1_000)).length, 20);
});
