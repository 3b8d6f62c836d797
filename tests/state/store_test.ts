/** What every store does, whatever it keeps its values in. */
import { assertEquals } from "@std/assert";
import fc from "fast-check";
import type { JsonValue } from "../../src/canonical/json.ts";
import type { Store } from "../../src/state/store.ts";
import { ENGINES } from "./engines.ts";
import { put } from "./put.ts";

const LATER = 1_000_000;

interface Clock {
  time: number;
}

for (const [kind, { isMissing, run }] of Object.entries(ENGINES)) {
  const test = (name: string, use: (store: Store, clock: Clock, open: () => Store) => Promise<void>) =>
    Deno.test({
      name: `${kind} store: ${name}`,
      ignore: isMissing,
      fn: () => run((open, clock) => use(open(), clock, open)),
    });

  test("gives back what was set, until it is set anew or deleted", async (store) => {
    assertEquals(await store.get(["a"]), undefined);
    await put(store, ["a"], { text: "one" }, LATER);
    assertEquals(await store.get(["a"]), { text: "one" });
    await put(store, ["a"], { text: "two" }, LATER);
    assertEquals(await store.get(["a"]), { text: "two" });
    assertEquals(await store.delete(["a"]), true);
    assertEquals(await store.get(["a"]), undefined);
    assertEquals(await store.delete(["a"]), false);
  });

  test("has nothing from the moment that a value expires", async (store, clock) => {
    await put(store, ["short"], "x".repeat(100), 10);
    await put(store, ["long"], "x".repeat(100_000), 10);
    await put(store, ["unread"], "x", 10);
    clock.time = 9;
    assertEquals([await store.get(["short"]), await store.get(["long"])], ["x".repeat(100), "x".repeat(100_000)]);
    clock.time = 10;
    assertEquals([await store.get(["short"]), await store.get(["long"])], [undefined, undefined]);
    for (const key of ["short", "long", "unread"]) assertEquals(await store.delete([key]), false);
  });

  test("keeps nothing that has expired when it is set", async (store, clock) => {
    clock.time = 10;
    await put(store, ["a"], 1, LATER);
    await put(store, ["a"], 2, 10);
    assertEquals(await store.get(["a"]), undefined);
  });

  test("keeps for good what is to have no end", async (store, clock) => {
    assertEquals(await store.add([[["a"], 1], [["long"], "x".repeat(100_000)]], Infinity), true);
    clock.time = Number.MAX_SAFE_INTEGER - 1;
    assertEquals([await store.get(["a"]), (await store.get(["long"]) as string).length], [1, 100_000]);
  });

  test("keeps for good the first value that is to be there, and gives it to all", async (store, clock) => {
    const first = store.ensure(["key"], "one");
    const others = Array.from({ length: 9 }, (_, index) => store.ensure(["key"], `other ${index}`));
    assertEquals(new Set(await Promise.all([first, ...others])).size, 1);
    const kept = await store.ensure(["key"], "late");
    assertEquals(kept, await first);
    clock.time = Number.MAX_SAFE_INTEGER - 1;
    assertEquals([await store.ensure(["key"], "later"), await store.get(["key"])], [kept, kept]);
  });

  test("takes another value to be there where what was set has expired", async (store, clock) => {
    await put(store, ["a"], "x".repeat(100_000), 10);
    clock.time = 10;
    assertEquals(await store.ensure(["a"], "new"), "new");
  });

  test("loses none of the changes that come at once, and keeps what they make for good", async (store, clock) => {
    const add = (text: string) => store.update(["list"], (list) => [...(list ?? []) as string[], text].sort());
    const texts = Array.from({ length: 9 }, (_, index) => String(index).repeat(index < 5 ? 1 : 20_000));
    await Promise.all(texts.map(add));
    clock.time = Number.MAX_SAFE_INTEGER - 1;
    assertEquals(await store.get(["list"]), texts.toSorted());
    await store.update(["list"], () => []);
    assertEquals(await store.get(["list"]), []);
  });

  test("adds all or nothing", async (store, clock) => {
    assertEquals(await store.add([[["a"], 1], [["b"], 2]], 10), true);
    assertEquals(await store.add([[["c"], 3], [["b"], 4]], LATER), false);
    assertEquals(await Promise.all(["a", "b", "c"].map((key) => store.get([key]))), [1, 2, undefined]);
    clock.time = 10;
    // What has expired is in nobody's way.
    assertEquals(await store.add([[["c"], 3], [["b"], "x".repeat(100_000)]], LATER), true);
    assertEquals(await store.get(["b"]), "x".repeat(100_000));
  });

  test("lets one of those win who add the same at once", async (store) => {
    const added = await Promise.all(
      Array.from({ length: 9 }, (_, index) => store.add([[["own", String(index)], index], [["slot"], index]], LATER)),
    );
    const winner = added.indexOf(true);
    assertEquals([added.filter((one) => one).length, await store.get(["slot"])], [1, winner]);
    for (const index of added.keys()) {
      assertEquals(await store.get(["own", String(index)]), index === winner ? index : undefined);
    }
  });

  test("reads the positions of a list, with gaps where there is nothing", async (store, clock) => {
    const list = (name: string, position: number) => ["list", name, position];
    for (const position of [1, 2, 4, 5, 10]) {
      const value = position === 4 ? "x".repeat(200_000) : position;
      await store.add([[list("a", position), value]], position === 5 ? 10 : LATER);
    }
    await store.add([[list("b", 3), "another's"], [["list", "a"], "the list's own"]], LATER);
    clock.time = 10;
    const large = "x".repeat(200_000);
    assertEquals(await store.getRange(["list", "a"], 1, 5), [1, 2, undefined, large, undefined]);
    assertEquals(await store.getRange(["list", "a"], 9, 12), [undefined, 10, undefined, undefined]);
    assertEquals(await store.getRange(["list"], 1, 3), [undefined, undefined, undefined]);
    assertEquals([await store.get(list("a", 2)), await store.get(["list", "a", "2"])], [2, undefined]);
    assertEquals(await store.delete(list("a", 2)), true);
    assertEquals(await store.getRange(["list", "a"], 1, 3), [1, undefined, undefined]);
  });

  test("reads a list of a thousand positions", async (store) => {
    const numbers = Array.from({ length: 1_000 }, (_, index) => index + 1);
    for (const number of numbers) await store.add([[["list", number], number]], LATER);
    assertEquals(await store.getRange(["list"], 1, 1_000), numbers);
  });

  test("deletes all at once where the first is there", async (store, clock) => {
    await store.add([[["a"], 1], [["b"], "x".repeat(100_000)], [["c"], 3]], LATER);
    assertEquals(await store.delete(["none"], ["a"]), false);
    assertEquals(await store.get(["a"]), 1);
    assertEquals(await store.delete(["a"], ["b"], ["none"]), true);
    assertEquals(await Promise.all(["a", "b", "c"].map((key) => store.get([key]))), [undefined, undefined, 3]);
    await store.add([[["expired"], 1]], 10);
    clock.time = 10;
    assertEquals([await store.delete(["expired"], ["c"]), await store.get(["c"])], [false, 3]);
  });

  test("keeps a copy, and gives copies", async (store) => {
    const value = { list: [1] };
    await put(store, ["a"], value, LATER);
    value.list.push(2);
    const got = await store.get(["a"]);
    assertEquals(got, { list: [1] });
    (got as typeof value).list.push(3);
    assertEquals(await store.get(["a"]), { list: [1] });
  });

  test("tells all keys apart, of any length", async (store) => {
    const long = "k".repeat(10_000);
    const keys = [[], [""], ["", ""], ["a", "b"], ["a,b"], ["ab"], ["a\0b"], ["\ud800"], ["\ud801"], [long], [
      `${long}k`,
    ]];
    for (const [index, key] of keys.entries()) await put(store, key, index, LATER);
    for (const [index, key] of keys.entries()) assertEquals(await store.get(key), index);
  });

  test("keeps every length of text, in characters of any length", async (store) => {
    for (const length of [0, 63_998, 63_999, 65_500, 65_533, 65_534, 65_535, 131_070, 131_071, 786_430, 786_431]) {
      for (const character of ["x", "é", "\u{1f600}", "\ud800"]) {
        const text = character.repeat(length / character.length);
        await put(store, ["a"], text, LATER);
        assertEquals(await store.get(["a"]) === text, true, `${length} of ${JSON.stringify(character)}`);
      }
    }
  });

  test("keeps a turn with large images", async (store) => {
    const images = Array.from({ length: 3 }, (_, index) => String(index).repeat(9_000_000));
    await put(store, ["a"], images, LATER);
    assertEquals(JSON.stringify(await store.get(["a"])) === JSON.stringify(images), true);
  });

  test("keeps any JSON", async (store) => {
    await fc.assert(
      fc.asyncProperty(fc.jsonValue(), async (value) => {
        await put(store, ["a"], value as JsonValue, LATER);
        assertEquals(await store.get(["a"]), JSON.parse(JSON.stringify(value)));
      }),
      { seed: 1 },
    );
  });
}
