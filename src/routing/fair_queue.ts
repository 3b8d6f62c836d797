import { GatewayError } from "../errors.ts";

/** The limits of a queue. */
export interface QueueLimits {
  /** How many calls may run at the same time. Used only in messages. */
  running: number;
  /** How many may wait for their turn. Further ones are refused immediately. */
  waiting: number;
  /** How long each may wait, in milliseconds. */
  waitMs: number;
}

interface Waiter<T> {
  admit(place: T): void;
}

/**
 * A fair queue for the permits of an upstream. Each waiting caller gets one permit before any of them gets a second, so that a
 * caller with many requests does not block the others.
 */
export class FairQueue<T> {
  readonly #name: string;
  readonly #limits: QueueLimits;
  /** By caller. The caller whose turn is next comes first. */
  readonly #queues = new Map<string, Waiter<T>[]>();
  #size = 0;

  /** `name`: the upstream's name. */
  constructor(name: string, limits: QueueLimits) {
    this.#name = name;
    this.#limits = limits;
  }

  get size(): number {
    return this.#size;
  }

  /** Waits for a permit. Throws `unavailable` after too long a wait, and the reason of `signal`. */
  async wait(caller: string, signal: AbortSignal): Promise<T> {
    signal.throwIfAborted();
    const { running, waiting, waitMs } = this.#limits;
    if (this.#size >= waiting) throw this.#busy(`${running} requests run and ${waiting} wait`);
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    const waiter: Waiter<T> = { admit: resolve };
    const queue = this.#queues.get(caller) ?? [];
    queue.push(waiter);
    this.#queues.set(caller, queue);
    this.#size++;
    const leave = (reason: unknown) => {
      if (this.#remove(caller, waiter)) reject(reason);
    };
    const timer = setTimeout(() => leave(this.#busy(`no place within ${waitMs} ms`)), waitMs);
    const onAbort = () => leave(signal.reason);
    signal.addEventListener("abort", onAbort, { once: true });
    try {
      return await promise;
    } finally {
      clearTimeout(timer);
      signal.removeEventListener("abort", onAbort);
    }
  }

  /** Passes the permit to the next caller, who then moves to the end of the queue. False if nobody is waiting. */
  admit(place: T): boolean {
    const [next] = this.#queues;
    if (!next) return false;
    const [caller, queue] = next;
    const waiter = queue.shift();
    this.#size--;
    this.#queues.delete(caller);
    if (queue.length > 0) this.#queues.set(caller, queue);
    waiter?.admit(place);
    return true;
  }

  #busy(what: string): GatewayError {
    const message = `Upstream "${this.#name}" is busy: ${what}`;
    return new GatewayError("unavailable", message, { retryAfter: "1", notProcessed: true });
  }

  #remove(caller: string, waiter: Waiter<T>): boolean {
    const queue = this.#queues.get(caller);
    const at = queue?.indexOf(waiter) ?? -1;
    if (!queue || at < 0) return false;
    queue.splice(at, 1);
    if (queue.length === 0) this.#queues.delete(caller);
    this.#size--;
    return true;
  }
}
