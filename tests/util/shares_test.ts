import { assert, assertEquals } from "@std/assert";
import { type Capacity, Shares } from "../../src/util/shares.ts";

const TOTAL = 100;
const SHARED: Capacity = { total: TOTAL, isShared: true };

function takeAll(shares: Shares, owner: string, capacity = SHARED): number {
  while (!shares.refusal(owner, 1, capacity)) shares.add(owner, 1);
  return shares.heldBy(owner);
}

Deno.test("a gateway with one caller gives it everything", () => {
  assertEquals(takeAll(new Shares(), "a", { total: TOTAL, isShared: false }), TOTAL);
});

for (const others of [1, 19]) {
  Deno.test(`a caller that takes all it can leaves something for each of ${others} others`, () => {
    const shares = new Shares();
    assertEquals(takeAll(shares, "greedy"), 75);
    assertEquals(shares.refusal("greedy", 1, SHARED), "share");
    for (let other = 0; other < others; other++) assert(takeAll(shares, `other ${other}`) > 0);
  });
}

Deno.test("what two callers share is free for a third, which comes when both have all that they can get", () => {
  const shares = new Shares();
  takeAll(shares, "a");
  takeAll(shares, "b");
  assertEquals(shares.refusal("b", 1, SHARED), "full");
  assertEquals(shares.refusal("c", 10, SHARED), undefined);
});

Deno.test("one thing that is larger than a share fits if its caller holds nothing", () => {
  const shares = new Shares();
  assertEquals(shares.refusal("a", 100, SHARED), undefined);
  assertEquals(shares.refusal("a", 101, SHARED), "full");
  shares.add("a", 100);
  assertEquals(shares.refusal("a", 100, SHARED, 100), undefined);
});

Deno.test("nothing is remembered of a caller that has given everything back", () => {
  const shares = new Shares();
  shares.add("a", 10);
  shares.add("a", -10);
  assertEquals([shares.heldBy("a"), shares.taken], [0, 0]);
});
