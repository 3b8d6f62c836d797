import { FairQueue, type QueueLimits } from "./fair_queue.ts";

export interface ConcurrencyLimits extends QueueLimits {
  /** How many calls run at once. */
  running: number;
}

/** The places at one upstream, whoever counts them. */
export interface Concurrency {
  /** How many calls of this process run now, and how many wait. */
  load(): { running: number; waiting: number };
  /** Resolves to what gives the place back. Throws `unavailable` where it takes too long, and what ends `signal`. */
  acquire(caller: string, signal: AbortSignal): Promise<() => void>;
}

/** The places at one upstream, as this process counts them. Where all are taken, callers wait in turn. */
export class ConcurrencyLimit implements Concurrency {
  readonly #limits: ConcurrencyLimits;
  readonly #queue: FairQueue<void>;
  #running = 0;

  constructor(name: string, limits: ConcurrencyLimits) {
    this.#limits = limits;
    this.#queue = new FairQueue(name, limits);
  }

  load(): { running: number; waiting: number } {
    return { running: this.#running, waiting: this.#queue.size };
  }

  async acquire(caller: string, signal: AbortSignal): Promise<() => void> {
    signal.throwIfAborted();
    if (this.#running < this.#limits.running) this.#running++;
    else await this.#queue.wait(caller, signal);
    let held = true;
    return () => {
      if (held && !this.#queue.admit()) this.#running--;
      held = false;
    };
  }
}
