import { assertEquals } from "@std/assert";
import { LearntRelaxations, without } from "../../src/relaxations/learnt.ts";
import type { Relaxation } from "../../src/relaxations/relaxation.ts";

Deno.test("relaxations: what a model refuses adds up, and is another's no more", () => {
  const refusals = new LearntRelaxations(() => 0);
  refusals.add("a", ["x"]);
  refusals.add("a", ["y", "x"]);
  assertEquals([refusals.of("a"), refusals.of("b")], [["x", "y"], []]);
});

Deno.test("relaxations: after a day one request tries again, and the others a minute later if it was not refused", () => {
  let now = 0;
  const refusals = new LearntRelaxations(() => now);
  refusals.add("a", ["x"]);
  now = 86_399_999;
  assertEquals(refusals.of("a"), ["x"]);
  now = 86_400_000;
  assertEquals(refusals.of("a"), []);
  refusals.asked("a");
  assertEquals(refusals.of("a"), ["x"]);
  now += 60_000;
  assertEquals(refusals.of("a"), []);
  refusals.asked("a");
  now += 60_000;
  assertEquals(refusals.of("a"), []);
});

Deno.test("relaxations: of a thousand models the one that was learnt first is forgotten", () => {
  const refusals = new LearntRelaxations(() => 0);
  refusals.add("again", ["x"]);
  refusals.add("first", ["x"]);
  refusals.add("again", ["x"]);
  for (let at = 0; at < 999; at++) refusals.add(`model-${at}`, ["x"]);
  assertEquals([refusals.of("first"), refusals.of("again"), refusals.of("model-998")], [[], ["x"], ["x"]]);
});

Deno.test("relaxations: what one key taught holds for it alone, until a second key's request is refused in the same way", () => {
  const refusals = new LearntRelaxations(() => 0);
  refusals.add("a", ["x"], "first");
  assertEquals([refusals.of("a", "first"), refusals.of("a", "second")], [["x"], []]);
  refusals.add("a", ["x"], "second");
  assertEquals(refusals.of("a", "third"), ["x"]);
});

Deno.test("relaxations: a search ends where one of its parts is found otherwise, and no other part is taken for needed", () => {
  const all = ["x", "y", "z"].map((path): Relaxation => ({ does: "omit", path }));
  for (const found of [all[1]!, "y"]) {
    const refusals = new LearntRelaxations(() => 0);
    refusals.search("a", all, "key");
    refusals.add("a", [found], "other");
    assertEquals(refusals.searchOf("a", "key")?.enough, all, "It does not hold for this key yet");
    const search = refusals.searchOf("a", "key")!;
    refusals.add("a", [found], "key");
    refusals.tried("a", search, true, "key");
    assertEquals([refusals.searchOf("a", "key"), refusals.of("a", "key")], [undefined, [found]]);
  }
});

Deno.test("relaxations: what one key taught holds for all where the host is trusted", () => {
  const refusals = new LearntRelaxations(() => 0, true);
  refusals.add("a", ["x"], "first");
  assertEquals(refusals.of("a", "second"), ["x"]);
});

Deno.test("relaxations: which of many are needed is found with one more request for each halving", () => {
  const all = Array.from({ length: 16 }, (_, at): Relaxation => ({ does: "omit", path: `field_${at}` }));
  for (const needed of [[3], [15], [0, 9]]) {
    const refusals = new LearntRelaxations(() => 0);
    refusals.search("a", all, "key");
    let requests = 0;
    for (let search = refusals.searchOf("a", "key"); search; search = refusals.searchOf("a", "key")) {
      requests++;
      const given = without(search);
      refusals.tried("a", search, needed.every((at) => given.includes(all[at]!)), "key");
    }
    assertEquals(refusals.of("a", "key"), needed.map((at) => all[at]!), `${needed}`);
    assertEquals([requests <= 24, refusals.of("a", "other")], [true, []], `${requests}`);
  }
});

Deno.test("relaxations: another key's request does not try for the one that learnt", () => {
  let now = 0;
  const refusals = new LearntRelaxations(() => now);
  refusals.add("a", ["x"], "first");
  now = 86_400_000;
  refusals.asked("a", "second");
  assertEquals(refusals.of("a", "first"), []);
  refusals.asked("a", "first");
  assertEquals(refusals.of("a", "first"), ["x"]);
});
