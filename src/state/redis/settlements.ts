/** What requests used in the end, on its way to the server: it goes out again until it is known there, and is counted once. */
import type { Quota } from "../../contract/allowance.ts";
import type { Settlement } from "../../contract/shared_counts.ts";
import { builtin } from "../../util/builtin.ts";
import { SETTLE } from "./count_scripts.ts";
import type { Link } from "./link.ts";

export interface SettlementsOptions {
  link: Link;
  /** Milliseconds by a clock that never steps. */
  monotonic(): number;
  /** A name for one request, among those of all gateways. */
  newId(): string;
  /** Makes a call of the server, which is observed. */
  run(call: () => Promise<unknown>): Promise<unknown>;
}

/** A settlement that the server may not know yet. */
interface Due extends Settlement {
  account: string;
  quota: Quota;
  /** By a clock that never steps. */
  at: number;
}

interface Debt {
  quota: Quota;
  requests: number;
  tokens: number;
  since: number;
}

/** How long a settlement may take: as long as any command. */
export const PATIENT_MS = 800;
/** How many scripts go out together, where there are many. */
const AT_ONCE = 50;
/** How many settlements are kept for a server that fails. Further ones are lost: it has counted too little then. */
const MOST_DUE = 10_000;

/** In the order of the scripts. */
export const LIMITS = ["requestsPerMinute", "tokensPerMinute", "tokensPerDay", "concurrentRequests"] as const;

export class Settlements {
  readonly #options: SettlementsOptions;
  readonly #debts = new Map<string, Debt>();
  #due: Due[] = [];
  readonly #sending = new Set<Promise<unknown>>();

  constructor(options: SettlementsOptions) {
    this.#options = options;
  }

  /** Nobody waits for it. */
  settle(account: string, quota: Quota, settlement: Settlement): void {
    const sending = this.#send({ account, quota, ...settlement, at: this.#options.monotonic() });
    this.#sending.add(sending);
    void sending.finally(() => this.#sending.delete(sending));
  }

  /** Counts what was let in without asking, with what comes after it. */
  owe(account: string, quota: Quota, requests: number, tokens: number): void {
    const debt = this.#debts.get(account) ?? { quota, requests: 0, tokens: 0, since: this.#options.monotonic() };
    debt.requests += requests;
    debt.tokens += tokens;
    this.#debts.set(account, debt);
  }

  /** Sends what is due, if the server answers. */
  async sendAll(): Promise<void> {
    if (!this.#options.link.isReady(PATIENT_MS)) return;
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

  /** Those of one account: what fails holds up no other. */
  async #sendSome(some: readonly Due[]): Promise<void> {
    for (let at = 0; at < some.length; at += AT_ONCE) {
      const sent = await Promise.all(some.slice(at, at + AT_ONCE).map((due) => this.#send(due)));
      if (sent.every(Boolean)) continue;
      for (const due of some.slice(at + AT_ONCE)) this.#due.push(due);
      return;
    }
  }

  /** Whether it need not be sent again. */
  async #send(due: Due): Promise<boolean> {
    const { account, quota, id, counted, tokens, unsure, at } = due;
    const limits = LIMITS.slice(0, 3).map((name) => String(quota[name] ?? ""));
    const agoMs = String(Math.max(0, this.#options.monotonic() - at));
    const requests = String(unsure?.requests ?? "");
    const args = [...limits, id, String(counted), String(tokens), agoMs, requests];
    try {
      await this.#options.run(() => this.#options.link.run(SETTLE, keysOf(account, id), args, PATIENT_MS));
      return true;
    } catch (error) {
      // Where something else lies it cannot be counted at any time.
      if (/^WRONGTYPE\b/.test((error as Error).message)) return true;
      if (this.#due.length < MOST_DUE) this.#due.push(due);
      return false;
    }
  }
}

/** What is used, the leases and the mark of a settlement: all of one account are on one server of a cluster. */
export function keysOf(account: string, id = ""): [string, string, string] {
  const hash = builtin("node:crypto").hash("sha256", JSON.stringify(["limits", account]), "base64url");
  return [`laneway:{${hash}}:used`, `laneway:{${hash}}:leases`, `laneway:{${hash}}:settled:${id}`];
}

/** What fails of it keeps nothing else from being done. */
export async function inTurns<T>(all: readonly T[], work: (one: T) => Promise<void>): Promise<void> {
  for (let at = 0; at < all.length; at += AT_ONCE) await Promise.allSettled(all.slice(at, at + AT_ONCE).map(work));
}
