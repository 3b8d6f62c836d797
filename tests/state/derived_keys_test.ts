import { assertEquals, assertNotEquals, assertRejects } from "@std/assert";
import { GatewayError } from "../../src/errors.ts";
import { createKeyDerivation } from "../../src/state/derived_keys.ts";
import { createMemoryStore } from "../../src/state/memory_store.ts";
import type { Store } from "../../src/state/store.ts";

const newStore = () => createMemoryStore({ now: () => 0, limitBytes: 1_000_000 });

Deno.test("derived keys: all gateways on a store have the same key for a purpose, and another for another", async () => {
  const store = newStore();
  const [one, other] = [
    createKeyDerivation({ store, patienceMs: 100 }),
    createKeyDerivation({ store, patienceMs: 100 }),
  ];
  const key = await one("a");
  assertEquals([key.length, await one("a"), await other("a")], [32, key, key]);
  assertNotEquals(await one("b"), key);
  assertNotEquals(await createKeyDerivation({ store: newStore(), patienceMs: 100 })("a"), key);
});

Deno.test("derived keys: with a secret of the configuration, the store is not needed", async () => {
  const store = { ensure: () => Promise.reject(new Error("down")) } as unknown as Store;
  const derive = (secret: string) => createKeyDerivation({ secret, store, patienceMs: 100 })("a");
  assertEquals(await derive("a secret of some length"), await derive("a secret of some length"));
  assertNotEquals(await derive("a secret of some length"), await derive("another secret of some length"));
});

Deno.test("derived keys: a store that failed is asked again", async () => {
  const store = newStore();
  let isDown = true;
  const derive = createKeyDerivation({
    store: {
      ensure: (...args: Parameters<Store["ensure"]>) =>
        isDown ? Promise.reject(new Error("secret")) : store.ensure(...args),
    } as Store,
    patienceMs: 100,
  });
  const error = await assertRejects(() => derive("a"), GatewayError, "The store did not give the gateway's key");
  assertEquals(error.code, "unavailable");
  isDown = false;
  assertEquals((await derive("a")).length, 32);
});
