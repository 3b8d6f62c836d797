import { assert, assertEquals, assertMatch, assertRejects } from "@std/assert";
import { digestOf } from "../../src/util/digest.ts";
import { GatewayError } from "../../src/errors.ts";
import { createKeyReader, createKeyring } from "../../src/state/keyring.ts";
import { createMemoryStore } from "../../src/state/memory_store.ts";
import { within } from "../support/wait.ts";

const PATIENCE_MS = 5_000;

function fixture() {
  const clock = { ms: Date.UTC(2026, 10, 21) };
  const now = () => clock.ms;
  const store = createMemoryStore({ now, limitBytes: 1_000_000 });
  return { clock, now, store, keyring: createKeyring(store, now) };
}

Deno.test("keyring: a key is told once, and only its hash is kept", async () => {
  const { store, keyring } = fixture();
  const secret = (await keyring.create({ name: "team", lanes: ["oss"] }))!;
  assertMatch(secret, /^laneway_[\w-]{43}$/);
  assertEquals(await keyring.list(), [
    { name: "team", lanes: ["oss"], digest: digestOf(secret), created: "2026-11-21T00:00:00.000Z" },
  ]);
  assert(!JSON.stringify(await store.get(["keys"])).includes(secret.slice(8)));
});

Deno.test("keyring: no two keys share a name; a revoked one's is free again", async () => {
  const { keyring } = fixture();
  const first = await keyring.create({ name: "team" });
  assertEquals(await keyring.create({ name: "team" }), undefined);
  assertEquals([await keyring.revoke("team"), await keyring.revoke("team")], [true, false]);
  assert(await keyring.create({ name: "team" }) !== first);
});

Deno.test("keyring: a revoked key is gone for a reader within a second, and the store is asked twice a second at most", async () => {
  const { clock, now, keyring } = fixture();
  await keyring.create({ name: "team" });
  let reads = 0;
  const list = () => {
    reads++;
    return keyring.list();
  };
  const keys = createKeyReader({ list }, { now, patienceMs: PATIENCE_MS });
  const names = async () => (await keys()).map(({ name }) => name);
  await Promise.all([names(), names(), names()]);
  await keyring.revoke("team");
  assertEquals([await names(), reads], [["team"], 1]);
  clock.ms += 500;
  assertEquals([await names(), reads], [[], 2]);
});

Deno.test("keyring: while the store fails, the keys that were known last are the keys", async () => {
  const { clock, now, keyring } = fixture();
  await keyring.create({ name: "team" });
  let broken = false;
  const list = () => broken ? Promise.reject(new Error("broken")) : keyring.list();
  const keys = createKeyReader({ list }, { now, patienceMs: PATIENCE_MS });
  await keys();
  broken = true;
  clock.ms += 10_000;
  assertEquals((await keys()).length, 1);
  const none = createKeyReader({ list }, { now, patienceMs: PATIENCE_MS });
  const { code, cause, details } = await assertRejects(none, GatewayError);
  assertEquals([code, (cause as Error).message, details.retryAfter], ["unavailable", "broken", "1"]);
});

Deno.test("keyring: a store that does not answer holds nobody up for long", async () => {
  const { clock, now, keyring } = fixture();
  await keyring.create({ name: "team" });
  let asked = 0;
  let silent = false;
  const list = () => {
    asked++;
    return silent ? new Promise<never>(() => {}) : keyring.list();
  };
  const keys = createKeyReader({ list }, { now, patienceMs: PATIENCE_MS });
  await keys();
  silent = true;
  clock.ms += 10_000;
  const both = await within(5_000, Promise.all([keys(), keys()]));
  // Who comes right after does not wait for the same once more.
  assertEquals([...both, await within(100, keys())].map(({ length }) => length), [1, 1, 1]);
  assertEquals(asked, 2);
  silent = false;
  clock.ms += 500;
  await keyring.revoke("team");
  assertEquals(await keys(), []);
  silent = true;
  const none = createKeyReader({ list }, { now, patienceMs: 5 });
  assertEquals((await assertRejects(none, GatewayError)).code, "unavailable");
});
