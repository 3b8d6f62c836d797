/** How callers share a resource that has a limit, so that one caller cannot lock out the others. */

/** The size of a resource. */
export interface Capacity {
  total: number;
  /** Whether the gateway can have several callers. With only one, nothing is kept for others. */
  isShared: boolean;
}

/** `full`: all callers together hold too much. `share`: the caller itself does. */
export type Refused = "full" | "share";

/** The share for callers that hold something already. The rest is for callers that hold nothing yet. */
const SHARE = 3 / 4;

/** The amounts of one resource that callers hold, such as sockets, bytes or answers. */
export class Shares {
  readonly #held = new Map<string, number>();
  #taken = 0;

  /** The amount that all callers hold together. */
  get taken(): number {
    return this.#taken;
  }

  heldBy(owner: string): number {
    return this.#held.get(owner) ?? 0;
  }

  /**
   * Why the caller cannot have `amount` more, if it cannot. `held`: the part of what it holds that this request replaces, such as
   * the bytes reserved so far for a body that grows.
   */
  refusal(owner: string, amount: number, { total, isShared }: Capacity, held = 0): Refused | undefined {
    const own = this.heldBy(owner) - held;
    const all = this.#taken - held + amount;
    if (all > total) return "full";
    if (!isShared || own <= 0) return undefined;
    if (own + amount > total * SHARE) return "share";
    return all > total * SHARE ? "full" : undefined;
  }

  /** Counts `amount` as held by the caller; a negative amount gives it back. */
  add(owner: string, amount: number): void {
    this.#taken += amount;
    const held = this.heldBy(owner) + amount;
    if (held > 0) this.#held.set(owner, held);
    else this.#held.delete(owner);
  }
}

/** Waiting items by caller. Callers are served in turn, so that one with very many does not hold up the others. */
export class FairQueue<T> {
  /** The caller whose turn it is comes first. */
  readonly #waiting = new Map<string, T[]>();

  get isEmpty(): boolean {
    return this.#waiting.size === 0;
  }

  push(caller: string, one: T): void {
    const own = this.#waiting.get(caller);
    if (own) own.push(one);
    else this.#waiting.set(caller, [one]);
  }

  /** Removes and returns the next item. `may`: callers whose next item may not be taken yet are skipped. */
  shift(may?: (one: T) => boolean): T | undefined {
    for (const [caller, own] of this.#waiting) {
      if (may && !may(own[0]!)) continue;
      const one = own.shift();
      if (own.length > 0) this.defer(caller);
      else this.#waiting.delete(caller);
      return one;
    }
    return undefined;
  }

  /** Serves all other callers before this one. */
  defer(caller: string): void {
    const own = this.#waiting.get(caller);
    if (own && this.#waiting.delete(caller)) this.#waiting.set(caller, own);
  }

  /** Returns whether it was waiting. */
  remove(caller: string, one: T): boolean {
    const own = this.#waiting.get(caller);
    const at = own?.indexOf(one) ?? -1;
    if (at < 0) return false;
    own!.splice(at, 1);
    if (own!.length === 0) this.#waiting.delete(caller);
    return true;
  }
}

interface Waiting {
  caller: string | undefined;
  begin(): void;
}

/**
 * Runs up to `total` works at once, and the rest waits. Callers take turns, and leave a slot to a caller that has none
 * yet. Without callers, works run in the order in which they came.
 */
export class Slots {
  readonly #total: number;
  readonly #held = new Shares();
  readonly #waiting = new FairQueue<Waiting>();

  constructor(total: number) {
    this.#total = total;
  }

  /** Whether nothing runs and nothing waits. */
  get isFree(): boolean {
    return this.#held.taken === 0 && this.#waiting.isEmpty;
  }

  /** Throws the reason of `signal` if it is aborted before the work begins. */
  async run<T>(caller: string | undefined, signal: AbortSignal | undefined, work: () => T | Promise<T>): Promise<T> {
    signal?.throwIfAborted();
    if (this.#mayRun(caller)) this.#held.add(caller ?? "", 1);
    else await this.#wait(caller, signal);
    try {
      return await work();
    } finally {
      this.#held.add(caller ?? "", -1);
      this.#waiting.defer(caller ?? "");
      this.#beginNext();
    }
  }

  #mayRun(caller: string | undefined): boolean {
    return !this.#held.refusal(caller ?? "", 1, { total: this.#total, isShared: caller !== undefined });
  }

  async #wait(caller: string | undefined, signal: AbortSignal | undefined): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const own: Waiting = { caller, begin: resolve };
    const leave = () => {
      if (this.#waiting.remove(caller ?? "", own)) reject(signal!.reason);
    };
    this.#waiting.push(caller ?? "", own);
    signal?.addEventListener("abort", leave, { once: true });
    await promise.finally(() => signal?.removeEventListener("abort", leave));
  }

  #beginNext(): void {
    const next = this.#waiting.shift(({ caller }) => this.#mayRun(caller));
    if (!next) return;
    this.#held.add(next.caller ?? "", 1);
    next.begin();
  }
}
