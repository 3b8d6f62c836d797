/** How many fetches run at once, in all and at one host. */
import { Refusal } from "./refusal.ts";

export interface TurnLimits {
  /** Further ones are refused. */
  inAll: number;
  /** Further ones wait. */
  atHost: number;
}

export class Turns {
  readonly #limits: TurnLimits;
  /** By host: how many run, and who waits. */
  readonly #hosts = new Map<string, { running: number; waiting: (() => void)[] }>();
  #running = 0;

  constructor(limits: TurnLimits) {
    this.#limits = limits;
  }

  /** Runs a fetch, whatever hosts it comes to. Throws a `Refusal` where too many run. */
  async run<T>(work: () => Promise<T>): Promise<T> {
    if (this.#running >= this.#limits.inAll) throw new Refusal("too_many_requests", "Too many pages are being fetched");
    this.#running++;
    try {
      return await work();
    } finally {
      this.#running--;
    }
  }

  /** Makes a request to a host in its turn. Throws the reason of `signal` where it does not get one in time. */
  async at<T>(host: string, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    const place = this.#hosts.get(host) ?? { running: 0, waiting: [] };
    this.#hosts.set(host, place);
    if (place.running < this.#limits.atHost) place.running++;
    else await turnIn(place.waiting, signal);
    try {
      return await work();
    } finally {
      // Who waits takes the turn over.
      const next = place.waiting.shift();
      if (next) next();
      else if (--place.running === 0) this.#hosts.delete(host);
    }
  }
}

async function turnIn(waiting: (() => void)[], signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const leave = () => {
    const at = waiting.indexOf(resolve);
    if (at < 0) return;
    waiting.splice(at, 1);
    reject(signal.reason);
  };
  waiting.push(resolve);
  signal.addEventListener("abort", leave, { once: true });
  await promise.finally(() => signal.removeEventListener("abort", leave));
}
