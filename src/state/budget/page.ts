/**
 * One budget in one period, at one process. What is taken of it is written down in the store a moment later; a request waits for
 * the store only where the process holds too little for it.
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
  /** Milliseconds by a clock that never steps. */
  monotonic(): number;
  newId(): string;
  /** How long the store may take, in milliseconds. */
  patienceMs: number;
  /** How long what was spent may wait at most, in milliseconds; with 0 it is written at once. */
  gatherMs?: number;
  /** All gateways together have spent so much that somebody is to be warned. Once in a period. */
  onWarn(budget: Budget, period: Period, spent: bigint): void;
  /** It had no room for a request. */
  onRefuse?(budget: Budget): void;
}

/** What was set aside for a call. */
export interface Reservation {
  /** In pico-dollars. */
  readonly amount: bigint;
  /** Gives back all but so much. */
  keep(amount: bigint): void;
  /** The call is over, and has cost so much. */
  settle(cost: bigint): void;
}

/** How long a process holds what it was given: one that dies gives it back so. Its own clock may be a little slow. */
const LEASE_MS = 120_000;
const SURE_MS = 100_000;
const RENEW_MS = 30_000;
/** How long a process goes on holding what it does not use. */
const IDLE_MS = 20_000;
/** How long what was spent may wait for what is spent next; for a slow store so many times as long as it takes. */
const GATHER_MS = 25;
const GATHER_TIMES = 4;
const RETRY_MS = 1_000;
/** For how long a refusal stands without asking again. */
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
  /** What the store said last. */
  #known: Settled | undefined;
  #knownAt = -Infinity;
  #usedAt: number;
  /** The greatest amount that was taken of late. */
  #usual = 0n;
  #reported = 0n;
  #answeredAt = Infinity;
  #syncing: Promise<void> | undefined;
  #wake: { at: number; cancel(): void } | undefined;
  #isRetired = false;
  #isUnanswered = false;
  /** How long the store took last. */
  #tookMs = 0;
  #isFailing = false;

  constructor(budget: Budget, period: Period, options: PageOptions) {
    this.period = period;
    this.#options = options;
    this.#share = new OwnShare(options.newId());
    this.#budget = budget;
    this.#usedAt = options.monotonic();
  }

  /** It may have changed. */
  set budget(budget: Budget) {
    if (budget.limit < this.#budget.limit) this.#share.giveUp(0n);
    if (budget.limit !== this.#budget.limit) this.#knownAt = -Infinity;
    this.#budget = budget;
    this.#isRetired = false;
  }

  /** What all have spent, as far as is known here; nothing before the store has answered. */
  get spent(): bigint | undefined {
    return this.#known && this.#known.spent + this.unreported;
  }

  /** What this process has spent, under which name, and what of that it has reported. */
  get share(): { id: string; spent: bigint; reported: bigint } {
    const { id, spent } = this.#share;
    return { id, spent, reported: this.#reported };
  }

  /** What nobody else knows of yet. */
  get unreported(): bigint {
    return this.#share.spent - this.#reported;
  }

  /** Whether nothing is left to be done with it. */
  get isDone(): boolean {
    return this.#isRetired && this.#share.reserved === 0n && this.unreported === 0n && !this.#syncing;
  }

  /** Whether nothing runs or waits, and nothing is held. */
  get isIdle(): boolean {
    return this.#share.reserved === 0n && this.unreported === 0n && !this.#syncing && !this.#known?.held;
  }

  /** Sets an amount aside. Throws `budget_exceeded`, or `unavailable` where nobody knows. */
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

  /** The period is over: only what runs still counts. */
  retire(): void {
    this.#isRetired = true;
  }

  /** Nothing is done for it any more. */
  stop(): void {
    this.#wake?.cancel();
    this.#wake = undefined;
  }

  /** Resolves once the store knows all, or has failed. */
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
      // What came late would undo what came after it.
      if (this.#isUnanswered) throw new Error("The store has not answered yet");
      await withStoreTimeout(this.#options.patienceMs, this.#exchange(waiting.map(({ wanted }) => wanted)));
      this.#serve(waiting);
    } catch (failure) {
      this.#isFailing = true;
      for (const { reject } of [...waiting, ...this.#waiting.splice(0)]) reject(unknown(failure));
    }
  }

  /** However late the store answers, that is what there is. */
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
    // While the store fails, what is given up is nobody's.
    if (!this.#isFailing) this.#share.giveUp(spare * 2n);
    const free = this.#share.free(at);
    return this.#share.report(at, {
      reported: this.#reported,
      needs,
      spare: spare > free ? spare - free : 0n,
      until: this.#options.now() + LEASE_MS,
    });
  }

  /** The others merge a share that has not changed for long: it counts under that name no more. */
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
      // Somebody else has taken meanwhile what was free: there is more.
      else this.#waiting.push(one);
    }
  }

  /** Writes down what has become of it, in so many milliseconds at the latest. */
  #wakeIn(ms: number): void {
    // What runs comes back to it at its end.
    if (this.#syncing) return;
    const at = this.#options.monotonic() + ms;
    if (this.#wake && this.#wake.at <= at) return;
    this.#wake?.cancel();
    this.#wake = { at, cancel: callWhileAlive(ms, () => void this.#sync()) };
  }
}

/** What is kept of a budget. */
export function placeOf(budget: string, { id }: Pick<Period, "id">): string[] {
  return ["budget", budget, id];
}
