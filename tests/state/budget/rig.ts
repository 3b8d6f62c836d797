/** Budgets of several gateways on one store, whose clock a test turns. */
import { GatewayError } from "../../../src/errors.ts";
import type { Budget } from "../../../src/state/budget/budget.ts";
import { type Budgets, createBudgets } from "../../../src/state/budget/budgets.ts";
import type { Reservation } from "../../../src/state/budget/period_ledger.ts";
import type { Wanted } from "../../../src/state/budget/wanted.ts";
import { createMemoryStore } from "../../../src/state/memory_store.ts";
import type { Store } from "../../../src/state/store.ts";

export const DAY_MS = 86_400_000;
/** A Wednesday, at noon. */
export const NOON = Date.parse("2027-01-20T12:00:00Z");

export interface Clock {
  now: number;
  monotonic: number;
}

export interface Warning {
  name: string;
  period: string;
  spent: bigint;
}

export function newClock(now = NOON): Clock {
  return { now, monotonic: 0 };
}

/** Time passes on both clocks. */
export function pass(clock: Clock, ms: number): void {
  clock.now += ms;
  clock.monotonic += ms;
}

export function inMemory(): Store {
  return createMemoryStore({ now: () => 0, limitBytes: 1_000_000 });
}

let ids = 0;

export function gatewayOn(
  store: Store,
  clock: Clock,
  { warnings = [], patienceMs = 5_000 }: { warnings?: Warning[]; patienceMs?: number } = {},
): Budgets {
  return createBudgets({
    store,
    patienceMs,
    now: () => clock.now,
    monotonic: () => clock.monotonic,
    newId: () => `share ${++ids}`,
    onWarn: ({ name }, { id }, spent) => void warnings.push({ name, period: id, spent }),
  });
}

export function budgetOf(limit: number | bigint, more: Partial<Budget> = {}): Budget {
  return { name: "key:anna", limit: BigInt(limit), period: "day", ...more };
}

export function exactly(amount: number | bigint): Wanted {
  return { most: BigInt(amount), least: BigInt(amount) };
}

/** The reservation, or the code of the refusal. */
export async function tryReserve(
  gateway: Budgets,
  budget: Budget | Budget[],
  amount: number | bigint | Wanted,
): Promise<Reservation | string> {
  try {
    return await gateway.reserve([budget].flat(), typeof amount === "object" ? amount : exactly(amount));
  } catch (thrown) {
    if (thrown instanceof GatewayError) return thrown.code;
    throw thrown;
  }
}

/** Reserves what must be there. */
export async function reserve(gateway: Budgets, budget: Budget | Budget[], amount: number | bigint) {
  const reservation = await tryReserve(gateway, budget, amount);
  if (typeof reservation === "string") throw new Error(`Refused: ${reservation}`);
  return reservation;
}

/** What a gateway that starts now knows of. */
export async function spentIn(store: Store, clock: Clock, budget: Budget): Promise<bigint> {
  const [state] = await gatewayOn(store, clock).read([budget]);
  return state!.spent;
}
