/** Limits of time that are hardly ever reached, and of which every request has some: one timer for all of the same length. */
import { BoundedMap } from "./bounded_map.ts";

/** Longer waits are none for timers. */
const LONGEST_MS = 2 ** 31 - 1;

/** Those of one length: whoever begins later is due later. */
class Queue {
  readonly ms: number;
  first: TimeLimit | undefined;
  last: TimeLimit | undefined;
  #timer: AbortSignal | undefined;

  constructor(ms: number) {
    this.ms = ms;
  }

  /** There are limits from now on. Without a listener, a timer of this kind keeps no process alive, and nobody must clear it. */
  hold(): void {
    if (!this.#timer || this.#timer.aborted) this.#wait(this.ms);
    else this.#timer.addEventListener("abort", this.#look);
  }

  release(): void {
    this.#timer?.removeEventListener("abort", this.#look);
  }

  #wait(ms: number): void {
    this.#timer = AbortSignal.timeout(Math.min(Math.max(0, Math.ceil(ms)), LONGEST_MS));
    this.#timer.addEventListener("abort", this.#look);
  }

  /** Runs those that are due. */
  readonly #look = () => {
    const now = performance.now();
    try {
      for (let first = this.first; first && first.dueAt <= now; first = this.first) first.end();
    } finally {
      if (this.first && this.#timer?.aborted) this.#wait(this.first.dueAt - now);
    }
  };
}

/** By their lengths in milliseconds: of those that are configured there are few. Whoever stops the clock for a test puts them aside. */
export const queues: Map<number, Queue> = new BoundedMap(100);

/**
 * Calls `run` in `ms` milliseconds, unless it is cancelled before. To set and clear a timer of the platform (Deno 2.9.6) takes
 * several times as long.
 */
export class TimeLimit {
  readonly dueAt: number;
  readonly #queue: Queue;
  #run: (() => void) | undefined;
  #before: TimeLimit | undefined;
  #after: TimeLimit | undefined;

  constructor(ms: number, run: () => void) {
    let queue = queues.get(ms);
    if (!queue) queues.set(ms, queue = new Queue(ms));
    this.dueAt = performance.now() + ms;
    this.#queue = queue;
    this.#run = run;
    this.#before = queue.last;
    queue.last = this;
    if (this.#before) this.#before.#after = this;
    else {
      queue.first = this;
      queue.hold();
    }
  }

  cancel(): void {
    if (!this.#run) return;
    this.#run = undefined;
    const queue = this.#queue;
    if (this.#before) this.#before.#after = this.#after;
    else queue.first = this.#after;
    if (this.#after) this.#after.#before = this.#before;
    else queue.last = this.#before;
    // Whoever holds a limit that is over, as a long stream does, holds no other one by it.
    this.#before = this.#after = undefined;
    if (!queue.first) queue.release();
  }

  /** Its time is over. */
  end(): void {
    const run = this.#run;
    this.cancel();
    run?.();
  }
}
