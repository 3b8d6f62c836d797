import type { SharedCounts } from "../contract/shared_counts.ts";
import type { Concurrency, ConcurrencyLimits } from "./concurrency.ts";
import { FairQueue } from "./fair_queue.ts";

/** How often it is asked whether there is a place again, in milliseconds: by chance, so that all gateways get as many. */
const LEAST_WAIT_MS = 10;
const MOST_WAIT_MS = 40;

/** Gives a place back. */
type Release = () => void;

/**
 * The places at one upstream, which all gateways on one store count together. Of each gateway one asks for all who wait there.
 * While the server does not answer, each gateway has its share of them.
 */
export class SharedConcurrencyLimit implements Concurrency {
  readonly #account: string;
  readonly #limits: ConcurrencyLimits;
  readonly #counts: SharedCounts;
  readonly #queue: FairQueue<Release>;
  #running = 0;
  #isAsking = false;
  /** Until it is asked again. */
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(name: string, limits: ConcurrencyLimits, counts: SharedCounts) {
    this.#account = `upstream ${name}`;
    this.#limits = limits;
    this.#counts = counts;
    this.#queue = new FairQueue(name, limits);
  }

  load(): { running: number; waiting: number } {
    return { running: this.#running, waiting: this.#queue.size };
  }

  async acquire(caller: string, signal: AbortSignal): Promise<Release> {
    signal.throwIfAborted();
    // Whoever comes does not overtake those who wait.
    const place = this.#queue.size === 0 ? await this.#take() : undefined;
    if (place) return place;
    this.#askLater();
    try {
      return await this.#queue.wait(caller, signal);
    } finally {
      if (this.#queue.size === 0) this.#stopAsking();
    }
  }

  #askLater(): void {
    if (this.#isAsking) return;
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
    while (place && this.#queue.admit(place)) place = this.#queue.size > 0 ? await this.#take() : undefined;
    place?.();
    this.#isAsking = false;
    if (this.#queue.size > 0) this.#askLater();
  }

  /** A place, if there is one. */
  async #take(): Promise<Release | undefined> {
    if (!this.#counts.isUp()) return this.#takeAlone();
    const quota = { concurrentRequests: this.#limits.running };
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

  /** A place of this gateway's share; one may always run. */
  #takeAlone(): Release | undefined {
    const isFree = this.#running === 0 || (this.#running + 1) * this.#counts.gateways <= this.#limits.running;
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
