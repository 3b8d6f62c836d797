import type { SharedCounts } from "../contract/shared_counts.ts";
import type { Concurrency, ConcurrencyLimits } from "./concurrency.ts";
import { FairQueue } from "./fair_queue.ts";

/** The interval between two requests for a permit, in milliseconds. It is random, so that all gateways get equally many. */
const LEAST_WAIT_MS = 10;
const MOST_WAIT_MS = 40;

/** Releases a permit. */
type Release = () => void;

/**
 * The concurrency limit of one upstream, which all gateways on one store count together. In each gateway, one loop asks on
 * behalf of all waiting requests. While the server does not answer, each gateway uses its share of the permits. The share of a caller
 * is counted in each gateway.
 */
export class SharedConcurrencyLimit implements Concurrency {
  readonly #account: string;
  readonly limits: ConcurrencyLimits;
  readonly #counts: SharedCounts;
  readonly #queue: FairQueue<Release>;
  #running = 0;
  #isAsking = false;
  /** Runs until the next request for a permit. */
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(name: string, limits: ConcurrencyLimits, counts: SharedCounts) {
    this.#account = limits.kind ? `upstream ${name} ${limits.kind}` : `upstream ${name}`;
    this.limits = limits;
    this.#counts = counts;
    this.#queue = new FairQueue(name, limits);
  }

  load(): { running: number; waiting: number } {
    return { running: this.#running, waiting: this.#queue.size };
  }

  async acquire(caller: string, signal: AbortSignal, isExtra?: boolean): Promise<Release> {
    signal.throwIfAborted();
    // A new request must not overtake those that wait.
    if (!this.#queue.hasNext && this.#queue.begin(caller)) {
      const place = await this.#take();
      if (place) return this.#releasing(caller, place);
      this.#queue.end(caller);
    }
    return this.#releasing(caller, await this.#wait(caller, signal, isExtra));
  }

  async #wait(caller: string, signal: AbortSignal, isExtra?: boolean): Promise<Release> {
    const waiting = this.#queue.wait(caller, signal, isExtra);
    this.#askLater();
    try {
      return await waiting;
    } finally {
      if (this.#queue.size === 0) this.#stopAsking();
    }
  }

  /** The permit's release, with which a caller that waits for its own share gets its turn. */
  #releasing(caller: string, release: Release): Release {
    let held = true;
    return () => {
      if (!held) return;
      held = false;
      release();
      this.#queue.end(caller);
      this.#askLater();
    };
  }

  #askLater(): void {
    if (this.#isAsking || !this.#queue.hasNext) return;
    const ms = LEAST_WAIT_MS + Math.random() * (MOST_WAIT_MS - LEAST_WAIT_MS);
    this.#timer ??= setTimeout(() => void this.#askForAll(), ms);
  }

  #stopAsking(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  async #askForAll(): Promise<void> {
    this.#timer = undefined;
    this.#isAsking = true;
    let place = await this.#take();
    while (place && this.#queue.admit(place)) place = this.#queue.hasNext ? await this.#take() : undefined;
    place?.();
    this.#isAsking = false;
    this.#askLater();
  }

  /** A permit, if one is free. */
  async #take(): Promise<Release | undefined> {
    if (!this.#counts.isUp()) return this.#takeAlone();
    const quota = { concurrentRequests: this.limits.running };
    const id = this.#counts.newId();
    const giveBack = () => this.#counts.settle(this.#account, quota, { id, counted: 0, tokens: 0 });
    try {
      const { reached } = await this.#counts.take(this.#account, quota, 0, id);
      return reached ? undefined : this.#hold(giveBack);
    } catch {
      giveBack(); // it may have been taken
      return this.#takeAlone();
    }
  }

  /** A permit from this gateway's share. One call may always run. */
  #takeAlone(): Release | undefined {
    const isFree = this.#running === 0 || (this.#running + 1) * this.#counts.gateways <= this.limits.running;
    if (!isFree) return undefined;
    const id = this.#counts.newId();
    this.#counts.hold(this.#account, id);
    return this.#hold(() => this.#counts.owe(this.#account, {}, { id, requests: 0, tokens: 0 }));
  }

  #hold(giveBack: Release): Release {
    this.#running++;
    let held = true;
    return () => {
      if (!held) return;
      held = false;
      this.#running--;
      giveBack();
    };
  }
}
