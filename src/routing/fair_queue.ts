import { GatewayError } from "../errors.ts";
import { Shares } from "../util/shares.ts";

/** The limits of a queue. */
export interface QueueLimits {
  /** How many calls may run at the same time. A caller gets at most its share of them. */
  running: number;
  /** How many may wait for their turn. Further ones are refused immediately. */
  waiting: number;
  /** How long each may wait, in milliseconds. */
  waitMs: number;
  /** Whether the gateway can have several callers. With only one, nothing is kept for others. */
  isShared?: boolean;
  /** The kind of calls, for messages. By default any. */
  kind?: "completions";
}

interface Waiter<T> {
  admit(place: T): void;
}

/**
 * A fair queue for the permits of an upstream. Each waiting caller gets one permit before any of them gets a second, and none holds
 * more than its share of the permits, or of the places in the queue, so that a caller with many requests does not block the others.
 */
export class FairQueue<T> {
  readonly #name: string;
  readonly #limits: QueueLimits;
  /** By caller. The caller whose turn is next comes first. */
  readonly #queues = new Map<string, Waiter<T>[]>();
  readonly #waiting = new Shares();
  /** The permits that callers hold, those that are about to be taken included. */
  readonly #held = new Shares();

  /** `name`: the upstream's name. */
  constructor(name: string, limits: QueueLimits) {
    this.#name = name;
    this.#limits = limits;
  }

  get size(): number {
    return this.#waiting.taken;
  }

  /** Whether somebody waits who would get a permit if there was one. */
  get hasNext(): boolean {
    return this.#next() !== undefined;
  }

  /** Counts a permit as the caller's, unless that is more than its share. Returns whether it is. */
  begin(caller: string): boolean {
    if (!this.#mayHold(caller)) return false;
    this.#held.add(caller, 1);
    return true;
  }

  /** The caller has one permit less. */
  end(caller: string): void {
    this.#held.add(caller, -1);
  }

  /** Waits for a permit, which is then the caller's. Throws `unavailable` after too long a wait, and the reason of `signal`. */
  async wait(caller: string, signal: AbortSignal, isExtra = false): Promise<T> {
    signal.throwIfAborted();
    const { running, waiting, waitMs, isShared = false, kind = "requests" } = this.#limits;
    const total = isExtra ? waiting / 2 : waiting;
    const refusal = this.#waiting.refusal(caller, 1, { total, isShared });
    if (refusal === "full") throw this.#busy(`${running} ${kind} run and ${this.size} wait`);
    if (refusal) throw this.#busy(`${this.#waiting.heldBy(caller)} ${kind} of this caller wait, which is its share`);
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    const waiter: Waiter<T> = { admit: resolve };
    const queue = this.#queues.get(caller) ?? [];
    queue.push(waiter);
    this.#queues.set(caller, queue);
    this.#waiting.add(caller, 1);
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
    const next = this.#next();
    if (!next) return false;
    const [caller, queue] = next;
    const waiter = queue.shift();
    this.#waiting.add(caller, -1);
    this.#held.add(caller, 1);
    this.#queues.delete(caller);
    if (queue.length > 0) this.#queues.set(caller, queue);
    waiter?.admit(place);
    return true;
  }

  #next(): [caller: string, queue: Waiter<T>[]] | undefined {
    for (const next of this.#queues) if (this.#mayHold(next[0])) return next;
    return undefined;
  }

  /** The last permits are for whoever comes next: a caller that has none may take any. */
  #mayHold(caller: string): boolean {
    const { running: total, isShared = false } = this.#limits;
    return this.#held.refusal(caller, 1, { total, isShared }) !== "share";
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
    this.#waiting.add(caller, -1);
    return true;
  }
}
