/** Sums over time lose no request, whatever names clients make up, and take no more room than is documented. */
import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { bucketOf, BUCKETS, type Histogram, observe, quantileOf } from "../../src/state/series/histogram.ts";
import { rowsIn, withRows } from "../../src/state/series/record.ts";
import { addSums, addTo, mostRows, namesOf, noSums, type Rows, sumsOf } from "../../src/state/series/rows.ts";
import { tiersFor } from "../../src/state/series/tiers.ts";
import { law } from "../support/law.ts";

const name = fc.oneof(
  fc.constantFrom("glm-5.3", "other", "", "__proto__", "constructor"),
  fc.string({ unit: "binary", maxLength: 200 }),
);
const count = fc.oneof(fc.integer({ min: 0, max: 100_000 }), fc.constant(Number.MAX_SAFE_INTEGER));
const entry = fc.record({
  time: fc.constant("2027-01-31T08:00:00.000Z"),
  status: fc.constantFrom(200, 429, 500),
  durationMs: fc.double({ min: 0, max: 1e9, noNaN: true }),
  firstEventMs: fc.option(fc.double({ min: 0, max: 1e9, noNaN: true }), { nil: undefined }),
  usage: fc.option(fc.record({ inputTokens: count, outputTokens: count }), { nil: undefined }),
  cost: fc.option(fc.constantFrom("0.25", "1e-6", "not a number"), { nil: undefined }),
  notes: fc.array(fc.constantFrom("dropped top_k", "relaxed top_k: refused by host"), { maxLength: 3 }),
  model: name,
  target: name,
  provider: name,
  key: name,
  team: name,
  client: name,
  lane: name,
}, { requiredKeys: ["time", "status", "durationMs"] });

const ROOM = 8;

/** As they come back from a store. */
const kept = (value: unknown) => JSON.parse(JSON.stringify(value));

law(
  "series: a step has few rows, whatever names there are, and their sum is that of all requests",
  fc.array(fc.array(entry, { maxLength: 40, size: "max" }), { maxLength: 4 }),
  (gatherings) => {
    const all = noSums();
    let record: unknown;
    for (const entries of gatherings) {
      const rows: Rows = new Map();
      for (const one of entries) {
        addTo(rows, namesOf(one), sumsOf(one), ROOM);
        addSums(all, sumsOf(one));
      }
      assert(rows.size <= mostRows(ROOM), `${rows.size} rows`);
      record = kept(withRows(record, rows, ROOM));
    }
    const found = [...rowsIn(record)];
    assert(found.length <= mostRows(ROOM), `${found.length} rows`);
    const sum = noSums();
    for (const { sums } of found) addSums(sum, sums);
    assertEquals(sum, all);
  },
);

law(
  "series: the sums of each key outlast a client that makes up models, programs and providers",
  fc.array(fc.tuple(fc.constantFrom("anna", "ben"), name, name, name), { maxLength: 60, size: "max" }),
  (requests) => {
    const rows: Rows = new Map();
    for (const [key, model, client, provider] of requests) {
      const one = { time: "", status: 200, durationMs: 1, key, model, client, provider, lane: "oss" };
      addTo(rows, namesOf(one), sumsOf(one), ROOM);
    }
    for (const wanted of ["anna", "ben"]) {
      const found = [...rows.values()].filter(({ names }) => names[3] === wanted);
      assertEquals(
        found.reduce((sum, { sums }) => sum + sums.requests, 0),
        requests.filter(([key]) => key === wanted).length,
        wanted,
      );
    }
  },
);

law(
  "series: a quantile is in the bucket of the exact one, so that it is off by half at most",
  fc.tuple(
    fc.array(fc.double({ min: 1, max: 1e6, noNaN: true }), { minLength: 1, maxLength: 200 }),
    fc.constantFrom(0.5, 0.95, 0.99),
  ),
  ([durations, share]) => {
    const histogram: Histogram = new Map();
    for (const ms of durations) observe(histogram, ms);
    const sorted = durations.toSorted((one, other) => one - other);
    const exact = sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)]!;
    const found = quantileOf(histogram, share)!;
    assert(Math.abs(bucketOf(found) - bucketOf(exact)) <= (found < 12 ? 2 : 1), `${found} for ${exact}`);
  },
);

const record = fc.record({
  dimensions: fc.oneof(fc.anything(), fc.array(fc.constantFrom("model", "key", "later"))),
  counts: fc.oneof(fc.anything(), fc.array(fc.constantFrom("requests", "errors", "later"))),
  names: fc.oneof(fc.anything(), fc.array(fc.string())),
  rows: fc.oneof(
    fc.anything(),
    fc.array(fc.array(fc.oneof(fc.anything(), fc.array(fc.integer({ min: -1, max: 50 }))))),
  ),
}, { requiredKeys: [] });

law(
  "series: any record can be read, and any duration has a bucket",
  fc.tuple(fc.oneof(fc.anything(), record), fc.double()),
  ([
    value,
    ms,
  ]) => {
    const rows = [...rowsIn(withRows(value, new Map(), ROOM)), ...rowsIn(value)];
    for (const { sums } of rows) for (const bucket of sums.duration.keys()) assert(bucket >= 0 && bucket < BUCKETS);
    assert(bucketOf(ms) >= 0 && bucketOf(ms) < BUCKETS);
  },
);

Deno.test("series: a record of a version that counts other things, and tells apart by others, is read as far as it is known", () => {
  const found = [...rowsIn({
    dimensions: ["region", "key", "model"],
    counts: ["later", "requests"],
    names: ["eu", "anna", "glm"],
    rows: [[[0, 1, 2], [7, 3], "5", [4, 3], [], "later"]],
  })];
  assertEquals(found.map(({ names, sums: { requests, errors, pico } }) => [names, requests, errors, pico]), [
    [["glm", "", "", "anna", "", "", ""], 3, 0, 5n],
  ]);
});

/** `docs/operation.md` says what all steps come to. */
Deno.test("series: a record of the most and longest rows, and the number of all rows, are as the documents say", () => {
  const rows: Rows = new Map();
  const room = Math.max(...tiersFor(3_650).map(({ room }) => room));
  for (let index = 0; index < 600; index++) {
    const long = (what: string) => `${what}${index}`.padEnd(100, "鯨");
    for (let ms = 1; ms < 4e6; ms *= 1.4) {
      const one = {
        time: "",
        status: 500,
        durationMs: ms,
        firstEventMs: ms,
        usage: { inputTokens: 123_456, outputTokens: 12_345, cachedInputTokens: 100_000 },
        cost: "0.123456789",
        notes: ["relaxed top_k"],
        ...{ model: long("m"), target: long("t"), provider: long("p"), key: long("k"), team: long("e") },
        ...{ client: long("c"), lane: long("l") },
      };
      addTo(rows, namesOf(one), sumsOf(one), room);
    }
  }
  assertEquals(rows.size, mostRows(room));
  const bytes = new TextEncoder().encode(JSON.stringify(withRows(undefined, rows, room))).length;
  assert(bytes < mostRows(room) * 2_000, `${bytes / mostRows(room)} bytes a row`);
  const most = tiersFor(3_650).reduce((sum, { kept, room }) => sum + kept * mostRows(room), 0);
  assert(most < 185_000, `${most} rows`);
});
