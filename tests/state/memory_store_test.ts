import { assertEquals, assertRejects } from "@std/assert";
import { createMemoryStore } from "../../src/state/memory_store.ts";
import type { Store } from "../../src/state/store.ts";
import { put } from "./put.ts";

/** The key and the value take 10 bytes as JSON: `["a"]` and `"xxx"`. */
const VALUE = "xxx";

async function kept(store: Store, keys: string): Promise<string> {
  const values = await Promise.all([...keys].map(async (key) => await store.get([key]) === undefined ? "" : key));
  return values.join("");
}

Deno.test("memory store: above the limit the oldest go first, and what is set anew is new", async () => {
  const store = createMemoryStore({ now: () => 0, limitBytes: 30 });
  for (const key of "abc") await put(store, [key], VALUE, 1);
  assertEquals(await kept(store, "abc"), "abc");
  await put(store, ["a"], VALUE, 1);
  await put(store, ["d"], VALUE, 1);
  assertEquals(await kept(store, "abcd"), "acd");
  await put(store, ["e"], "x".repeat(13), 1);
  assertEquals(await kept(store, "abcde"), "de");
});

Deno.test("memory store: what is deleted or has expired makes room", async () => {
  const clock = { time: 0 };
  const store = createMemoryStore({ now: () => clock.time, limitBytes: 30 });
  await put(store, ["a"], VALUE, 2);
  await put(store, ["b"], VALUE, 2);
  await put(store, ["c"], VALUE, 1);
  await store.delete(["b"]);
  await put(store, ["d"], VALUE, 2);
  assertEquals(await kept(store, "abcd"), "acd");
  clock.time = 1;
  assertEquals(await kept(store, "abcd"), "ad");
  await put(store, ["e"], VALUE, 2);
  assertEquals(await kept(store, "abcde"), "ade");
});

Deno.test("memory store: a value above the limit is refused, and costs no other", async () => {
  const store = createMemoryStore({ now: () => 0, limitBytes: 30 });
  await put(store, ["a"], VALUE, 1);
  const large = "x".repeat(24);
  await assertRejects(() => put(store, ["b"], large, 1), Error, "Cannot store 31 bytes: the store holds 30 in all");
  assertEquals(await kept(store, "ab"), "a");
});
