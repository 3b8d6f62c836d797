/** Sums over time, and what the store keeps of them. */
import { assertEquals, assertRejects } from "@std/assert";
import { createMemoryStore } from "../../src/state/memory_store.ts";
import { createSeriesBook, type SeriesBook } from "../../src/state/series/book.ts";
import { largest, type Query, querySeries } from "../../src/state/series/query.ts";
import { namesOf, programOf, type SeriesEntry } from "../../src/state/series/rows.ts";
import { DAY_MS, tierFor, tiersFor } from "../../src/state/series/tiers.ts";
import { ENGINES } from "./engines.ts";
import type { Store } from "../../src/state/store.ts";

const NOON = Date.parse("2027-01-31T12:00:30.000Z");
const HOUR_MS = 3_600_000;

function storeAt(clock: { now: number }): Store {
  return createMemoryStore({ now: () => clock.now, limitBytes: 2 ** 24 });
}

function bookOn(store: Store, clock: { now: number }, retentionDays = 365): SeriesBook {
  return createSeriesBook({ store, now: () => clock.now, retentionDays, patienceMs: 1_000, gatherMs: 1e6 });
}

const entryAt = (ms: number, more: Partial<SeriesEntry> = {}): SeriesEntry => ({
  time: new Date(ms - 100).toISOString(),
  status: 200,
  durationMs: 100,
  model: "glm-5.3",
  target: "fake/GLM",
  key: "anna",
  client: "claude-cli/2.3.1 (external)",
  lane: "oss",
  usage: { inputTokens: 100, outputTokens: 10, cachedInputTokens: 40, reasoningTokens: 4 },
  cost: "0.25",
  ...more,
});

const last = (ms: number, now: number, more: Partial<Query> = {}): Query => ({
  range: { from: now - ms + 1, to: now + 1 },
  filter: new Map(),
  isCompared: false,
  ...more,
});

Deno.test("series: errors are counted by their kind", async () => {
  const clock = { now: NOON };
  const store = storeAt(clock);
  const book = bookOn(store, clock);
  for (const status of [200, 400, 404, 429, 499, 500, 529]) book.add(entryAt(NOON, { status }));
  await book.close();
  const { total: { total } } = await querySeries(bookOn(store, clock), last(60_000, NOON), NOON);
  const { errors, rejected, rateLimited, closed, failed } = total;
  assertEquals([errors, rejected, rateLimited, closed, failed], [6, 2, 1, 1, 2]);
});

Deno.test("series: requests are found in the step in which they ended, with their sums", async () => {
  const clock = { now: NOON };
  const book = bookOn(storeAt(clock), clock);
  book.add(entryAt(NOON - 120_000, { notes: ["dropped a", "relaxed b: refused by fake"] }));
  book.add(entryAt(NOON - 120_000, { status: 500, error: "internal", usage: undefined, cost: undefined }));
  book.add(entryAt(NOON, { cost: undefined }));
  const { tier, total, from, to } = await querySeries(book, last(15 * 60_000, NOON), NOON);
  assertEquals([tier.name, total.steps.length, (to - from) / tier.ms], ["minute", 16, 16]);
  assertEquals(total.steps.map((sums) => sums?.requests ?? 0), [...new Array(13).fill(0), 2, 0, 1]);
  const { requests, errors, inputTokens, cachedTokens, outputTokens, reasoningTokens, cacheHits } = total.total;
  assertEquals([requests, errors, inputTokens, cachedTokens], [3, 1, 200, 80]);
  assertEquals([outputTokens, reasoningTokens, cacheHits], [20, 8, 2]);
  assertEquals([total.total.notes, total.total.relaxations, total.total.unpriced], [2, 1, 1]);
  assertEquals(total.total.pico, 250_000_000_000n);
});

Deno.test("series: requests are grouped and filtered by any names, and compared with the time before", async () => {
  const clock = { now: NOON };
  const book = bookOn(storeAt(clock), clock);
  for (const [key, model, ago] of [["anna", "a", 0], ["anna", "b", 0], ["ben", "a", 0], ["ben", "a", 30]] as const) {
    book.add(entryAt(NOON - ago * HOUR_MS, { key, model }));
  }
  const answer = await querySeries(
    book,
    last(24 * HOUR_MS, NOON, { by: "key", filter: new Map([["model", new Set(["a"])]]), isCompared: true }),
    NOON,
  );
  const counts = (groups: typeof answer.groups) => Array.from(groups, ([name, { total }]) => [name, total.requests]);
  assertEquals(counts(answer.groups), [["anna", 1], ["ben", 1]]);
  assertEquals(counts(answer.before!.groups), [["ben", 1]]);
  assertEquals(answer.before!.to, answer.from);
  assertEquals([...answer.names.get("model")!].sort(), ["a", "b"], "The filter can be changed");
  assertEquals([...answer.names.get("client")!], ["claude-cli"]);
});

Deno.test("series: they outlast the gateway, and are those of all gateways on a store", async () => {
  const clock = { now: NOON };
  const store = storeAt(clock);
  const [one, other] = [bookOn(store, clock), bookOn(store, clock)];
  one.add(entryAt(NOON, { durationMs: 100 }));
  other.add(entryAt(NOON, { durationMs: 100 }));
  await Promise.all([one.close(), other.close()]);
  const { total } = await querySeries(bookOn(store, clock), last(HOUR_MS, NOON), NOON);
  assertEquals([total.total.requests, total.total.duration.size], [2, 1]);
});

for (const [kind, { isMissing, run }] of Object.entries(ENGINES)) {
  Deno.test({
    name: `series: gateways that write at once to a ${kind} store lose nothing`,
    ignore: isMissing,
    fn: () =>
      run(async (open) => {
        const clock = { now: NOON };
        // Each memory is a store of its own.
        const [memory] = kind === "memory" ? [open()] : [];
        const books = Array.from({ length: 4 }, () => bookOn(memory ?? open(), clock));
        for (let round = 0; round < 3; round++) {
          for (const [index, book] of books.entries()) {
            book.add(entryAt(NOON - round * 60_000, { key: `key-${index}` }));
          }
          await Promise.all(books.map((book) => book.close()));
        }
        const { total, groups } = await querySeries(books[0]!, last(HOUR_MS, NOON, { by: "key" }), NOON);
        assertEquals(total.total.requests, 12);
        assertEquals(Array.from(groups.values(), ({ total }) => total.requests), [3, 3, 3, 3]);
        assertEquals(total.steps.slice(-3).map((sums) => sums?.requests), [4, 4, 4]);
      }),
  });
}

Deno.test("series: what is no longer kept is removed, also if the gateway was off meanwhile", async () => {
  const clock = { now: NOON };
  const store = storeAt(clock);
  const held = new Set<string>();
  const watched: Store = {
    ...store,
    update: (key, change) => (held.add(JSON.stringify(key)), store.update(key, change)),
    delete: (...keys) => (keys.forEach((key) => held.delete(JSON.stringify(key))), store.delete(...keys)),
  };
  for (let hour = 0; hour < 6; hour++) {
    clock.now = NOON + hour * HOUR_MS;
    const book = bookOn(watched, clock, 2);
    book.add(entryAt(clock.now));
    await book.close();
  }
  const stepsOf = (tier: string) => [...held].filter((key) => key.startsWith(`["series","steps","${tier}"`)).length;
  assertEquals([stepsOf("minute"), stepsOf("quarter"), stepsOf("hour"), stepsOf("day")], [3, 6, 6, 1]);
  clock.now += 400 * DAY_MS;
  const book = bookOn(watched, clock, 2);
  book.add(entryAt(clock.now));
  await book.close();
  assertEquals([stepsOf("minute"), stepsOf("quarter"), stepsOf("hour"), stepsOf("day")], [1, 1, 1, 1]);
});

Deno.test("series: nothing is lost or counted twice while the store refuses", async () => {
  const clock = { now: NOON };
  const store = storeAt(clock);
  let isDown = true;
  const book = bookOn({
    ...store,
    update: (key, change) => isDown ? Promise.reject(new Error("down")) : store.update(key, change),
  }, clock);
  book.add(entryAt(NOON));
  await assertRejects(() => querySeries(book, last(HOUR_MS, NOON), NOON), Error, "down");
  isDown = false;
  for (let times = 0; times < 2; times++) {
    const { total } = await querySeries(book, last(HOUR_MS, NOON), NOON);
    assertEquals(total.total.requests, 1);
  }
});

Deno.test("series: each range has steps that are kept for all of it and for the time before", () => {
  const tiers = tiersFor(365);
  const stepOf = (ms: number, isCompared: boolean, ago = 0) => {
    const range = { from: NOON - ago - ms + 1, to: NOON - ago + 1 };
    return tierFor(tiers, range, NOON, isCompared).name;
  };
  for (const isCompared of [false, true]) {
    assertEquals(stepOf(15 * 60_000, isCompared), "minute");
    assertEquals(stepOf(HOUR_MS, isCompared), "minute");
    assertEquals(stepOf(6 * HOUR_MS, isCompared), "quarter");
    assertEquals(stepOf(24 * HOUR_MS, isCompared), "quarter");
    assertEquals(stepOf(7 * DAY_MS, isCompared), "hour");
    assertEquals(stepOf(30 * DAY_MS, isCompared), "day");
    assertEquals(stepOf(90 * DAY_MS, isCompared), "day");
  }
  assertEquals(stepOf(15 * 60_000, false, 3 * HOUR_MS), "quarter", "A part that was chosen in an earlier time");
  assertEquals(stepOf(1, false, 1_000 * DAY_MS), "day");
});

Deno.test("series: the largest groups are shown, and the others as one", async () => {
  const clock = { now: NOON };
  const book = bookOn(storeAt(clock), clock);
  for (const [at, key] of ["a", "b", "b", "c", "c", "c", "other"].entries()) book.add(entryAt(NOON - at, { key }));
  const { groups } = await querySeries(book, last(HOUR_MS, NOON, { by: "key" }), NOON);
  const shown = (most: number) =>
    largest(groups, most, ({ requests }) => requests).map(([name, { total }]) => [name, total.requests]);
  assertEquals(shown(3), [["c", 3], ["b", 2], ["other", 2]]);
  assertEquals(shown(4).length, 4);
});

Deno.test("series: a client is a program, not one of its versions", () => {
  assertEquals(
    ["claude-cli/2.3.1 (external, cli)", "OpenAI/Python 2.8.0", "curl", "", undefined].map(programOf),
    ["claude-cli", "OpenAI", "curl", "", ""],
  );
  const names = namesOf(entryAt(NOON, { client: "x".repeat(1_000), model: "a\u0000b\ud800", team: undefined }));
  assertEquals([names[5]!.length, names[0], names[4]], [64, "a?b\ufffd", ""]);
});
