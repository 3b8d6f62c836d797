/** What every store does, whatever it keeps its values in. */
import { assertEquals } from "@std/assert";
import fc from "fast-check";
import type { JsonValue } from "../../src/canonical/json.ts";
import { openKvFile } from "../../src/state/kv_file.ts";
import { createKvStore } from "../../src/state/kv_store.ts";
import { createMemoryStore } from "../../src/state/memory_store.ts";
import type { Store } from "../../src/state/store.ts";
import { withFolder } from "./temp_folder.ts";

const LATER = 1_000_000;

interface Clock {
  time: number;
}

const stores: Record<string, (now: () => number, folder: string) => Store> = {
  memory: (now) => createMemoryStore({ now, limitBytes: 200_000_000 }),
  kv: (now, folder) => createKvStore({ open: () => openKvFile(`${folder}/store.sqlite3`), now }),
};

for (const [kind, create] of Object.entries(stores)) {
  const test = (name: string, use: (store: Store, clock: Clock) => Promise<void>) =>
    Deno.test(`${kind} store: ${name}`, () =>
      withFolder(async (folder) => {
        const clock = { time: 0 };
        const store = create(() => clock.time, folder);
        try {
          await use(store, clock);
        } finally {
          store.close();
        }
      }));

  test("gives back what was set, until it is set anew or deleted", async (store) => {
    assertEquals(await store.get(["a"]), undefined);
    await store.set(["a"], { text: "one" }, LATER);
    assertEquals(await store.get(["a"]), { text: "one" });
    await store.set(["a"], { text: "two" }, LATER);
    assertEquals(await store.get(["a"]), { text: "two" });
    assertEquals(await store.delete(["a"]), true);
    assertEquals(await store.get(["a"]), undefined);
    assertEquals(await store.delete(["a"]), false);
  });

  test("has nothing from the moment that a value expires", async (store, clock) => {
    await store.set(["short"], "x".repeat(100), 10);
    await store.set(["long"], "x".repeat(100_000), 10);
    await store.set(["unread"], "x", 10);
    clock.time = 9;
    assertEquals([await store.get(["short"]), await store.get(["long"])], ["x".repeat(100), "x".repeat(100_000)]);
    clock.time = 10;
    assertEquals([await store.get(["short"]), await store.get(["long"])], [undefined, undefined]);
    for (const key of ["short", "long", "unread"]) assertEquals(await store.delete([key]), false);
  });

  test("keeps nothing that has expired when it is set", async (store, clock) => {
    clock.time = 10;
    await store.set(["a"], 1, LATER);
    await store.set(["a"], 2, 10);
    assertEquals(await store.get(["a"]), undefined);
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
    await store.set(["a"], "x".repeat(100_000), 10);
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

  test("keeps a copy, and gives copies", async (store) => {
    const value = { list: [1] };
    await store.set(["a"], value, LATER);
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
    for (const [index, key] of keys.entries()) await store.set(key, index, LATER);
    for (const [index, key] of keys.entries()) assertEquals(await store.get(key), index);
  });

  test("keeps every length of text, in characters of any length", async (store) => {
    for (const length of [0, 63_998, 63_999, 65_500, 65_533, 65_534, 65_535, 131_070, 131_071, 786_430, 786_431]) {
      for (const character of ["x", "é", "\u{1f600}", "\ud800"]) {
        const text = character.repeat(length / character.length);
        await store.set(["a"], text, LATER);
        assertEquals(await store.get(["a"]) === text, true, `${length} of ${JSON.stringify(character)}`);
      }
    }
  });

  test("keeps a turn with large images", async (store) => {
    const images = Array.from({ length: 3 }, (_, index) => String(index).repeat(9_000_000));
    await store.set(["a"], images, LATER);
    assertEquals(JSON.stringify(await store.get(["a"])) === JSON.stringify(images), true);
  });

  test("keeps any JSON", async (store) => {
    await fc.assert(
      fc.asyncProperty(fc.jsonValue(), async (value) => {
        await store.set(["a"], value as JsonValue, LATER);
        assertEquals(await store.get(["a"]), JSON.parse(JSON.stringify(value)));
      }),
      { seed: 1 },
    );
  });
}
