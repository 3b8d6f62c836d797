/** What several gateways on one store tell each other of what an upstream refuses. */
import { assertEquals } from "@std/assert";
import { exchangeOf } from "../../src/relaxations/exchange.ts";
import { LearntRelaxations } from "../../src/relaxations/learnt.ts";
import type { Relaxation } from "../../src/relaxations/relaxation.ts";
import { createMemoryStore } from "../../src/state/memory_store.ts";
import type { Store } from "../../src/state/store.ts";
import { ENGINES } from "../state/engines.ts";
import { until } from "../support/wait.ts";

const PLACE = "http://host/v1 org/model";
const OTHER = "http://host/v1 org/other";
const KEY = ["refusals", "host"];
const PATTERN: Relaxation = { does: "omit keyword", keyword: "pattern" };
const DAY_MS = 86_400_000;

interface Clock {
  time: number;
}

/** The memory of one gateway. */
function gatewayOn(store: Store, clock: Clock) {
  const learnt = new LearntRelaxations(() => clock.time, false, {
    get: () => store.get(KEY),
    update: (change) => store.update(KEY, change),
  });
  const exchange = exchangeOf(learnt)!;
  /** Reads the record, which it does once in ten seconds at most. */
  const look = () => {
    clock.time += 10_000;
    return exchange.look();
  };
  return { learnt, exchange, look };
}

const inMemory = (clock: Clock) => createMemoryStore({ now: () => clock.time, limitBytes: 2 ** 22 });

for (const [kind, { isMissing, run }] of Object.entries(ENGINES)) {
  Deno.test({
    name:
      `exchange (${kind}): what gateways learnt from two keys holds for all keys at each, until one of them forgets it`,
    ignore: isMissing,
    fn: () =>
      run(async (open, clock) => {
        const first = open();
        const [one, other] = [gatewayOn(first, clock), gatewayOn(kind === "memory" ? first : open(), clock)];
        one.learnt.add(PLACE, ["store", PATTERN], "a");
        one.learnt.add(OTHER, ["store"], "a");
        await until(async () => {
          await other.look();
          return other.learnt.of(OTHER, "a").length > 0;
        });
        assertEquals([other.learnt.of(PLACE, "a"), other.learnt.of(PLACE, "b")], [["store", PATTERN], []]);
        other.learnt.add(PLACE, [PATTERN], "b");
        await until(async () => {
          await one.look();
          return one.learnt.of(PLACE, "c").length > 0;
        });
        assertEquals([one.learnt.of(PLACE, "c"), one.learnt.of(PLACE, "a")], [[PATTERN], ["store", PATTERN]]);
        const third = gatewayOn(first, clock);
        await third.look();
        assertEquals(third.learnt.of(PLACE, "c"), [PATTERN]);
        assertEquals(await one.exchange.forget("org/model"), true);
        await until(async () => {
          await other.look();
          return other.learnt.of(PLACE, "a").length === 0;
        });
        assertEquals([one.learnt.of(PLACE, "a"), other.learnt.of(OTHER, "a")], [[], ["store"]]);
        clock.time++;
        other.learnt.add(PLACE, ["store"], "a");
        await until(async () => {
          await one.look();
          return one.learnt.of(PLACE, "a").length > 0;
        });
      }),
  });
}

Deno.test("exchange: a record is read once in ten seconds, however many ask", async () => {
  const clock = { time: 0 };
  let reads = 0;
  const store = inMemory(clock);
  const { exchange, look } = gatewayOn({ ...store, get: (key) => (reads++, store.get(key)) }, clock);
  for (let at = 0; at < 5; at++) await exchange.look();
  assertEquals(reads, 1);
  await look();
  assertEquals(reads, 2);
});

Deno.test("exchange: what a store did not take is written once it does", async () => {
  const clock = { time: 0 };
  const store = inMemory(clock);
  let isDown = true;
  const flaky: Store = {
    ...store,
    update: (key, change) => isDown ? Promise.reject(new Error("down")) : store.update(key, change),
  };
  const [one, other] = [gatewayOn(flaky, clock), gatewayOn(store, clock)];
  one.learnt.add(PLACE, ["store"], "a");
  await one.look();
  assertEquals([await other.look(), await one.exchange.forget("org/other")], [false, false]);
  isDown = false;
  await one.look();
  assertEquals([await other.look(), other.learnt.of(PLACE, "a")], [true, ["store"]]);
});

Deno.test("exchange: what a gateway with a fast clock has learnt holds for no longer than a day", async () => {
  const clock = { time: 0 };
  const store = inMemory(clock);
  const fast = gatewayOn(store, { time: DAY_MS / 2 });
  fast.learnt.add(PLACE, ["store"], "a");
  await fast.look();
  const { learnt, exchange } = gatewayOn(store, clock);
  await exchange.look();
  assertEquals(learnt.of(PLACE, "a"), ["store"]);
  clock.time = DAY_MS;
  assertEquals(learnt.of(PLACE, "a"), []);
});

Deno.test("exchange: after a day nothing of the record holds, and the next writer removes it", async () => {
  const clock = { time: 0 };
  const store = inMemory(clock);
  const one = gatewayOn(store, clock);
  one.learnt.add(PLACE, ["store"], "a");
  await one.look();
  clock.time = DAY_MS;
  const other = gatewayOn(store, clock);
  assertEquals([await other.exchange.look(), other.learnt.of(PLACE, "a")], [false, []]);
  other.learnt.add(OTHER, ["store"], "a");
  await other.look();
  const { entries } = await store.get(KEY) as { entries: { place: string }[] };
  assertEquals(entries.map(({ place }) => place), [OTHER]);
});

Deno.test("exchange: a record has room for 500 entries, the newest, and for none that is very long", async () => {
  const clock = { time: 0 };
  const store = inMemory(clock);
  const { learnt, look } = gatewayOn(store, clock);
  for (let at = 0; at < 600; at++) {
    clock.time++;
    learnt.add(`http://host/v1 m${at}`, ["store"], "a");
    if (at % 100 === 0) await look();
  }
  learnt.add(PLACE, ["x".repeat(2_000)], "a");
  await look();
  const { entries } = await store.get(KEY) as { entries: { place: string }[] };
  assertEquals([entries.length, entries[0]!.place], [500, "http://host/v1 m599"]);
  assertEquals(entries.some(({ place }) => place === PLACE || place.endsWith(" m99")), false);
});

Deno.test("exchange: what a later version wrote is neither used nor lost, and a record of anything else does no harm", async () => {
  const clock = { time: 0 };
  const store = inMemory(clock);
  const unknown = { place: PLACE, learnt: { does: "sing", path: "x" }, keys: ["a", "b"], at: 1 };
  await store.update(
    KEY,
    () => ({ version: 99, tomorrow: 1, entries: [unknown, 7, { at: "soon" }], forgotten: [null] }),
  );
  const { learnt, look } = gatewayOn(store, clock);
  assertEquals([await look(), learnt.of(PLACE, "a")], [false, []]);
  learnt.add(PLACE, ["store"], "a");
  await look();
  const record = await store.get(KEY) as { version: number; tomorrow: number; entries: unknown[] };
  assertEquals([record.version, record.tomorrow, record.entries.at(-1)], [99, 1, unknown]);
  await store.update(KEY, () => "anything");
  const other = gatewayOn(store, clock);
  assertEquals(await other.look(), false);
});
