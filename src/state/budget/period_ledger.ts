/**
 * One budget in one period, in one process. What is spent is reported to the store a moment later. A request waits for the
 * store only if the process holds too little for it.
 */
import { callWhileAlive } from "../../util/idle_timer.ts";
import type { Store } from "../store.ts";
import { withStoreTimeout } from "../store_timeout.ts";
import { type Budget, exceeded, unknown } from "./budget.ts";
import type { Period } from "./period.ts";
import { APART_MS, readPool, type Request, settle, type Settled, writePool } from "./pool.ts";
import { OwnShare } from "./share.ts";
import { shareOf, type Wanted } from "./wanted.ts";

export interface PageOptions {
  store: Store;
  /** Milliseconds since the epoch. */
  now(): number;
  /** Milliseconds by a monotonic clock. */
  monotonic(): number;
  newId(): string;
  /** How long the store may take, in milliseconds. */
  patienceMs: number;
  /** The longest that spending waits for its report, in milliseconds, unless the store is slow. With 0 it is reported at once. */
  gatherMs?: number;
  /** Called once in a period, when all gateways together have spent `warnAt`. */
  onWarn(budget: Budget, period: Period, spent: bigint): void;
  /** Called for each request that the budget has no room for. */
  onRefuse?(budget: Budget): void;
}

/** An amount that is reserved for a call. */
export interface Reservation {
  /** In pico-dollars. */
  readonly amount: bigint;
  /** Gives back all but `amount`. */
  keep(amount: bigint): void;
  /** Ends the reservation: the call is over and has cost `cost`. */
  settle(cost: bigint): void;
}

/** How long a process holds what it was granted, in milliseconds. What a dead process held is free again after that. */
const LEASE_MS = 120_000;
/** How long the process itself relies on it: its clock may be a little slow. */
const SURE_MS = 100_000;
const RENEW_MS = 30_000;
/** How long a process goes on holding what it does not use, in milliseconds. */
const IDLE_MS = 20_000;
/** How long spending gathers before it is reported, in milliseconds. For a slow store: `GATHER_TIMES` as long as it took last. */
const GATHER_MS = 25;
const GATHER_TIMES = 4;
const RETRY_MS = 1_000;
/** How long a refusal stands before the store is asked again, in milliseconds. */
const REFUSED_MS = 250;

interface Waiting {
  wanted: Wanted;
  resolve(reservation: Reservation): void;
  reject(reason: unknown): void;
}

export class Page {
  readonly period: Period;
  readonly #options: PageOptions;
  #share: OwnShare;
  #budget: Budget;
  #waiting: Waiting[] = [];
  /** The last answer of the store. */
  #known: Settled | undefined;
  #knownAt = -Infinity;
  #usedAt: number;
  /** The largest amount that was reserved lately. */
  #usual = 0n;
  #reported = 0n;
  #answeredAt = Infinity;
  #syncing: Promise<void> | undefined;
  #wake: { at: number; cancel(): void } | undefined;
  #isRetired = false;
  #isUnanswered = false;
  /** How long the store took for its last answer. */
  #tookMs = 0;
  #isFailing = false;

  constructor(budget: Budget, period: Period, options: PageOptions) {
    this.period = period;
    this.#options = options;
    this.#share = new OwnShare(options.newId());
    this.#budget = budget;
    this.#usedAt = options.monotonic();
  }

  /** The budget's limit may have changed. */
  set budget(budget: Budget) {
    if (budget.limit < this.#budget.limit) this.#share.giveUp(0n);
    if (budget.limit !== this.#budget.limit) this.#knownAt = -Infinity;
    this.#budget = budget;
    this.#isRetired = false;
  }

  /** The spending of all gateways, as far as this process knows. Absent before the store has answered. */
  get spent(): bigint | undefined {
    return this.#known && this.#known.spent + this.unreported;
  }

  /** The id of this process's share, what it has spent, and how much of that it has reported. */
  get share(): { id: string; spent: bigint; reported: bigint } {
    const { id, spent } = this.#share;
    return { id, spent, reported: this.#reported };
  }

  /** The spending that this process has not reported yet. */
  get unreported(): bigint {
    return this.#share.spent - this.#reported;
  }

  /** Whether the page is retired and everything is reported. */
  get isDone(): boolean {
    return this.#isRetired && this.#share.reserved === 0n && this.unreported === 0n && !this.#syncing;
  }

  /** Whether nothing runs or waits, and nothing is held. */
  get isIdle(): boolean {
    return this.#share.reserved === 0n && this.unreported === 0n && !this.#syncing && !this.#known?.held;
  }

  /** Reserves an amount. Throws `budget_exceeded`, or `unavailable` if the store fails. */
  reserve(wanted: Wanted): Reservation | Promise<Reservation> {
    const at = this.#options.monotonic();
    this.#usedAt = at;
    if (wanted.most === 0n) return this.#take(0n);
    const amount = shareOf(wanted, this.#left(at));
    if (amount !== undefined && this.#waiting.length === 0 && this.#share.free(at) >= amount) return this.#take(amount);
    if (at < this.#knownAt + REFUSED_MS && amount === undefined) throw this.#refusal(wanted, at);
    const { promise, resolve, reject } = Promise.withResolvers<Reservation>();
    this.#waiting.push({ wanted, resolve, reject });
    this.#sync();
    return promise;
  }

  /** Marks the period as over. Only requests that still run matter from now on. */
  retire(): void {
    this.#isRetired = true;
  }

  /** Cancels the next report. */
  stop(): void {
    this.#wake?.cancel();
    this.#wake = undefined;
  }

  /** Resolves once everything is in the store, or the store has failed. */
  async close(): Promise<void> {
    this.#isRetired = true;
    await this.#syncing;
    if (this.unreported > 0n || this.#known?.held) await this.#sync();
    this.stop();
  }

  #take(amount: bigint): Reservation {
    if (amount > this.#usual) this.#usual = amount;
    this.#share.reserve(amount);
    let held = amount;
    let isOver = false;
    return {
      get amount() {
        return held;
      },
      keep: (rest) => {
        this.#share.settle(held - rest, 0n);
        held = rest;
      },
      settle: (cost) => {
        if (isOver) return;
        isOver = true;
        this.#share.settle(held, cost);
        this.#wakeIn(this.#gatherMs);
      },
    };
  }

  #left(at: number): bigint {
    return (this.#known?.left ?? 0n) + this.#share.free(at);
  }

  #refusal(wanted: Wanted, at: number) {
    this.#options.onRefuse?.(this.#budget);
    return exceeded(this.#budget, this.period, wanted, this.#left(at), this.#options.now());
  }

  #sync(): Promise<void> {
    return this.#syncing ??= this.#syncOnce().finally(() => {
      this.#syncing = undefined;
      if (this.#waiting.length > 0) void this.#sync();
      else if (this.#isFailing) this.#wakeIn(RETRY_MS);
      else if (this.unreported > 0n) this.#wakeIn(this.#gatherMs);
      else if (this.#known && this.#known.held > 0n) this.#wakeIn(RENEW_MS);
    });
  }

  async #syncOnce(): Promise<void> {
    this.stop();
    const waiting = this.#waiting.splice(0);
    try {
      // The earlier write may still arrive, and would undo a later one.
      if (this.#isUnanswered) throw new Error("The store has not answered yet");
      await withStoreTimeout(this.#options.patienceMs, this.#exchange(waiting.map(({ wanted }) => wanted)));
      this.#serve(waiting);
    } catch (failure) {
      this.#isFailing = true;
      for (const { reject } of [...waiting, ...this.#waiting.splice(0)]) reject(unknown(failure));
    }
  }

  /** Reports to the store, and learns from its answer even after the time-out. */
  async #exchange(needs: readonly Wanted[]): Promise<void> {
    const { store, now, monotonic } = this.#options;
    const { limit, warnAt, name } = this.#budget;
    const at = monotonic();
    this.#renewShare(at);
    const request = this.#report(needs, at);
    let settled: Settled | undefined;
    this.#isUnanswered = true;
    try {
      await store.update(placeOf(name, this.period), (value) => {
        settled = settle(readPool(value), request, { limit, now: now(), warnAt });
        return writePool(settled.pool, value);
      });
      this.#learn(settled!, request, at);
      this.#isFailing = false;
    } finally {
      this.#isUnanswered = false;
    }
  }

  #report(needs: readonly Wanted[], at: number): Request {
    const isIdle = this.#isRetired || at > this.#usedAt + IDLE_MS;
    const part = this.#budget.limit / 100n;
    const greatest = needs.reduce((one, { most }) => one > most ? one : most, this.#usual);
    const spare = isIdle ? 0n : greatest * 2n > part ? greatest * 2n : part;
    // While the store fails, no other process could use what is given up.
    if (!this.#isFailing) this.#share.giveUp(spare * 2n);
    const free = this.#share.free(at);
    return this.#share.report(at, {
      reported: this.#reported,
      needs,
      spare: spare > free ? spare - free : 0n,
      until: this.#options.now() + LEASE_MS,
    });
  }

  /** Takes a new share after a long pause, because the others may have merged the old one. */
  #renewShare(at: number): void {
    const isCurrent = at < this.#answeredAt + APART_MS / 2;
    if (isCurrent || this.unreported > 0n || this.#share.reserved > 0n) return;
    this.#share = new OwnShare(this.#options.newId());
    this.#reported = 0n;
  }

  get #gatherMs(): number {
    const { gatherMs = GATHER_MS } = this.#options;
    return gatherMs === 0 ? 0 : Math.max(Math.min(gatherMs, GATHER_MS), GATHER_TIMES * this.#tookMs);
  }

  #learn(settled: Settled, request: Request, at: number): void {
    this.#tookMs = this.#options.monotonic() - at;
    this.#share.grant(request, settled.held, at + SURE_MS);
    this.#reported = request.spent;
    this.#known = settled;
    this.#knownAt = this.#answeredAt = at;
    this.#usual -= this.#usual / 8n;
    if (settled.warns) this.#options.onWarn(this.#budget, this.period, settled.spent);
  }

  #serve(waiting: readonly Waiting[]): void {
    const at = this.#options.monotonic();
    for (const one of waiting) {
      const amount = shareOf(one.wanted, this.#left(at));
      if (amount === undefined) one.reject(this.#refusal(one.wanted, at));
      else if (this.#share.free(at) >= amount) one.resolve(this.#take(amount));
      // Another request has taken meanwhile what was free, and the store has more.
      else this.#waiting.push(one);
    }
  }

  /** Reports to the store in `ms` milliseconds at the latest. */
  #wakeIn(ms: number): void {
    // A report that is under way schedules the next one when it ends.
    if (this.#syncing) return;
    const at = this.#options.monotonic() + ms;
    if (this.#wake && this.#wake.at <= at) return;
    this.#wake?.cancel();
    this.#wake = { at, cancel: callWhileAlive(ms, () => void this.#sync()) };
  }
}

/** The store key of a budget's record. */
export function placeOf(budget: string, { id }: Pick<Period, "id">): string[] {
  return ["budget", budget, id];
}
