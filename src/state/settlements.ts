/** Reports to the counter what requests used in the end. A report is repeated until the counter has it, and is counted once. */
import type { Quota } from "../contract/allowance.ts";
import type { Settlement } from "../contract/shared_counts.ts";
import type { Counter } from "./counter.ts";

export interface SettlementsOptions {
  counter: Counter;
  /** Milliseconds by a monotonic clock. */
  monotonic(): number;
  /** An id that is unique among the requests of all gateways. */
  newId(): string;
  /** Makes a call, and observes it. */
  run(call: () => Promise<unknown>): Promise<unknown>;
}

/** A settlement that the server may not know yet. */
interface Due extends Settlement {
  account: string;
  quota: Quota;
  /** When the request ended, by a monotonic clock. */
  at: number;
}

interface Debt {
  quota: Quota;
  requests: number;
  tokens: number;
  since: number;
}

/** How long a settlement may take, in milliseconds: as long as any command. */
export const PATIENT_MS = 800;
/** How many scripts are sent together, if there are many. */
const AT_ONCE = 50;
/** How many settlements are kept for a server that fails. Further ones are lost, and the server counts too little. */
const MOST_DUE = 10_000;

export class Settlements {
  readonly #options: SettlementsOptions;
  readonly #debts = new Map<string, Debt>();
  #due: Due[] = [];
  readonly #sending = new Set<Promise<unknown>>();

  constructor(options: SettlementsOptions) {
    this.#options = options;
  }

  /** Sends a settlement in the background. */
  settle(account: string, quota: Quota, settlement: Settlement): void {
    const sending = this.#send({ account, quota, ...settlement, at: this.#options.monotonic() });
    this.#sending.add(sending);
    void sending.finally(() => this.#sending.delete(sending));
  }

  /** Records what was admitted without asking the counter. It is reported with the next sending. */
  owe(account: string, quota: Quota, requests: number, tokens: number): void {
    const debt = this.#debts.get(account) ?? { quota, requests: 0, tokens: 0, since: this.#options.monotonic() };
    debt.requests += requests;
    debt.tokens += tokens;
    this.#debts.set(account, debt);
  }

  /** Sends what is due, if the server answers. */
  async sendAll(): Promise<void> {
    if (!this.#options.counter.isReady(PATIENT_MS)) return;
    for (const [account, { quota, requests, tokens, since }] of this.#debts) {
      this.#due.push({
        account,
        quota,
        id: this.#options.newId(),
        counted: 0,
        tokens,
        unsure: { requests },
        at: since,
      });
    }
    this.#debts.clear();
    const accounts = Map.groupBy(this.#due.splice(0), ({ account }) => account);
    await inTurns([...accounts.values()], (some) => this.#sendSome(some));
  }

  /** Resolves once the server knows all, or has failed. */
  async close(): Promise<void> {
    await Promise.all(this.#sending);
    await this.sendAll();
  }

  /** Sends the settlements of one account, up to a failure. Other accounts are not held up. */
  async #sendSome(some: readonly Due[]): Promise<void> {
    for (let at = 0; at < some.length; at += AT_ONCE) {
      const sent = await Promise.all(some.slice(at, at + AT_ONCE).map((due) => this.#send(due)));
      if (sent.every(Boolean)) continue;
      for (const due of some.slice(at + AT_ONCE)) this.#due.push(due);
      return;
    }
  }

  /** Returns whether it was sent. Otherwise it is kept for later. */
  async #send(due: Due): Promise<boolean> {
    const { account, quota, at, ...settlement } = due;
    const agoMs = Math.max(0, this.#options.monotonic() - at);
    try {
      await this.#options.run(() => this.#options.counter.settle(account, quota, { ...settlement, agoMs }));
      return true;
    } catch {
      if (this.#due.length < MOST_DUE) this.#due.push(due);
      return false;
    }
  }
}

/** Works on all items, some at a time. A failure does not stop the others. */
export async function inTurns<T>(all: readonly T[], work: (one: T) => Promise<void>): Promise<void> {
  for (let at = 0; at < all.length; at += AT_ONCE) await Promise.allSettled(all.slice(at, at + AT_ONCE).map(work));
}
