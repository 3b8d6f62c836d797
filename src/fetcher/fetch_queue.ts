/** Limits how many fetches run at once, in all and at one host, and shares them among callers. */
import { Shares, Slots } from "../util/shares.ts";
import { Refusal } from "./refusal.ts";

/** The caller of the gateway that wants the page. Absent if the gateway has only one caller. */
export type Caller = string | undefined;

export interface QueueLimits {
  /** How many fetches run at once. Further ones are refused. */
  inAll: number;
  /** How many requests run at one host at once. Further ones wait. */
  atHost: number;
}

export class FetchQueue {
  readonly #limits: QueueLimits;
  readonly #hosts = new Map<string, Slots>();
  readonly #fetched = new Shares();

  constructor(limits: QueueLimits) {
    this.#limits = limits;
  }

  /** Runs a fetch, whatever hosts it leads to. Throws a `Refusal` if too many run, or too many of the caller's. */
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

  /** Makes a request to a host in its turn. Throws the reason of `signal` if its turn does not come in time. */
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
