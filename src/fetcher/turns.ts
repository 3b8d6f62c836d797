/** How many fetches run at once, in all and at one host, and how callers share that. */
import { Shares, Slots } from "../util/shares.ts";
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
