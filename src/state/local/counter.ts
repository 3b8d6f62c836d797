/** The counter of a worker, which asks the keeper. */
import type { Quota } from "../../contract/allowance.ts";
import type { Settlement, Taken } from "../../contract/shared_counts.ts";
import { BoundedMap } from "../../util/bounded_map.ts";
import type { Beat, Counter, Taking } from "../counter.ts";
import { createLocalLink, type LocalLink, type LocalLinkOptions, Lost } from "./link.ts";
import { type Used, withTimes } from "./used.ts";

/** How long a call that no request waits for may take, in milliseconds. */
const PATIENT_MS = 3_000;
/** How long the last call may take, in milliseconds. If it fails, the keeper learns the same from the end of the connection. */
const LEAVE_MS = 1_000;
/** How many accounts are remembered, in case the keeper is killed and a new one has to know them. */
const MOST_KNOWN = 20_000;
/** After this many milliseconds without use, all per-minute limits are free again. */
const MINUTES_MS = 180_000;

/** The usage in the keeper's last answer. Its levels have ages instead of times, because each process has a clock of its own. */
interface Known {
  used: Used;
  /** When the answer came, by this gateway's clock. */
  at: number;
}

/** A worker's report to a new keeper: the usage of each account, with ages for times, and the requests that run. */
export interface Recollection {
  accounts: readonly (readonly [account: string, used: Used])[];
  running: readonly (readonly [account: string, ids: readonly string[]])[];
  leaseMs: number;
}

export interface LocalCounterOptions {
  connect: LocalLinkOptions["connect"];
  /** Milliseconds by a monotonic clock. */
  monotonic(): number;
}

export function createLocalCounter({ connect, monotonic }: LocalCounterOptions): Counter {
  const memory = new Memory(monotonic);
  return new LocalCounter(createLocalLink({ connect, hello: () => ["recall", [memory.recollect()]] }), memory);
}

class LocalCounter implements Counter {
  readonly #link: LocalLink;
  readonly #memory: Memory;

  constructor(link: LocalLink, memory: Memory) {
    this.#link = link;
    this.#memory = memory;
  }

  async take(account: string, quota: Quota, request: Taking, limitMs: number): Promise<Taken> {
    const { state, ...taken } = await this.#take(account, quota, request, limitMs);
    this.#memory.know(account, state);
    if (!taken.reached && request.id !== "") this.#memory.hold(account, [request.id], request.leaseMs);
    return taken;
  }

  async #take(account: string, quota: Quota, request: Taking, limitMs: number) {
    const take = async () => (await this.#link.call("take", [account, quota, request], limitMs)).result as TakenState;
    try {
      return await take();
    } catch (error) {
      if (!(error instanceof Lost)) throw error;
      // The keeper is gone, and so is the count that it did not confirm.
      return await take();
    }
  }

  async settle(account: string, quota: Quota, settlement: Settlement & { agoMs: number }): Promise<void> {
    this.#memory.release(account, settlement.id);
    const { result } = await this.#link.call("settle", [account, quota, settlement], PATIENT_MS);
    this.#memory.know(account, result as Used);
  }

  async renew(account: string, ids: readonly string[], leaseMs: number): Promise<void> {
    await this.#link.call("renew", [account, ids, leaseMs], PATIENT_MS);
  }

  async beat(gateway: string, lifeMs: number, resting: readonly [target: string, ms: number][]): Promise<Beat> {
    return (await this.#link.call("beat", [gateway, lifeMs, resting], PATIENT_MS)).result as Beat;
  }

  async leave(gateway: string): Promise<void> {
    await this.#link.call("leave", [gateway], LEAVE_MS);
  }

  isReady(): boolean {
    return this.#link.isReady();
  }

  close(): void {
    this.#link.close();
  }
}

type TakenState = Taken & { state: Used };

/** Everything that this worker can tell a new keeper. */
class Memory {
  readonly #monotonic: () => number;
  readonly #known = new BoundedMap<string, Known>(MOST_KNOWN);
  readonly #running = new Map<string, Set<string>>();
  #leaseMs = 0;

  constructor(monotonic: () => number) {
    this.#monotonic = monotonic;
  }

  /** Ignores an answer that a newer one has overtaken. */
  know(account: string, used: Used): void {
    const known = this.#known.get(account);
    if (!known || used.changes >= known.used.changes) this.#known.set(account, { used, at: this.#monotonic() });
  }

  hold(account: string, ids: readonly string[], leaseMs: number): void {
    this.#leaseMs = leaseMs;
    const running = this.#running.get(account) ?? new Set();
    for (const id of ids) running.add(id);
    this.#running.set(account, running);
  }

  release(account: string, id: string): void {
    const running = this.#running.get(account);
    running?.delete(id);
    if (running?.size === 0) this.#running.delete(account);
  }

  recollect(): Recollection {
    const now = this.#monotonic();
    const recent = [...this.#known].filter(([, { at }]) => now - at < MINUTES_MS);
    return {
      accounts: recent.map(([account, { used, at }]) => [account, withTimes(used, (age) => age + now - at)]),
      running: Array.from(this.#running, ([account, ids]) => [account, [...ids]]),
      leaseMs: this.#leaseMs,
    };
  }
}
