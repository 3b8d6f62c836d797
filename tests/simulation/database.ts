/** The database that the gateways of a simulated world share: the store's own code, on a fake of its client. */
import { createKvStore } from "../../src/state/kv_store.ts";
import type { Store } from "../../src/state/store.ts";
import type { SimulatedTime } from "./clock.ts";

/**
 * How a call of the database goes wrong: late, without effect, without an answer although it had its effect, with a late answer,
 * or beside a write of somebody else. `away`: all fail for a while.
 */
export const TROUBLES = ["late", "failed", "unconfirmed", "locked", "slow", "conflict", "away"] as const;
export type Trouble = typeof TROUBLES[number];

interface Row {
  key: Deno.KvKey;
  value: unknown;
  versionstamp: string;
  expiresAt: number;
}

interface Pending {
  trouble: Trouble;
  calls: number;
  ms: number;
}

export class Database {
  readonly #rows = new Map<string, Row>();
  readonly #time: SimulatedTime;
  readonly #trace: (line: string) => void;
  #version = 0;
  #trouble: Pending | undefined;
  #awayUntil = -Infinity;
  #isBesideAnother = false;
  /** Whether anything went wrong so far. */
  wasTroubled = false;

  constructor(time: SimulatedTime, trace: (line: string) => void) {
    this.#time = time;
    this.#trace = trace;
  }

  /** The next so many calls go wrong. */
  disturb(trouble: Trouble, calls: number, ms: number): void {
    this.wasTroubled = true;
    if (trouble === "away") this.#awayUntil = this.#time.now() + ms;
    else this.#trouble = { trouble, calls, ms };
  }

  calm(): void {
    this.#trouble = undefined;
    this.#awayUntil = -Infinity;
  }

  /** The store of one gateway. `isGone`: whether that gateway has ended without warning. */
  storeFor(isGone: () => boolean): Store {
    const call = <T>(name: string, work: () => T) => this.#call(name, work, isGone);
    const get = (key: Deno.KvKey) => this.#read(key);
    const client = {
      get: (key: Deno.KvKey) => call("get", () => get(key)),
      getMany: (keys: Deno.KvKey[]) => call("getMany", () => keys.map(get)),
      list: (selector: Deno.KvListSelector) => this.#list(selector, call),
      atomic: () => new Operation((checks, mutations) => call("commit", () => this.#commit(checks, mutations))),
      close() {},
    };
    return createKvStore({ open: () => Promise.resolve(client as unknown as Deno.Kv), now: this.#time.date });
  }

  async #call<T>(name: string, work: () => T, isGone: () => boolean): Promise<T> {
    if (isGone()) throw new Error("The process is gone");
    if (this.#time.now() < this.#awayUntil) throw new Error("The database is away");
    const pending = this.#trouble;
    if (!pending) return work();
    if (--pending.calls <= 0) this.#trouble = undefined;
    this.#trace(`the database's ${name} is ${pending.trouble}`);
    if (pending.trouble === "locked" && name === "commit") throw new Error("database is locked");
    if (pending.trouble === "conflict") return name === "commit" ? await this.#conflict(work) : work();
    if (pending.trouble === "slow") return await this.#answerLate(work(), pending.ms);
    await new Promise<void>((resolve) => void this.#time.after(resolve, pending.ms));
    if (isGone()) throw new Error("The process is gone");
    if (pending.trouble === "failed") throw new Error("The database has failed");
    const result = work();
    if (pending.trouble === "unconfirmed") throw new Error("The connection to the database broke");
    return result;
  }

  /** Somebody else writes before this commit does: what it checks has changed. */
  #conflict<T>(work: () => T): T {
    this.#isBesideAnother = true;
    try {
      return work();
    } finally {
      this.#isBesideAnother = false;
    }
  }

  async #answerLate<T>(result: T, ms: number): Promise<T> {
    await new Promise<void>((resolve) => void this.#time.after(resolve, ms));
    return result;
  }

  #read(key: Deno.KvKey): Deno.KvEntryMaybe<unknown> {
    const row = this.#rows.get(JSON.stringify(key));
    return row && row.expiresAt > this.#time.date()
      ? { key, value: structuredClone(row.value), versionstamp: row.versionstamp }
      : { key, value: null, versionstamp: null };
  }

  async *#list(selector: Deno.KvListSelector, call: <T>(name: string, work: () => T) => Promise<T>) {
    const isIn = (key: Deno.KvKey) =>
      "prefix" in selector
        ? key.length > selector.prefix.length && selector.prefix.every((part, at) => part === key[at])
        : compare(key, (selector as { start: Deno.KvKey }).start) >= 0 &&
          compare(key, (selector as { end: Deno.KvKey }).end) < 0;
    const found = await call(
      "list",
      () =>
        [...this.#rows.values()].filter(({ key, expiresAt }) => isIn(key) && expiresAt > this.#time.date())
          .sort((one, other) => compare(one.key, other.key)).map(({ key }) => this.#read(key)),
    );
    yield* found;
  }

  #commit(checks: readonly Deno.AtomicCheck[], mutations: readonly Deno.KvMutation[]) {
    if (this.#isBesideAnother && checks.length > 0) return { ok: false };
    if (checks.some(({ key, versionstamp }) => this.#read(key).versionstamp !== versionstamp)) return { ok: false };
    const versionstamp = String(++this.#version).padStart(20, "0");
    for (const mutation of mutations) {
      const name = JSON.stringify(mutation.key);
      if (mutation.type === "delete") this.#rows.delete(name);
      else if (mutation.type === "set") {
        const { key, value, expireIn = Infinity } = mutation;
        this.#rows.set(name, {
          key,
          value: structuredClone(value),
          versionstamp,
          expiresAt: this.#time.date() + expireIn,
        });
      }
    }
    return { ok: true, versionstamp };
  }
}

type Commit = (checks: readonly Deno.AtomicCheck[], mutations: readonly Deno.KvMutation[]) => Promise<unknown>;

class Operation {
  readonly #commit: Commit;
  readonly #checks: Deno.AtomicCheck[] = [];
  readonly #mutations: Deno.KvMutation[] = [];

  constructor(commit: Commit) {
    this.#commit = commit;
  }

  check(...checks: Deno.AtomicCheck[]): this {
    this.#checks.push(...checks);
    return this;
  }

  mutate(...mutations: Deno.KvMutation[]): this {
    this.#mutations.push(...mutations);
    return this;
  }

  set(key: Deno.KvKey, value: unknown, options?: { expireIn?: number }): this {
    return this.mutate({ type: "set", key, value, ...options });
  }

  delete(key: Deno.KvKey): this {
    return this.mutate({ type: "delete", key });
  }

  commit(): Promise<unknown> {
    return this.#commit(this.#checks, this.#mutations);
  }
}

function compare(one: Deno.KvKey, other: Deno.KvKey): number {
  for (let at = 0; at < Math.max(one.length, other.length); at++) {
    const [left, right] = [one[at], other[at]];
    if (left === right) continue;
    if (left === undefined) return -1;
    if (right === undefined) return 1;
    return left as string < (right as string) ? -1 : 1;
  }
  return 0;
}
