/** What holds for budgets however many gateways spend them at once, in whatever order, before whatever store. */
import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import type { Budgets } from "../../../src/state/budget/budgets.ts";
import type { Store } from "../../../src/state/store.ts";
import { delay, until } from "../../support/wait.ts";
import { ENGINES } from "../engines.ts";
import { budgetOf, gatewayOn, inMemory, newClock, spentIn, tryReserve } from "./rig.ts";

const SEED = 20261123;

/** Requests that run at once: what each reserves at most and at least, and what share of that it costs in the end, in percent. */
const requests = fc.array(
  fc.record({
    gateway: fc.nat(2),
    amount: fc.integer({ min: 1, max: 400 }),
    least: fc.integer({ min: 1, max: 400 }),
    percent: fc.integer({ min: 0, max: 130 }),
  }),
  { minLength: 1, maxLength: 40 },
);

type Requests = typeof requests extends fc.Arbitrary<infer T> ? T : never;

const wantedBy = ({ amount, least }: Requests[number]) => ({
  most: BigInt(amount),
  least: BigInt(Math.min(amount, least)),
});

const LIMIT = 1_000n;

interface End {
  spent: bigint;
  /** What usage came to beyond what was reserved. */
  beyond: bigint;
  served: number;
}

/** Runs them all at once, settled in turns. Fails where more is ever set aside or spent than there is, but for usage beyond estimates. */
async function runAll(all: Requests, gateways: Budgets[], budget = budgetOf(LIMIT)): Promise<End> {
  let [open, spent, beyond, served] = [0n, 0n, 0n, 0];
  await Promise.all(all.map(async (one, index) => {
    const gateway = gateways[one.gateway % gateways.length]!;
    let reservation = await tryReserve(gateway, budget, wantedBy(one));
    // A server on a busy machine may take too long.
    while (reservation === "unavailable") {
      await delay(50);
      reservation = await tryReserve(gateway, budget, wantedBy(one));
    }
    if (typeof reservation === "string") return assertEquals(reservation, "budget_exceeded");
    served++;
    const { amount } = reservation;
    open += amount;
    assert(spent + open - beyond <= budget.limit, `${spent} spent, ${open} set aside, ${beyond} beyond`);
    for (let turn = 0; turn < index % 7; turn++) await new Promise((resolve) => setTimeout(resolve));
    const cost = amount * BigInt(one.percent) / 100n;
    open -= amount;
    spent += cost;
    if (cost > amount) beyond += cost - amount;
    reservation.settle(cost);
  }));
  return { spent, beyond, served };
}

/** A store that answers late, in any order, and now and then not at all: what it was told may be written all the same. */
function unsteady(store: Store, seed: number): Store {
  let state = seed;
  const next = (most: number) => (state = (state * 1_103_515_245 + 12_345) % 2_147_483_648) % most;
  return {
    ...store,
    async update(key, change) {
      for (let turn = next(4); turn > 0; turn--) await Promise.resolve();
      const fate = next(10);
      if (fate === 0) throw new Error("not reached");
      await store.update(key, change);
      if (fate === 1) throw new Error("the reply was lost");
    },
  };
}

for (const count of [1, 2, 3]) {
  Deno.test(`law · budgets: ${count} gateways on one store overspend by no more than usage exceeds its estimate (seed ${SEED})`, async () => {
    await fc.assert(
      fc.asyncProperty(requests, async (all) => {
        const [store, clock] = [inMemory(), newClock()];
        const gateways = Array.from({ length: count }, () => gatewayOn(store, clock));
        const { spent, beyond, served } = await runAll(all, gateways);
        await Promise.all(gateways.map((gateway) => gateway.close()));
        assert(served > 0);
        assert(spent <= LIMIT + beyond);
        assertEquals(await spentIn(store, clock, budgetOf(LIMIT)), spent);
      }),
      { seed: SEED, numRuns: 60 },
    );
  });

  Deno.test(`law · budgets: what is lost on the way to the store is neither forgotten nor counted twice · ${count} gateways (seed ${SEED})`, async () => {
    await fc.assert(
      fc.asyncProperty(requests, fc.nat(), async (all, seed) => {
        const [store, clock] = [inMemory(), newClock()];
        const gateways = Array.from({ length: count }, (_, index) => gatewayOn(unsteady(store, seed + index), clock));
        let [open, spent, beyond] = [0n, 0n, 0n];
        await Promise.all(all.map(async (one) => {
          const reservation = await tryReserve(gateways[one.gateway % count]!, budgetOf(LIMIT), wantedBy(one));
          if (typeof reservation === "string") return;
          const { amount } = reservation;
          open += amount;
          assert(spent + open - beyond <= LIMIT);
          await new Promise((resolve) => setTimeout(resolve));
          const cost = amount * BigInt(one.percent) / 100n;
          open -= amount;
          spent += cost;
          if (cost > amount) beyond += cost - amount;
          reservation.settle(cost);
        }));
        // A last word that is lost is lost: it is said until it has arrived.
        for (let again = 0; again < 20; again++) await Promise.all(gateways.map((gateway) => gateway.close()));
        assertEquals(await spentIn(store, clock, budgetOf(LIMIT)), spent);
      }),
      { seed: SEED, numRuns: 60 },
    );
  });
}

for (const [engine, { isMissing, run }] of Object.entries(ENGINES)) {
  Deno.test({
    name: `law · budgets: three gateways, each with its own way to the store, keep to one budget · ${engine}`,
    ignore: isMissing,
    fn: () =>
      run(async (open) => {
        const clock = newClock();
        const shared = open();
        // A store in memory is of one process alone.
        const stores = [shared, ...[1, 2].map(() => engine === "memory" ? shared : open())];
        const gateways = stores.map((store) => gatewayOn(store, clock));
        const all = Array.from(
          { length: 300 },
          (_, index) => ({ gateway: index % 3, amount: 1 + index % 29, least: 29, percent: 70 + index % 31 }),
        );
        const { spent, beyond, served } = await runAll(all, gateways);
        await until(async () => {
          await Promise.all(gateways.map((gateway) => gateway.close()));
          return await spentIn(shared, clock, budgetOf(LIMIT)).catch(() => -1n) === spent;
        });
        assert(served > 20, `${served} served`);
        assertEquals([spent <= LIMIT, beyond], [true, 0n]);
      }),
  });
}
