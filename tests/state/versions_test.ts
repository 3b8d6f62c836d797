/** Old and new gateways on one store: each record says its form, and what a later one has in it is left alone. */
import { assert, assertEquals } from "@std/assert";
import { runUnsliced } from "../../src/util/sliced_work.ts";
import { Page } from "../../src/state/budget/period_ledger.ts";
import { createConversations } from "../../src/state/conversations.ts";
import { createKeyring } from "../../src/state/keyring.ts";
import { createLedger } from "../../src/state/ledger.ts";
import { createMemoryStore } from "../../src/state/memory_store.ts";
import { createRuns } from "../../src/state/runs.ts";
import type { Store } from "../../src/state/store.ts";
import { createSealer, createSealing, type Sealer } from "../../src/state/seal.ts";
import { createUsageBook, type UsageRow } from "../../src/state/usage_book.ts";
import { Client, talkOf, user } from "./continuity/client.ts";

const DAY = 20_778;
const NOW = DAY * 86_400_000;
const TIMES = { now: () => NOW, patienceMs: 5_000 };
const KEPT = { ...TIMES, retentionMs: 60_000 };
const ROOM = {
  limits: { backgroundResponses: 5, backgroundMs: 60_000, backgroundEvents: 1_000 },
  hasSeveralCallers: true,
};

const RING = { next: ["keyring", "all", "next"], revoked: ["keyring", "all", "revoked"] };

const inMemory = (): Store => createMemoryStore({ now: () => NOW, limitBytes: 1_000_000 });

/** The same store for a writer whose values go through `as`. */
function written(store: Store, as: (value: unknown, key: string) => unknown): Store {
  return {
    ...store,
    get: (key) => store.get(key),
    getRange: (...range) => store.getRange(...range),
    ensure: (key, value) => store.ensure(key, as(value, JSON.stringify(key))),
    delete: (...keys) => store.delete(...keys),
    close() {},
    add: (entries, expiresAt) =>
      store.add(entries.map(([key, value]) => [key, as(value, JSON.stringify(key))] as const), expiresAt),
    update: (key, change) => store.update(key, (value) => as(change(value), JSON.stringify(key))),
  };
}

interface Versioned {
  version: number;
}

const isRecord = (value: unknown): value is Versioned =>
  typeof value === "object" && value !== null && Number.isInteger((value as Versioned).version);

/** The next version of this program: it knows more of everything. */
const later = (store: Store) =>
  written(store, (value) => isRecord(value) ? { ...value, version: 99, tomorrow: { kept: [1] } } : value);

function rowOf(model: string, requests: number): UsageRow {
  const use = { requests, inputTokens: 1, outputTokens: 2, pico: 5n, unpriced: 0, estimated: 0 };
  return { day: "2026-11-21", key: "team", model, ...use };
}

/** Spends two of ten pico-dollars, as the process `id`. */
async function spendTwo(store: Store, id: string): Promise<void> {
  const budget = { name: "team", limit: 10n, period: "month" as const };
  const options = { ...TIMES, store, monotonic: () => 0, newId: () => id, onWarn() {} };
  const page = new Page(budget, { id: "month 2026-11" }, options);
  (await page.reserve({ most: 2n, least: 2n })).settle(2n);
  await page.close();
}

async function sealerOn(store: Store): Promise<Sealer> {
  return (await createSealing({ ...TIMES, store })()).sealer!;
}

const bookOn = (store: Store) => createUsageBook({ ...TIMES, store, retentionDays: 90 });

/** Everything that a gateway keeps, written once. */
async function writeAll(store: Store, name: string) {
  const client = new Client(store, { now: () => NOW, owner: name });
  const [first, second] = await client.talk(["a", "b"]);
  const conversations = createConversations({ ...KEPT, store, longest: 1_000_000 });
  await conversations.create(`conv_${name}`, { topic: "t" }, [user("hello")], name);
  await conversations.change(`conv_${name}`, name, { messages: [user("again")] });
  const runs = createRuns({ ...KEPT, store });
  const facts = { id: `run_${name}`, created: 1, model: "m", messages: [user("slow")], keep: {} };
  const run = await runs.begin(facts, name, false, ROOM);
  await run.end({ code: "upstream_error", message: "It failed" });
  const ring = createKeyring(store, () => NOW);
  await ring.create({ name: `${name} for a while` });
  await ring.revoke(`${name} for a while`);
  const key = await ring.create({ name, lanes: ["oss"] });
  const ledger = createLedger({ ...TIMES, store });
  await ledger.open("team", DAY);
  ledger.add("team", DAY, 10);
  await ledger.close();
  const book = bookOn(store);
  book.add(rowOf("m", 1));
  await book.close();
  await spendTwo(store, name);
  await sealerOn(store);
  return { ids: [first!, second!], key: key! };
}

/** What a gateway finds of that. */
async function readAll(store: Store, name: string, { ids }: { ids: string[] }) {
  const client = new Client(store, { now: () => NOW, owner: name });
  const conversations = createConversations({ ...KEPT, store, longest: 1_000_000 });
  const { run, model } = (await createRuns({ ...KEPT, store }).find(`run_${name}`, name))!;
  const [key] = (await createKeyring(store, () => NOW).list({ limit: 10 })).filter((key) => key.name === name);
  return {
    before: await client.before(ids[1]!),
    conversation: (await conversations.get(`conv_${name}`, name)).items.map(({ message }) => message),
    run: { model, status: run?.status },
    key: { name: key?.name, lanes: key?.lanes },
  };
}

const FOUND = (name: string) => ({
  before: talkOf("a", "b"),
  conversation: [user("hello"), user("again")],
  run: { model: "m", status: "failed" as const },
  key: { name, lanes: ["oss"] },
});

Deno.test("versions: every record says which form it has", async () => {
  const values = new Map<string, unknown>();
  await writeAll(written(inMemory(), (value, key) => (values.set(key, value), value)), "one");
  const without = [...values].filter(([, value]) => !isRecord(value)).map(([key]) => key);
  assertEquals(without, []);
  assert(values.size > 12, `Only ${values.size} records were written`);
});

Deno.test("versions: old and new gateways on one store read each other's records, and go on with them", async () => {
  const store = inMemory();
  const own = await writeAll(store, "old");
  const theirs = await writeAll(later(store), "new");
  for (const reader of [store, later(store)]) {
    assertEquals(await readAll(reader, "old", own), FOUND("old"));
    assertEquals(await readAll(reader, "new", theirs), FOUND("new"));
  }
  // Back by one version in the middle of a conversation, and forth again.
  const [back, forth] = [store, later(store)].map((one) => new Client(one, { now: () => NOW, owner: "new" }));
  const sealed = (await sealerOn(store)).seal({ text: "thought" }, "wire", "owner");
  assertEquals(runUnsliced((await sealerOn(later(store))).open(sealed, "wire", "owner")), { text: "thought" });
  const third = await back!.turn("c", theirs.ids[1], "third");
  const fourth = await forth!.turn("d", third, "fourth");
  assertEquals(await back!.before(fourth), talkOf("a", "b", "c", "d"));
});

Deno.test("versions: what an older gateway adds to a record of a later form leaves the rest of it as it was", async () => {
  const store = inMemory();
  await writeAll(later(store), "new");
  const places = [["used", "team"], ["usage", "keys"], ["usage", "day", "team", "2026-11-21"], [
    "budget",
    "team",
    "month 2026-11",
  ]];
  // A column and a kind of row that only the later version knows.
  await store.update(places[2]!, (page) => {
    const { rows, ...rest } = page as { rows: object[] };
    return { ...rest, rows: [...rows.map((row) => ({ ...row, seconds: 7 })), { total: 12 }] };
  });
  await store.update(places[3]!, (pool) => {
    const { shares, ...rest } = pool as { shares: Record<string, object> };
    return { ...rest, shares: { new: { ...shares.new, reserved: "1" } } };
  });
  await writeAll(store, "old");
  const pages = await Promise.all(places.map((place) => store.get(place)));
  const added = { version: 99, tomorrow: { kept: [1] } };
  assertEquals(await store.get(RING.next), { ...added, count: 4 });
  assertEquals(await store.get(RING.revoked), { ...added, count: 2 });
  const counts = { requests: 2, inputTokens: 2, outputTokens: 4, unpriced: 0, estimated: 0, pico: "10" };
  assertEquals(pages, [
    { ...added, day: DAY, tokens: 20 },
    { ...added, names: ["team"] },
    { ...added, rows: [{ model: "m", seconds: 7, ...counts }, { total: 12 }] },
    {
      ...added,
      shares: {
        new: { spent: "2", held: "0", until: NOW, reserved: "1" },
        old: { spent: "2", held: "0", until: NOW },
      },
      spent: "0",
    },
  ]);
});

Deno.test("versions: records from before they said their form are read and added to", async () => {
  const store = inMemory();
  const use = { model: "m", requests: 4, inputTokens: 4, outputTokens: 8, unpriced: 0, estimated: 0, pico: "20" };
  const old: [string[], unknown][] = [
    [["used", "team"], { day: DAY, tokens: 32 }],
    [["usage", "keys"], ["team", "other"]],
    [["usage", "day", "team", "2026-11-21"], [use]],
  ];
  const key = btoa("k".repeat(32));
  old.push([["sealing", "key"], key], [RING.next, 7], [RING.revoked, 3]);
  for (const [place, value] of old) await store.update(place, () => value);
  const sealed = createSealer(new TextEncoder().encode("k".repeat(32))).seal({ text: "thought" }, "wire", "owner");
  assertEquals(runUnsliced((await sealerOn(store)).open(sealed, "wire", "owner")), { text: "thought" });
  const ring = createKeyring(store, () => NOW);
  await ring.create({ name: "eighth" });
  await ring.revoke("eighth");
  const { count } = await store.get(RING.next) as { count: number };
  assertEquals([count, JSON.parse(await ring.version())[0]], [8, 4]);
  const ledger = createLedger({ ...TIMES, store });
  await ledger.open("team", DAY);
  assertEquals(ledger.spent("team", DAY), 32);
  const book = bookOn(store);
  book.add(rowOf("m", 1));
  const rows = await book.read(3);
  assertEquals(rows.map(({ key, requests, pico }) => [key, requests, pico]), [["team", 5, 25n]]);
  await Promise.all([ledger.close(), book.close()]);

  const plain = written(store, (value) => {
    if (!isRecord(value)) return value;
    const { version: _, ...rest } = value;
    return rest;
  });
  const before = await writeAll(plain, "old");
  assertEquals(await readAll(store, "old", before), FOUND("old"));
});

Deno.test("versions: keys can be made after an older gateway has lost count of them, and are listed with the others", async () => {
  const store = inMemory();
  const ring = createKeyring(store, () => NOW);
  for (const name of ["a", "b", "c"]) await ring.create({ name });
  for (const lost of [null, NaN, 1]) {
    await store.update(RING.next, () => lost);
    assert(await ring.create({ name: `after ${lost}` }));
    assertEquals(await ring.create({ name: "b" }), undefined);
  }
  const names = (await ring.list({ limit: 10 })).map(({ name }) => name);
  assertEquals(names, ["a", "b", "c", "after null", "after NaN", "after 1"]);
});
