/** How many fetches run at once, in all, at one host and in one place; and how callers share that. */
import { Shares } from "../util/shares.ts";
import { Refusal } from "./refusal.ts";

/** Whose page it is: what a gateway tells its callers apart by. Absent where it has only one. */
export type Caller = string | undefined;

export interface TurnLimits {
  /** Further ones are refused. */
  inAll: number;
  /** Further ones wait. */
  atHost: number;
}

export class Turns {
  readonly #limits: TurnLimits;
  readonly #hosts = new Map<string, Slots>();
  readonly #fetched = new Shares();

  constructor(limits: TurnLimits) {
    this.#limits = limits;
  }

  /** Runs a fetch, whatever hosts it comes to. Throws a `Refusal` where too many run, or too many of the caller's. */
  async run<T>(caller: Caller, work: () => Promise<T>): Promise<T> {
    const owner = caller ?? "";
    const capacity = { total: this.#limits.inAll, isShared: caller !== undefined };
    const refused = this.#fetched.refusal(owner, 1, capacity);
    if (refused === "full") throw new Refusal("too_many_requests", "Too many pages are being fetched");
    if (refused) throw new Refusal("too_many_requests", "The caller has its share of the pages that are being fetched");
    this.#fetched.add(owner, 1);
    try {
      return await work();
    } finally {
      this.#fetched.add(owner, -1);
    }
  }

  /** Makes a request to a host in its turn. Throws the reason of `signal` where it does not get one in time. */
  async at<T>(host: string, caller: Caller, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    const slots = this.#hosts.get(host) ?? new Slots(this.#limits.atHost);
    this.#hosts.set(host, slots);
    try {
      return await slots.run(caller, signal, work);
    } finally {
      if (slots.isFree) this.#hosts.delete(host);
    }
  }
}

interface Waiting {
  caller: Caller;
  begin(): void;
}

/** Lets so many run at once. Others wait; callers take turns, and one leaves a slot to whoever has none yet. */
export class Slots {
  readonly #total: number;
  readonly #held = new Shares();
  /** By caller: the one whose turn it is comes first. */
  readonly #waiting = new Map<string, Waiting[]>();

  constructor(total: number) {
    this.#total = total;
  }

  /** Whether nothing runs and nobody waits. */
  get isFree(): boolean {
    return this.#held.taken === 0 && this.#waiting.size === 0;
  }

  /** Throws the reason of `signal` where it is aborted first. */
  async run<T>(caller: Caller, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    signal.throwIfAborted();
    if (this.#mayRun(caller)) this.#held.add(caller ?? "", 1);
    else await this.#wait(caller, signal);
    try {
      return await work();
    } finally {
      this.#held.add(caller ?? "", -1);
      this.#beginNext();
    }
  }

  #mayRun(caller: Caller): boolean {
    return !this.#held.refusal(caller ?? "", 1, { total: this.#total, isShared: caller !== undefined });
  }

  async #wait(caller: Caller, signal: AbortSignal): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const own: Waiting = { caller, begin: resolve };
    const leave = () => {
      if (this.#remove(own)) reject(signal.reason);
    };
    const queue = this.#waiting.get(caller ?? "");
    if (queue) queue.push(own);
    else this.#waiting.set(caller ?? "", [own]);
    signal.addEventListener("abort", leave, { once: true });
    await promise.finally(() => signal.removeEventListener("abort", leave));
  }

  #beginNext(): void {
    for (const [owner, queue] of this.#waiting) {
      const [next] = queue;
      if (!next || !this.#mayRun(next.caller)) continue;
      this.#remove(next);
      // The others of its caller come after everybody else's.
      if (this.#waiting.delete(owner)) this.#waiting.set(owner, queue);
      this.#held.add(owner, 1);
      return next.begin();
    }
  }

  /** Whether it was waiting. */
  #remove(one: Waiting): boolean {
    const owner = one.caller ?? "";
    const queue = this.#waiting.get(owner);
    const at = queue?.indexOf(one) ?? -1;
    if (at < 0) return false;
    queue!.splice(at, 1);
    if (queue!.length === 0) this.#waiting.delete(owner);
    return true;
  }
}
