/** Records of files that many requests change at once. */
import { assert, assertEquals, assertRejects } from "@std/assert";
import { GatewayError } from "../../src/errors.ts";
import { createFileContents, inStore } from "../../src/state/file_contents.ts";
import { createFiles } from "../../src/state/files.ts";
import { createMemoryStore } from "../../src/state/memory_store.ts";
import type { Store } from "../../src/state/store.ts";

const FACTS = { name: "a.txt", mediaType: "text/plain" };
const LIMITS = { bytesPerKey: 1e6, totalBytes: 1e6, filesPerKey: 100 };

/** Files in a store whose updates pass through `update`. */
function filesOver(
  update: (whole: Store["update"], ...args: Parameters<Store["update"]>) => Promise<void>,
  now = () => 0,
) {
  const memory = createMemoryStore({ now, limitBytes: 1e9 });
  const store: Store = { ...memory, update: (...args) => update(memory.update, ...args) };
  const contents = createFileContents(inStore(memory, 60_000), () => Promise.resolve(new Uint8Array(32)));
  return createFiles({ store, contents, ...LIMITS, now, patienceMs: 60_000 });
}

Deno.test("files: pieces that arrive at once do not make the store repeat their updates", async () => {
  const running = new Set<string>();
  let met = 0;
  const files = filesOver(async (whole, key, change) => {
    const name = JSON.stringify(key);
    // A store repeats the later one of two.
    if (running.has(name)) met++;
    running.add(name);
    await Promise.resolve();
    await whole(key, change);
    running.delete(name);
  });
  await files.begin("one", "id", FACTS, 100);
  const parts = await Promise.all(Array.from({ length: 100 }, () => files.add("one", "id", new Uint8Array(1))));
  assertEquals(parts.map(({ part }) => part).sort((a, b) => a - b), [...parts.keys()]);
  assertEquals((await files.complete("one", "id", { parts: parts.map(({ part }) => part) })).bytes, 100);
  assertEquals(met, 0);
});

Deno.test("files: an update that fails holds up none behind it, nor does one key another", async () => {
  const held = Promise.withResolvers<void>();
  let isHeld = false;
  const files = filesOver(async (whole, key, change) => {
    if (isHeld && JSON.stringify(key).includes('"one"')) await held.promise;
    await whole(key, change);
  });
  await files.begin("one", "id", FACTS, 9);
  isHeld = true;
  const added = [1, 2, 3].map((bytes) => files.add("one", "id", new Uint8Array(bytes)));
  const ended = Promise.allSettled(added);
  await files.create("two", "other", FACTS, new Uint8Array(9));
  isHeld = false;
  held.reject(new Error("the store was away"));
  assertEquals((await ended).map(({ status }) => status), ["rejected", "fulfilled", "fulfilled"]);
  assertEquals((await files.progress("one", "id")).received, 5);
});

Deno.test("files: one that does not fit takes no room from another key while it is refused", async () => {
  let updates = 0;
  let small: Promise<unknown> | undefined;
  const files = filesOver(async (whole, key, change) => {
    // The second removes what the first has begun.
    if (JSON.stringify(key).includes('"large"') && ++updates === 2) {
      small = files.create("small", "id", FACTS, new Uint8Array(9));
      await small.catch(() => {});
    }
    await whole(key, change);
  });
  await files.begin("first", "id", FACTS, 600_000);
  await assertRejects(() => files.begin("large", "id", FACTS, 600_000), GatewayError, "The files of all keys");
  await small;
  assertEquals((await files.holdings()).map(({ owner }) => owner), ["first", "small"]);
});

Deno.test("files: a record does not grow when uploads of many parts are removed", async () => {
  let now = 0;
  const lengths: number[] = [];
  const files = filesOver((whole, key, change) =>
    whole(key, (value) => {
      const changed = change(value);
      if (key[0] === "files") lengths.push(JSON.stringify(changed).length);
      return changed;
    }), () => now);
  for (const id of ["a", "b", "c"]) {
    await files.begin("one", id, FACTS, 50);
    for (let part = 0; part < 50; part++) await files.add("one", id, new Uint8Array(1));
  }
  const longest = Math.max(...lengths.splice(0));
  await files.cancel("one", "a");
  now += 3_600_000;
  await files.create("one", "new", FACTS, new Uint8Array(1));
  assert(Math.max(...lengths) <= longest, `${lengths}, after ${longest}`);
  assertEquals(await files.holdings(), [{ owner: "one", bytes: 4_001, files: 1 }]);
});
