import { FairQueue, type QueueLimits } from "./fair_queue.ts";

export interface ConcurrencyLimits extends QueueLimits {
  /** How many calls may run at the same time. */
  running: number;
}

/** The concurrency limit of one upstream, counted by this process or by all gateways together. */
export interface Concurrency {
  /** A later configuration may have another number of callers. */
  readonly limits: Pick<ConcurrencyLimits, "isShared">;
  /** How many calls of this process are running, and how many are waiting. */
  load(): { running: number; waiting: number };
  /**
   * Resolves to a function that releases the permit. Throws `unavailable` after too long a wait, and the reason of `signal`.
   * `isExtra`: whether the request can do without it. It then leaves half of the queue to those that cannot.
   */
  acquire(caller: string, signal: AbortSignal, isExtra?: boolean): Promise<() => void>;
}

/** The concurrency limit of one upstream, as counted by this process. When it is reached, callers wait for their turn. */
export class ConcurrencyLimit implements Concurrency {
  readonly limits: ConcurrencyLimits;
  readonly #queue: FairQueue<void>;
  #running = 0;

  constructor(name: string, limits: ConcurrencyLimits) {
    this.limits = limits;
    this.#queue = new FairQueue(name, limits);
  }

  load(): { running: number; waiting: number } {
    return { running: this.#running, waiting: this.#queue.size };
  }

  async acquire(caller: string, signal: AbortSignal, isExtra?: boolean): Promise<() => void> {
    signal.throwIfAborted();
    if (this.#running < this.limits.running && this.#queue.begin(caller)) this.#running++;
    else await this.#queue.wait(caller, signal, isExtra);
    let held = true;
    return () => {
      if (!held) return;
      held = false;
      this.#queue.end(caller);
      if (!this.#queue.admit()) this.#running--;
    };
  }
}
