import { GatewayError } from "../errors.ts";

/** How a queue is limited. */
export interface QueueLimits {
  /** How many call at once those for whom nobody waits; for messages. */
  running: number;
  /** How many wait for their turn; further ones are refused at once. */
  waiting: number;
  /** How long one waits, in milliseconds. */
  waitMs: number;
}

interface Waiter<T> {
  admit(place: T): void;
}

/**
 * Who waits for a place at an upstream: each caller who waits gets one place before any of them gets a second, so that one with
 * many requests does not keep the others out.
 */
export class FairQueue<T> {
  readonly #name: string;
  readonly #limits: QueueLimits;
  /** By caller, the one whose turn is next first. */
  readonly #queues = new Map<string, Waiter<T>[]>();
  #size = 0;

  /** `name`: the upstream's. */
  constructor(name: string, limits: QueueLimits) {
    this.#name = name;
    this.#limits = limits;
  }

  get size(): number {
    return this.#size;
  }

  /** The place that it is given in its turn. Throws `unavailable` where that takes too long, and what ends `signal`. */
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

  /** The place goes to the next who waits, and its caller to the end of the line. False where nobody waits. */
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
