/** Budgets in a store: their periods, what dead gateways held, and stores that fail. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { describe } from "../../../src/state/budget/budget.ts";
import { periodAt, periodsBefore } from "../../../src/state/budget/period.ts";
import type { Store } from "../../../src/state/store.ts";
import { until } from "../../support/wait.ts";
import {
  budgetOf,
  DAY_MS,
  exactly,
  gatewayOn,
  inMemory,
  newClock,
  NOON,
  pass,
  reserve,
  spentIn,
  tryReserve,
} from "./rig.ts";

const at = (text: string) => Date.parse(text);

Deno.test("budget: periods begin at midnight UTC, weeks on Monday, months on their first day", () => {
  for (
    const [kind, time, id, ends] of [
      ["day", "2027-01-20T23:59:59.999Z", "day 2027-01-20", "2027-01-21"],
      ["day", "2027-01-21T00:00:00.000Z", "day 2027-01-21", "2027-01-22"],
      ["week", "2027-01-24T23:59:59.999Z", "week 2027-01-18", "2027-01-25"],
      ["week", "2027-01-25T00:00:00.000Z", "week 2027-01-25", "2027-02-01"],
      ["month", "2028-02-29T12:00:00.000Z", "month 2028-02-01", "2028-03-01"],
      ["month", "2027-12-31T23:59:59.999Z", "month 2027-12-01", "2028-01-01"],
    ] as const
  ) assertEquals(periodAt(kind, at(time)), { id, endsAt: at(ends) });
  assertEquals(periodAt("total", NOON), { id: "total" });
  assertEquals(periodsBefore("month", at("2027-03-31"), 1, 3), [
    "month 2027-02-01",
    "month 2027-01-01",
    "month 2026-12-01",
  ]);
  assertEquals(periodsBefore("week", NOON, 2, 2), ["week 2027-01-04"]);
});

Deno.test("budget: a new period begins with nothing spent; what runs across its beginning is paid where it began", async () => {
  const [store, clock, budget] = [inMemory(), newClock(), budgetOf(100)];
  const gateway = gatewayOn(store, clock);
  const late = await reserve(gateway, budget, 60);
  pass(clock, DAY_MS);
  const next = await reserve(gateway, budget, 80);
  late.settle(60n);
  next.settle(80n);
  await gateway.close();
  assertEquals(await spentIn(store, clock, budget), 80n);
  clock.now -= DAY_MS;
  assertEquals(await spentIn(store, clock, budget), 60n);
});

Deno.test("budget: a clock that goes back, or forth and back, doubles no period", async () => {
  for (const period of ["day", "week", "month", "total"] as const) {
    const [store, clock, budget] = [inMemory(), newClock(), budgetOf(100, { period })];
    let gateway = gatewayOn(store, clock);
    for (const step of [0, -DAY_MS, 0, 40 * DAY_MS, 0, -DAY_MS]) {
      clock.now = NOON + step;
      const got = await tryReserve(gateway, budget, 70);
      if (typeof got !== "string") got.settle(70n);
      // The next one starts anew, with the clock as it is.
      if (step === 0) {
        await gateway.close();
        gateway = gatewayOn(store, clock);
      }
    }
    await gateway.close();
    for (const step of [0, -DAY_MS, 40 * DAY_MS]) {
      clock.now = NOON + step;
      const spent = await spentIn(store, clock, budget);
      assert(spent <= 100n, `${period}: ${spent} at ${step / DAY_MS} days`);
    }
  }
});

Deno.test("budget: what long ago was spent is removed", async () => {
  const [store, clock, budget] = [inMemory(), newClock(), budgetOf(100)];
  const gateway = gatewayOn(store, clock);
  for (let day = 0; day < 20; day++) {
    (await reserve(gateway, budget, 10)).settle(10n);
    await until(async () => await spentIn(store, clock, budget) === 10n);
    pass(clock, DAY_MS);
  }
  await gateway.close();
  clock.now = NOON;
  assertEquals(await spentIn(store, clock, budget), 0n);
  clock.now = NOON + 15 * DAY_MS;
  assertEquals(await spentIn(store, clock, budget), 10n);
});

Deno.test("budget: what a dead gateway held is free again after two minutes; what it spent stays spent", async () => {
  const [store, clock, budget] = [inMemory(), newClock(), budgetOf(100)];
  const dead = gatewayOn(store, clock);
  (await reserve(dead, budget, 20)).settle(20n);
  await until(async () => await spentIn(store, clock, budget) === 20n);
  await reserve(dead, budget, 70);
  const other = gatewayOn(store, clock);
  assertEquals(await tryReserve(other, budget, 50), "budget_exceeded");
  pass(clock, 119_000);
  assertEquals(await tryReserve(other, budget, 50), "budget_exceeded");
  pass(clock, 2_000);
  (await reserve(other, budget, 50)).settle(50n);
  assertEquals(await tryReserve(other, budget, 50), "budget_exceeded");
  await other.close();
  assertEquals(await spentIn(store, clock, budget), 70n);
  await dead.close();
});

Deno.test("budget: a gateway that was stopped for longer than it may hold its part asks again before it spends", async () => {
  const [store, clock, budget] = [inMemory(), newClock(), budgetOf(1_000)];
  const [stopped, other] = [gatewayOn(store, clock), gatewayOn(store, clock)];
  (await reserve(stopped, budget, 100)).settle(0n);
  pass(clock, 130_000);
  (await reserve(other, budget, 900)).settle(900n);
  assertEquals(await tryReserve(stopped, budget, 200), "budget_exceeded");
  // The other one may hold a quarter of the rest.
  (await reserve(stopped, budget, 75)).settle(75n);
  await stopped.close();
  await other.close();
  assertEquals(await spentIn(store, clock, budget), 975n);
});

Deno.test("budget: a gateway that says nothing for days does not count twice what it spent", async () => {
  const [store, clock, budget] = [inMemory(), newClock(), budgetOf(1_000, { period: "month" })];
  const [quiet, busy] = [gatewayOn(store, clock), gatewayOn(store, clock)];
  (await reserve(quiet, budget, 100)).settle(100n);
  await until(async () => await spentIn(store, clock, budget) === 100n);
  for (let day = 0; day < 4; day++) {
    pass(clock, DAY_MS);
    (await reserve(busy, budget, 10)).settle(10n);
    await until(async () => await spentIn(store, clock, budget) === 110n + BigInt(day) * 10n);
  }
  (await reserve(quiet, budget, 100)).settle(100n);
  await quiet.close();
  await busy.close();
  assertEquals(await spentIn(store, clock, budget), 240n);
});

Deno.test("budget: no request waits for the store while the gateway holds enough", async () => {
  const [inner, clock, budget] = [inMemory(), newClock(), budgetOf(1_000_000)];
  let updates = 0;
  const gate = Promise.withResolvers<void>();
  let isSlow = false;
  const store: Store = {
    ...inner,
    async update(...args) {
      updates++;
      if (isSlow) await gate.promise;
      await inner.update(...args);
    },
  };
  const gateway = gatewayOn(store, clock);
  (await reserve(gateway, budget, 100)).settle(60n);
  await until(async () => await spentIn(inner, clock, budget) === 60n);
  isSlow = true;
  for (let count = 0; count < 50; count++) {
    const reservation = gateway.reserve([budget], exactly(100));
    if (reservation instanceof Promise) throw new Error(`The request ${count} waits`);
    reservation.settle(60n);
  }
  assert(updates < 10, `${updates} writes`);
  gate.resolve();
  await gateway.close();
  assertEquals(await spentIn(inner, clock, budget), 51n * 60n);
});

Deno.test("budget: a request whose room another one takes while the store is asked gets what more there is", async () => {
  const [inner, clock, budget] = [inMemory(), newClock(), budgetOf(1_000)];
  let gate = Promise.resolve();
  const store: Store = { ...inner, update: (...args) => gate.then(() => inner.update(...args)) };
  const gateway = gatewayOn(store, clock);
  (await reserve(gateway, budget, 300)).settle(0n);
  await until(async () => (await gateway.read([budget]))[0]!.spent === 0n);
  const slow = Promise.withResolvers<void>();
  gate = slow.promise;
  // It counts on what is free here, which the second one takes before the store has answered.
  const first = gateway.reserve([budget], exactly(600));
  const second = gateway.reserve([budget], exactly(300));
  if (!(first instanceof Promise) || second instanceof Promise) {
    throw new Error("The first waits, and the second does not");
  }
  slow.resolve();
  (await first).settle(600n);
  second.settle(300n);
  await gateway.close();
  assertEquals(await spentIn(inner, clock, budget), 900n);
});

Deno.test("budget: a gateway that refuses again and again takes nothing of it away from the others", async () => {
  const [store, clock, budget] = [inMemory(), newClock(), budgetOf(1_000)];
  const [one, other] = [gatewayOn(store, clock), gatewayOn(store, clock)];
  for (let count = 0; count < 20; count++) {
    assertEquals(await tryReserve(one, budget, 5_000), "budget_exceeded");
    pass(clock, 300);
  }
  (await reserve(other, budget, 900)).settle(900n);
  await one.close();
  await other.close();
});

Deno.test("budget: gateways that start again and again fill no record", async () => {
  const [store, clock, budget] = [inMemory(), newClock(), budgetOf(100_000, { period: "month" })];
  for (let count = 0; count < 700; count++) {
    const gateway = gatewayOn(store, clock);
    (await reserve(gateway, budget, 1)).settle(1n);
    await gateway.close();
    pass(clock, 10_000);
  }
  const { shares } = await store.get(["budget", budget.name, "month 2027-01-01"]) as { shares: object };
  assert(Object.keys(shares).length <= 501, `${Object.keys(shares).length} shares`);
  assertEquals(await spentIn(store, clock, budget), 700n);
});

Deno.test("budget: among many that start again, a gateway that rests does not count twice what it spent", async () => {
  const [store, clock, budget] = [inMemory(), newClock(), budgetOf(100_000, { period: "month" })];
  const quiet = gatewayOn(store, clock);
  (await reserve(quiet, budget, 100)).settle(100n);
  await until(async () => await spentIn(store, clock, budget) === 100n);
  const begin = async () => {
    const gateway = gatewayOn(store, clock);
    (await reserve(gateway, budget, 1)).settle(1n);
    await gateway.close();
  };
  for (let count = 0; count < 520; count++) await begin();
  pass(clock, 3_600_000);
  await begin();
  assertEquals((await quiet.read([budget]))[0]!.spent, 621n);
  for (let times = 1; times <= 2; times++) {
    (await reserve(quiet, budget, 100)).settle(100n);
    await until(async () => await spentIn(store, clock, budget) === 621n + BigInt(times) * 100n);
    assertEquals((await quiet.read([budget]))[0]!.spent, 621n + BigInt(times) * 100n);
  }
  await quiet.close();
});

Deno.test("budget: a store that does not answer holds nobody for longer than its patience", async () => {
  const [inner, clock, budget] = [inMemory(), newClock(), budgetOf(1_000)];
  const gate = Promise.withResolvers<void>();
  const store: Store = { ...inner, update: (...args) => gate.promise.then(() => inner.update(...args)) };
  const gateway = gatewayOn(store, clock, { patienceMs: 20 });
  assertEquals(await tryReserve(gateway, budget, 10), "unavailable");
  assertEquals(await tryReserve(gateway, budget, 10), "unavailable");
  gate.resolve();
  await until(async () => typeof await tryReserve(gateway, budget, 10) !== "string");
  await gateway.close();
});

Deno.test("budget: who can do with less gets the same of each, and leaves half of what is free to the others", async () => {
  const gateway = gatewayOn(inMemory(), newClock());
  const [own, team] = [budgetOf(10_000), budgetOf(1_000, { name: "team:a" })];
  const wanted = { most: 8_000n, least: 100n };
  const first = await gateway.reserve([own, team], wanted);
  assertEquals(first.amount, 500n);
  // Of its own budget it holds no more than that.
  assertEquals((await gateway.reserve([own], { most: 4_750n, least: 4_750n })).amount, 4_750n);
  assertEquals((await gateway.reserve([own], wanted)).amount, 2_375n);
  first.settle(0n);
  assertEquals((await gateway.reserve([team], wanted)).amount, 500n);
  assertEquals((await gateway.reserve([team], { most: 8_000n, least: 400n })).amount, 400n);
  assertEquals(await tryReserve(gateway, team, { most: 8_000n, least: 101n }), "budget_exceeded");
  await gateway.close();
});

Deno.test("budget: all that a request is paid from has room for it, or nothing is set aside", async () => {
  const [store, clock] = [inMemory(), newClock()];
  const [own, team] = [budgetOf(100), budgetOf(50, { name: "team:a" })];
  const gateway = gatewayOn(store, clock);
  // The second is refused without asking the store.
  for (let again = 0; again < 2; again++) {
    assertEquals(await tryReserve(gateway, [own, team], 60), "budget_exceeded");
  }
  (await reserve(gateway, own, 100)).settle(100n);
  assertEquals(await tryReserve(gateway, [own, team], 10), "budget_exceeded");
  (await reserve(gateway, team, 50)).settle(50n);
  await gateway.close();
  assertEquals([await spentIn(store, clock, own), await spentIn(store, clock, team)], [100n, 50n]);
});

Deno.test("budget: a limit that is lowered holds at once, and one that is raised, too", async () => {
  const [store, clock] = [inMemory(), newClock()];
  const [one, other] = [gatewayOn(store, clock), gatewayOn(store, clock)];
  for (const gateway of [one, other]) (await reserve(gateway, budgetOf(10_000), 100)).settle(100n);
  assertEquals(await tryReserve(one, budgetOf(250), 100), "budget_exceeded");
  (await reserve(other, budgetOf(1_000), 500)).settle(500n);
  await one.close();
  await other.close();
  assertEquals(await spentIn(store, clock, budgetOf(1)), 700n);
});

Deno.test("budget: what another version wrote is read as far as it can be", async () => {
  const [store, clock, budget] = [inMemory(), newClock(), budgetOf(100)];
  for (const value of [null, 5, [], { shares: 7 }, { shares: { a: null, b: { spent: -1, held: "x" } }, spent: 1e99 }]) {
    await store.update(["budget", budget.name, "day 2027-01-20"], () => value);
    const gateway = gatewayOn(store, clock);
    (await reserve(gateway, budget, 100)).settle(0n);
    await gateway.close();
  }
});

Deno.test("budget: a refusal says what is left, and when there is more", async () => {
  const [store, clock, budget] = [inMemory(), newClock(), budgetOf(1_500_000_000_000n)];
  const gateway = gatewayOn(store, clock);
  (await reserve(gateway, budget, 1_000_000_000_000n)).settle(1_000_000_000_000n);
  try {
    await gateway.reserve([budget], exactly(600_000_000_000));
  } catch (thrown) {
    const { message } = thrown as Error;
    assertStringIncludes(
      message,
      'key "anna" may spend 1.5 dollars a day, of which 0.5 are free, and this may cost 0.6',
    );
    assertStringIncludes(message, "It resets at 2027-01-21T00:00:00.000Z");
    return;
  } finally {
    await gateway.close();
  }
  throw new Error("It was not refused");
});

Deno.test("budget: a forecast takes the rest of the period to be like its beginning", () => {
  const period = periodAt("day", at("2027-01-20T12:00:00.000Z"));
  const budget = { name: "key:anna", limit: 10_000_000_000_000n, period: "day" as const };
  const forecastAt = (spent: bigint, time: string) =>
    describe({ budget, period, spent }, at(`2027-01-20T${time}:00.000Z`)).forecast;
  const dollars = 1_000_000_000_000n;
  assertEquals(forecastAt(3n * dollars, "12:00"), { dollars: "6" });
  assertEquals(forecastAt(8n * dollars, "12:00"), { dollars: "16", usedUp: "2027-01-20T15:00:00.000Z" });
  assertEquals(forecastAt(20n * dollars, "12:00"), { dollars: "40", usedUp: "2027-01-20T06:00:00.000Z" });
  assertEquals(forecastAt(0n, "12:00"), { dollars: "0" });
  assertEquals(forecastAt(3n * dollars, "00:10"), undefined, "Too early to tell");
  const total = { budget: { ...budget, period: "total" as const }, period: periodAt("total", NOON), spent: dollars };
  assertEquals(describe(total, NOON).forecast, undefined);
});
