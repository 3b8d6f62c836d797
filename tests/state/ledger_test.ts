import { assert, assertEquals, assertInstanceOf } from "@std/assert";
import { openFileStore } from "./file_stores.ts";
import { createLedger } from "../../src/state/ledger.ts";
import { createMemoryStore } from "../../src/state/memory_store.ts";
import type { Store } from "../../src/state/store.ts";
import { heldBy } from "../support/heap.ts";
import { until, within } from "../support/wait.ts";
import { withFolder } from "./temp_folder.ts";

const TODAY = 20_778;

function inMemory(): Store {
  return createMemoryStore({ now: () => 0, limitBytes: 1_000_000 });
}

function ledgerOn(store: Store, patienceMs = 5_000) {
  return createLedger({ store, patienceMs });
}

/** What a gateway that starts now knows of the key's day. */
async function known(store: Store, day = TODAY): Promise<number> {
  const ledger = ledgerOn(store);
  await ledger.open("team", day);
  return ledger.spent("team", day);
}

Deno.test("ledger: what was used is known at once, and after a restart", async () => {
  const store = inMemory();
  const ledger = ledgerOn(store);
  await ledger.open("team", TODAY);
  ledger.add("team", TODAY, 100);
  ledger.add("team", TODAY, -30);
  assertEquals(ledger.spent("team", TODAY), 70);
  await ledger.close();
  assertEquals([ledger.spent("team", TODAY), await known(store)], [70, 70]);
});

Deno.test("ledger: the store is told within a second, without anybody asking", async () => {
  const store = inMemory();
  const ledger = ledgerOn(store);
  ledger.add("team", TODAY, 5);
  await until(async () => await known(store) === 5);
  await ledger.close();
});

Deno.test("ledger: gateways on one store add up, whoever writes when", async () => {
  await withFolder(async (folder) => {
    const stores = [0, 1, 2].map(() => openFileStore(`${folder}/store.sqlite3`, Date.now));
    const ledgers = stores.map((store) => ledgerOn(store));
    for (let round = 0; round < 5; round++) {
      for (const ledger of ledgers) {
        ledger.add("team", TODAY, 1);
        ledger.add("other", TODAY, 10);
      }
      await Promise.all(ledgers.map((ledger) => ledger.close()));
    }
    assertEquals(await known(stores[0]!), 15);
    // Who was told of the others is bound by them.
    const totals = ledgers.map((ledger) => ledger.spent("team", TODAY));
    assertEquals(Math.max(...totals), 15);
    for (const store of stores) store.close();
  });
});

Deno.test("ledger: a new day begins at nothing, and takes nothing from a gateway that is there already", async () => {
  const store = inMemory();
  const ledger = ledgerOn(store);
  ledger.add("team", TODAY, 100);
  await ledger.close();
  assertEquals([ledger.spent("team", TODAY + 1), await known(store, TODAY + 1)], [0, 0]);
  const ahead = ledgerOn(store);
  ahead.add("team", TODAY + 1, 7);
  await ahead.close();
  const behind = ledgerOn(store);
  behind.add("team", TODAY, 50);
  await behind.close();
  assertEquals(await known(store, TODAY + 1), 7);
});

Deno.test("ledger: what is given back of the day before gives nobody more than a day's worth", async () => {
  const store = inMemory();
  const ledger = ledgerOn(store);
  ledger.add("team", TODAY, -40);
  assertEquals(ledger.spent("team", TODAY), 0);
  await ledger.close();
  assertEquals(await known(store), 0);
});

Deno.test("ledger: a store that fails is told later, all and once", async () => {
  const store = inMemory();
  let broken = true;
  const failing: Store = {
    ...store,
    get: (key) => broken ? Promise.reject(new Error("No such disk")) : store.get(key),
    update: (key, change) => broken ? Promise.reject(new Error("No such disk")) : store.update(key, change),
  };
  const other = ledgerOn(store);
  other.add("team", TODAY, 1_000);
  await other.close();
  const ledger = ledgerOn(failing);
  assertInstanceOf(await ledger.open("team", TODAY), Error);
  assertEquals(await ledger.open("team", TODAY), undefined, "which is told once");
  ledger.add("team", TODAY, 5);
  await ledger.close();
  assertEquals(ledger.spent("team", TODAY), 5);
  broken = false;
  ledger.add("team", TODAY, 6);
  await until(() => ledger.spent("team", TODAY) === 1_011);
  await ledger.close();
  assertEquals(await known(store), 1_011);
});

Deno.test("ledger: a store that hangs holds up neither a request nor the end for long", async () => {
  const hanging: Store = {
    ...inMemory(),
    get: () => new Promise(() => {}),
    update: () => new Promise(() => {}),
  };
  const ledger = ledgerOn(hanging, 20);
  assertInstanceOf(await within(ledger.open("team", TODAY)), Error);
  ledger.add("team", TODAY, 5);
  await within(ledger.close());
});

Deno.test("ledger: what is given back of yesterday's is not today's", async () => {
  const store = inMemory();
  const ledger = ledgerOn(store);
  ledger.add("team", TODAY - 1, 400);
  // A request over midnight that used less than it was thought to.
  ledger.add("team", TODAY, -400);
  ledger.add("team", TODAY, 1_000);
  assertEquals(ledger.spent("team", TODAY), 1_000);
  await ledger.close();
  assertEquals(await known(store), 1_000);
});

Deno.test("ledger: among any number of keys, what each used is known, and few are held", async () => {
  const store = inMemory();
  const ledger = ledgerOn(store);
  await ledger.open("team", TODAY);
  ledger.add("team", TODAY, 7);
  const bytes = await heldBy(async () => {
    for (let at = 0; at < 100_000; at++) await ledger.open(`other ${at}`, TODAY);
    return ledger;
  });
  assert(bytes < 16 * 2 ** 20, `${bytes} bytes are held`);
  assertEquals(ledger.spent("team", TODAY), 7, "What is not saved is not forgotten");
  await ledger.close();
  for (let at = 0; at < 50_000; at++) await ledger.open(`more ${at}`, TODAY);
  await ledger.open("team", TODAY);
  assertEquals(ledger.spent("team", TODAY), 7);
  await ledger.close();
});
