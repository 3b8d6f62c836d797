import { assert, assertEquals } from "@std/assert";
import { KeptItems } from "../../src/http/kept_items.ts";
import type { Capacity } from "../../src/util/shares.ts";

const SHARED: Capacity = { total: 100, isShared: true };

function fill(kept: KeptItems, owner: string, sizes: readonly number[], capacity = SHARED) {
  const forgotten: number[] = [];
  const isKept = sizes.map((size, at) => kept.keep(owner, { size, forget: () => void forgotten.push(at) }, capacity));
  return { forgotten, isKept };
}

for (const [count, isShared] of [[1, false], [2, true], [20, true]] as const) {
  Deno.test(`kept items: of ${count} callers that keep all they can, each keeps its newest, within the room`, () => {
    const kept = new KeptItems();
    const capacity = { total: 100, isShared };
    for (let caller = 0; caller < count; caller++) {
      const { isKept } = fill(kept, `caller ${caller}`, Array.from({ length: 200 }, () => 1), capacity);
      assert(isKept.at(-1), `caller ${caller}`);
    }
    assert(kept.taken <= 100);
    assertEquals(kept.taken, count === 1 ? 100 : 74 + count);
  });
}

Deno.test("kept items: the oldest make way for the newest, as many as it takes", () => {
  assertEquals(fill(new KeptItems(), "a", [30, 30, 50]), { forgotten: [0, 1], isKept: [true, true, true] });
});

Deno.test("kept items: nothing is forgotten for what does not fit in any case", () => {
  const kept = new KeptItems();
  assertEquals(fill(kept, "a", [10, 101]), { forgotten: [], isKept: [true, false] });
  fill(kept, "b", [65]);
  assertEquals(fill(kept, "a", [40]), { forgotten: [], isKept: [false] });
});

Deno.test("kept items: what is deleted leaves room, once", () => {
  const kept = new KeptItems();
  const item = { size: 60, forget() {} };
  kept.keep("a", item, SHARED);
  kept.delete("a", item);
  kept.delete("a", item);
  assertEquals(kept.taken, 0);
});
