/** The budgets of keys, of teams and of the gateway. All gateways on one store go by the same. */
import type { Budget, BudgetState } from "./budget.ts";
import { Page, type PageOptions, placeOf, type Reservation } from "./page.ts";
import { periodAt, periodsBefore } from "./period.ts";
import { mergedOf, readPool, spentOf } from "./pool.ts";
import type { Wanted } from "./wanted.ts";
import { withStoreTimeout } from "../store_timeout.ts";

export interface Budgets {
  /** Sets the same amount aside in each of them. Throws `budget_exceeded`, or `unavailable` where nobody knows what is left. */
  reserve(budgets: readonly Budget[], wanted: Wanted): Reservation | Promise<Reservation>;
  /** What is known here of those that were used, without asking anybody. */
  known(budgets?: readonly Budget[]): BudgetState[];
  /** What is left of them by the store. */
  read(budgets: readonly Budget[]): Promise<BudgetState[]>;
  /** Resolves once the store knows all, or has failed. */
  close(): Promise<void>;
}

export type BudgetsOptions = PageOptions;

/** How many periods of a kind are kept: a clock that goes back finds what was spent. */
const KEPT = 8;
const REMOVED = 8;
/** How many more budgets there are before those are looked for that nobody uses. */
const PURSES = 1_000;

export function createBudgets(options: BudgetsOptions): Budgets {
  const purses = new Map<string, Purse>();
  const purseOf = (budget: Budget) => {
    let purse = purses.get(budget.name);
    if (!purse) {
      // Callers may be any number.
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

/** The same amount of each, or nothing. Nobody waits where each has room. */
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

/** What was set aside in several budgets: of each as much as the one has that has least. */
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

/** One budget at this process: the page of its present period, and those whose last requests still run. */
class Purse {
  readonly #options: BudgetsOptions;
  #budget: Budget;
  readonly #pages = new Map<string, Page>();

  constructor(budget: Budget, options: BudgetsOptions) {
    this.#budget = budget;
    this.#options = options;
  }

  /** It may change while the gateway runs; what was spent stays spent. */
  set budget(budget: Budget) {
    this.#budget = budget;
  }

  reserve(wanted: Wanted): Reservation | Promise<Reservation> {
    return this.#page().reserve(wanted);
  }

  /** Whether it holds nothing that the store does not know. */
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
    // What is on its way to the store may have come there meanwhile.
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

  /** What is long over is removed. */
  #forget({ name, period }: Budget, now: number): void {
    const { store } = this.#options;
    for (const id of periodsBefore(period, now, KEPT, KEPT + REMOVED)) {
      store.delete(placeOf(name, { id })).catch(() => {}); // by whoever begins the next one
    }
  }
}
