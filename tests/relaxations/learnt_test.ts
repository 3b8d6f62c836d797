import { assertEquals } from "@std/assert";
import { LearntRelaxations } from "../../src/relaxations/learnt.ts";

Deno.test("refusals: what a model refuses adds up, and is another's no more", () => {
  const refusals = new LearntRelaxations(() => 0);
  refusals.add("a", ["x"]);
  refusals.add("a", ["y", "x"]);
  assertEquals([refusals.of("a"), refusals.of("b")], [["x", "y"], []]);
});

Deno.test("refusals: after an hour it is tried again", () => {
  let now = 0;
  const refusals = new LearntRelaxations(() => now);
  refusals.add("a", ["x"]);
  now = 3_599_999;
  assertEquals(refusals.of("a"), ["x"]);
  now = 3_600_000;
  assertEquals(refusals.of("a"), []);
  refusals.add("a", ["y"]);
  assertEquals(refusals.of("a"), ["y"]);
});

Deno.test("refusals: of a thousand models the one that was learnt first is forgotten", () => {
  const refusals = new LearntRelaxations(() => 0);
  refusals.add("again", ["x"]);
  refusals.add("first", ["x"]);
  refusals.add("again", ["x"]);
  for (let at = 0; at < 999; at++) refusals.add(`model-${at}`, ["x"]);
  assertEquals([refusals.of("first"), refusals.of("again"), refusals.of("model-998")], [[], ["x"], ["x"]]);
});
