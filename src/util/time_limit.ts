/** Time limits that hardly ever expire. Every request has several. All limits of equal length share one timer. */
import { BoundedMap } from "./bounded_map.ts";

/** The longest delay that timers support. */
const LONGEST_MS = 2 ** 31 - 1;

/** Limits of equal length, in the order in which they expire. */
class Queue {
  readonly ms: number;
  first: TimeLimit | undefined;
  last: TimeLimit | undefined;
  #timer: AbortSignal | undefined;

  constructor(ms: number) {
    this.ms = ms;
  }

  /**
   * Starts the timer for the first limit. Without a listener, this kind of timer does not keep the process alive and need not be
   * cleared.
   */
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

  /** Runs the limits that have expired. */
  readonly #look = () => {
    const now = performance.now();
    try {
      for (let first = this.first; first && first.dueAt <= now; first = this.first) first.end();
    } finally {
      if (this.first && this.#timer?.aborted) this.#wait(this.first.dueAt - now);
    }
  };
}

/**
 * The queues by their length in milliseconds. Few different lengths are configured. Tests that stop the clock replace
 * the queues.
 */
export const queues: Map<number, Queue> = new BoundedMap(100);

/**
 * Calls `run` in `ms` milliseconds unless it is cancelled first. Setting and clearing one of the platform's timers (Deno 2.9.6)
 * takes several times as long.
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
    // A long stream may keep a limit that is over. It must not keep other limits alive through it.
    this.#before = this.#after = undefined;
    if (!queue.first) queue.release();
  }

  /** Called when the time is up. */
  end(): void {
    const run = this.#run;
    this.cancel();
    run?.();
  }
}

/**
 * Calls `run` every `ms` milliseconds, until the returned function ends that. A start cannot wait for the platform's own intervals:
 * the first of them takes Deno (2.9.6) 10 ms.
 */
export function repeat(ms: number, run: () => void): () => void {
  const again = () => {
    limit = new TimeLimit(ms, again);
    run();
  };
  let limit = new TimeLimit(ms, again);
  return () => limit.cancel();
}
