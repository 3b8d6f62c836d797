/** The budgets of keys, of teams and of the gateway. All gateways on one store share them. */
import type { Budget, BudgetState } from "./budget.ts";
import { Page, type PageOptions, placeOf, type Reservation } from "./period_ledger.ts";
import { periodAt, periodsBefore } from "./period.ts";
import { mergedOf, readPool, spentOf } from "./pool.ts";
import type { Wanted } from "./wanted.ts";
import { withStoreTimeout } from "../store_timeout.ts";

export interface Budgets {
  /** Reserves the same amount in each budget. Throws `budget_exceeded`, or `unavailable` if the store does not say what is left. */
  reserve(budgets: readonly Budget[], wanted: Wanted): Reservation | Promise<Reservation>;
  /** The budgets that were used in this process, without asking the store. */
  known(budgets?: readonly Budget[]): BudgetState[];
  /** Reads the budgets from the store, and adds what this process has not reported yet. */
  read(budgets: readonly Budget[]): Promise<BudgetState[]>;
  /** Resolves once everything is in the store, or the store has failed. */
  close(): Promise<void>;
}

export type BudgetsOptions = PageOptions;

/** How many periods of each kind are kept, so that a clock that goes back still finds what was spent. */
const KEPT = 8;
const REMOVED = 8;
/** After this many new budgets, the idle ones are forgotten. */
const PURSES = 1_000;

export function createBudgets(options: BudgetsOptions): Budgets {
  const purses = new Map<string, Purse>();
  const purseOf = (budget: Budget) => {
    let purse = purses.get(budget.name);
    if (!purse) {
      // There may be any number of callers.
      if (purses.size % PURSES === PURSES - 1) forgetIdle(purses);
      purses.set(budget.name, purse = new Purse(budget, options));
    }
    purse.budget = budget;
    return purse;
  };
  return {
    reserve: (budgets, wanted) => reserveAll(budgets.map(purseOf), wanted),
    known: (budgets) =>
      (budgets ? budgets.flatMap(({ name }) => purses.get(name) ?? []) : [...purses.values()])
        .flatMap((purse) => purse.state() ?? []),
    read: (budgets) =>
      withStoreTimeout(options.patienceMs, Promise.all(budgets.map((budget) => purseOf(budget).read()))),
    close: async () => void await Promise.all(Array.from(purses.values(), (purse) => purse.close())),
  };
}

function forgetIdle(purses: Map<string, Purse>): void {
  for (const [name, purse] of purses) if (purse.isIdle) purses.delete(name);
}

/** Reserves the same amount in each budget, or nothing. Waits only if one of them has to ask the store. */
function reserveAll(purses: readonly Purse[], wanted: Wanted): Reservation | Promise<Reservation> {
  const all = new Together(wanted);
  try {
    for (const [at, purse] of purses.entries()) {
      const one = purse.reserve(all.wanted);
      if (one instanceof Promise) return reserveRest(one, purses.slice(at + 1), all);
      all.add(one);
    }
    return all;
  } catch (thrown) {
    all.settle(0n);
    throw thrown;
  }
}

async function reserveRest(
  first: Promise<Reservation>,
  others: readonly Purse[],
  all: Together,
): Promise<Reservation> {
  try {
    all.add(await first);
    for (const purse of others) all.add(await purse.reserve(all.wanted));
    return all;
  } catch (thrown) {
    all.settle(0n);
    throw thrown;
  }
}

/** Reservations in several budgets, each as large as the smallest that was granted. */
class Together implements Reservation {
  readonly #taken: Reservation[] = [];
  wanted: Wanted;

  constructor(wanted: Wanted) {
    this.wanted = wanted;
  }

  get amount(): bigint {
    return this.wanted.most;
  }

  add(one: Reservation): void {
    this.#taken.push(one);
    this.keep(one.amount);
  }

  keep(amount: bigint): void {
    for (const one of this.#taken) if (one.amount > amount) one.keep(amount);
    this.wanted = { ...this.wanted, most: amount };
  }

  settle(cost: bigint): void {
    for (const one of this.#taken.splice(0)) one.settle(cost);
  }
}

/** One budget in this process: the page of its present period, and pages of earlier periods whose requests still run. */
class Purse {
  readonly #options: BudgetsOptions;
  #budget: Budget;
  readonly #pages = new Map<string, Page>();

  constructor(budget: Budget, options: BudgetsOptions) {
    this.#budget = budget;
    this.#options = options;
  }

  /** A budget may change while the gateway runs. What was spent stays spent. */
  set budget(budget: Budget) {
    this.#budget = budget;
  }

  reserve(wanted: Wanted): Reservation | Promise<Reservation> {
    return this.#page().reserve(wanted);
  }

  /** An idle budget can be forgotten, because the store knows everything about it. */
  get isIdle(): boolean {
    return [...this.#pages.values()].every(({ isIdle }) => isIdle);
  }

  state(): BudgetState | undefined {
    const budget = this.#budget;
    const period = periodAt(budget.period, this.#options.now());
    const spent = this.#pages.get(period.id)?.spent;
    return spent === undefined ? undefined : { budget, period, spent };
  }

  async read(): Promise<BudgetState> {
    const budget = this.#budget;
    const period = periodAt(budget.period, this.#options.now());
    const pool = readPool(await this.#options.store.get(placeOf(budget.name, period)));
    // A report that was on its way may have reached the store meanwhile.
    const { share } = this.#pages.get(period.id) ?? {};
    if (!share) return { budget, period, spent: spentOf(pool) };
    const saved = pool.shares.get(share.id)?.spent ?? mergedOf(pool, share);
    return { budget, period, spent: spentOf(pool) - saved + share.spent };
  }

  async close(): Promise<void> {
    await Promise.all(Array.from(this.#pages.values(), (page) => page.close()));
  }

  #page(): Page {
    const { now } = this.#options;
    const budget = this.#budget;
    const period = periodAt(budget.period, now());
    const known = this.#pages.get(period.id);
    if (known) {
      known.budget = budget;
      return known;
    }
    for (const [id, page] of this.#pages) {
      page.retire();
      if (!page.isDone) continue;
      page.stop();
      this.#pages.delete(id);
    }
    const page = new Page(budget, period, this.#options);
    this.#pages.set(period.id, page);
    this.#forget(budget, now());
    return page;
  }

  /** Removes the records of periods that ended long ago. */
  #forget({ name, period }: Budget, now: number): void {
    const { store } = this.#options;
    for (const id of periodsBefore(period, now, KEPT, KEPT + REMOVED)) {
      store.delete(placeOf(name, { id })).catch(() => {}); // the next period tries again
    }
  }
}
