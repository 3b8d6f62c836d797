import { GatewayError } from "../errors.ts";

export interface ConcurrencyLimits {
  /** How many calls run at once. */
  running: number;
  /** How many wait for their turn; further ones are refused at once. */
  waiting: number;
  /** How long one waits, in milliseconds. */
  waitMs: number;
}

interface Waiter {
  admit(): void;
}

/**
 * The places at one upstream. Where all are taken, callers wait in turn: each of those who wait gets one place before any
 * of them gets a second, so that one with many requests does not keep the others out.
 */
export class ConcurrencyLimit {
  readonly #name: string;
  readonly #limits: ConcurrencyLimits;
  /** By caller, the one whose turn is next first. */
  readonly #queues = new Map<string, Waiter[]>();
  #running = 0;
  #waiting = 0;

  constructor(name: string, limits: ConcurrencyLimits) {
    this.#name = name;
    this.#limits = limits;
  }

  /** How many calls run now, and how many wait. */
  load(): { running: number; waiting: number } {
    return { running: this.#running, waiting: this.#waiting };
  }

  /** Resolves to what gives the place back. Throws `unavailable` where it takes too long, and what ends `signal`. */
  async acquire(caller: string, signal: AbortSignal): Promise<() => void> {
    signal.throwIfAborted();
    if (this.#running < this.#limits.running) this.#running++;
    else await this.#wait(caller, signal);
    let held = true;
    return () => {
      if (held) this.#release();
      held = false;
    };
  }

  async #wait(caller: string, signal: AbortSignal): Promise<void> {
    const { running, waiting, waitMs } = this.#limits;
    const busy = (what: string) =>
      new GatewayError("unavailable", `Upstream "${this.#name}" is busy: ${what}`, {
        retryAfter: "1",
        notProcessed: true,
      });
    if (this.#waiting >= waiting) throw busy(`${running} requests run and ${waiting} wait`);
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const waiter: Waiter = { admit: resolve };
    const queue = this.#queues.get(caller) ?? [];
    queue.push(waiter);
    this.#queues.set(caller, queue);
    this.#waiting++;
    const leave = (reason: unknown) => {
      if (this.#remove(caller, waiter)) reject(reason);
    };
    const timer = setTimeout(() => leave(busy(`no place within ${waitMs} ms`)), waitMs);
    const onAbort = () => leave(signal.reason);
    signal.addEventListener("abort", onAbort, { once: true });
    try {
      await promise;
    } finally {
      clearTimeout(timer);
      signal.removeEventListener("abort", onAbort);
    }
  }

  #remove(caller: string, waiter: Waiter): boolean {
    const queue = this.#queues.get(caller);
    const at = queue?.indexOf(waiter) ?? -1;
    if (!queue || at < 0) return false;
    queue.splice(at, 1);
    if (queue.length === 0) this.#queues.delete(caller);
    this.#waiting--;
    return true;
  }

  /** The place goes to the next who waits, and its caller to the end of the line. */
  #release(): void {
    const [next] = this.#queues;
    if (!next) {
      this.#running--;
      return;
    }
    const [caller, queue] = next;
    const waiter = queue.shift();
    this.#waiting--;
    this.#queues.delete(caller);
    if (queue.length > 0) this.#queues.set(caller, queue);
    waiter?.admit();
  }
}
