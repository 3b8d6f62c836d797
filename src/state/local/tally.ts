/** Counts what the gateways of one machine use, in the memory of one process. The daily tokens of keys are in the store, too. */
import type { Quota } from "../../contract/allowance.ts";
import type { Settlement, Taken } from "../../contract/shared_counts.ts";
import { type Beat, KEPT_MS, type Taking } from "../counter.ts";
import type { Ledger } from "../ledger.ts";
import { Leases } from "./leases.ts";
import { type Level, type Used, withTimes } from "./used.ts";

export interface TallyOptions {
  /** Milliseconds since the epoch. Days end by this clock. */
  now(): number;
  /** Milliseconds by a monotonic clock. */
  monotonic(): number;
  days: Ledger;
  /** Called if the store did not say what was used that day. It counts as nothing. */
  onFailure?(failure: unknown): void;
}

const DAY_MS = 86_400_000;
const MINUTE_MS = 60_000;
/** When to retry if too many requests run, in milliseconds: one of them may end at any time. */
const BUSY_MS = 1_000;
/** After how long an unused account is forgotten, in milliseconds. Its per-minute limits are free by then. */
const IDLE_MS = 10 * MINUTE_MS;

class Account {
  used: Used = { changes: 0 };
  usedAt = 0;
  readonly leases = new Leases();
  /** Requests that were settled although it was unknown whether they were counted, each with the time of settlement. */
  readonly settled = new Map<string, number>();
}

export class Tally {
  readonly #options: TallyOptions;
  readonly #accounts = new Map<string, Account>();
  #next = this.#accounts.entries();
  /** Gateways, each with when it counts as dead. */
  readonly #gateways = new Map<string, number>();
  /** Resting targets, each with when its rest ends. */
  readonly #resting = new Map<string, number>();

  constructor(options: TallyOptions) {
    this.#options = options;
  }

  async take(name: string, quota: Quota, { tokens, id, leaseMs }: Taking): Promise<Taken & { state: Used }> {
    const day = this.#today();
    // The first request of a day waits until the store has said what was used before.
    const failure = quota.tokensPerDay === undefined ? undefined : await this.#options.days.open(dayName(name), day);
    if (failure !== undefined) this.#options.onFailure?.(failure);
    const now = this.#options.monotonic();
    const account = this.#accountOf(name, now);
    const { requestsPerMinute, tokensPerMinute, tokensPerDay } = quota;
    const used = {
      requests: levelOf(account.used.requests, requestsPerMinute, now),
      tokens: levelOf(account.used.tokens, tokensPerMinute, now),
      dayTokens: tokensPerDay === undefined ? 0 : this.#options.days.spent(dayName(name), day),
    };
    const { reached, waitMs } = this.#reached(quota, used, { tokens, running: account.leases.running(now) });
    if (!reached && (id === "" || !account.settled.has(id))) {
      used.requests++;
      used.tokens += tokens;
      used.dayTokens += tokens;
      if (tokensPerDay !== undefined) this.#options.days.add(dayName(name), day, tokens);
      if (id !== "") account.leases.hold(id, now + leaseMs);
    }
    this.#set(account, now, {
      requests: requestsPerMinute === undefined ? undefined : used.requests,
      tokens: tokensPerMinute === undefined ? undefined : used.tokens,
    });
    return { reached, waitMs, used, state: this.#shown(account, now) };
  }

  /** The first limit that one more request would exceed, and for how many milliseconds it would. */
  #reached(
    { requestsPerMinute, tokensPerMinute, tokensPerDay, concurrentRequests }: Quota,
    used: Taken["used"],
    { tokens, running }: { tokens: number; running: number },
  ): Pick<Taken, "reached" | "waitMs"> {
    if (concurrentRequests !== undefined && running >= concurrentRequests) {
      return { reached: "concurrentRequests", waitMs: BUSY_MS };
    }
    if (tokensPerDay !== undefined && used.dayTokens >= tokensPerDay) {
      return { reached: "tokensPerDay", waitMs: (this.#today() + 1) * DAY_MS - this.#options.now() };
    }
    const requestWaitMs = waitOf(used.requests + 1, requestsPerMinute);
    if (requestWaitMs > 0) return { reached: "requestsPerMinute", waitMs: requestWaitMs };
    // A request for more than a minute's tokens is served once a whole minute's tokens are free.
    const wanted = Math.min(Math.max(tokens, 1), tokensPerMinute ?? 0);
    const tokenWaitMs = waitOf(used.tokens + wanted, tokensPerMinute);
    return tokenWaitMs > 0 ? { reached: "tokensPerMinute", waitMs: tokenWaitMs } : { waitMs: 0 };
  }

  settle(name: string, quota: Quota, { id, counted, tokens, agoMs, unsure }: Settlement & { agoMs: number }): Used {
    const now = this.#options.monotonic();
    const account = this.#accountOf(name, now);
    const isCounted = account.leases.release(id);
    if (unsure) {
      account.leases.release(`?${id}`);
      if (account.settled.has(id)) return this.#shown(account, now);
      account.settled.set(id, now);
    }
    if (!isCounted && !unsure) return this.#shown(account, now);
    const requests = (unsure?.requests ?? 0) - (isCounted && unsure ? 1 : 0);
    const more = isCounted ? tokens - counted : tokens;
    this.#use(account, quota, { requests, tokens: more, now, agoMs });
    if (quota.tokensPerDay !== undefined && more !== 0) this.#options.days.add(dayName(name), this.#today(), more);
    return this.#shown(account, now);
  }

  /** Adds to the usage of the per-minute limits. Negative numbers reduce it. */
  #use(
    account: Account,
    { requestsPerMinute, tokensPerMinute }: Quota,
    { requests, tokens, now, agoMs }: { requests: number; tokens: number; now: number; agoMs: number },
  ): void {
    if (requestsPerMinute !== undefined && requests !== 0) {
      const before = levelOf(account.used.requests, requestsPerMinute, now, agoMs);
      this.#set(account, now, { requests: Math.max(0, before + requests) });
    }
    if (tokensPerMinute === undefined || tokens === 0) return;
    // One answer creates a debt of a minute's tokens at most.
    const before = levelOf(account.used.tokens, tokensPerMinute, now, agoMs);
    const amount = Math.max(0, Math.min(before + tokens, Math.max(before, 2 * tokensPerMinute)));
    this.#set(account, now, { tokens: amount });
  }

  renew(name: string, ids: readonly string[], leaseMs: number): void {
    const now = this.#options.monotonic();
    const { leases } = this.#accountOf(name, now);
    for (const id of ids) {
      const isCounted = id.startsWith("?") && leases.has(id.slice(1));
      leases.hold(isCounted ? id.slice(1) : id, now + leaseMs);
    }
  }

  beat(gateway: string, lifeMs: number, resting: readonly (readonly [target: string, ms: number])[]): Beat {
    const now = this.#options.monotonic();
    this.#gateways.set(gateway, now + lifeMs);
    for (const [target, ms] of resting) {
      this.#resting.set(target, Math.max(now + ms, this.#resting.get(target) ?? 0));
    }
    for (const all of [this.#gateways, this.#resting]) {
      for (const [name, ends] of all) if (ends <= now) all.delete(name);
    }
    const rest = Array.from(this.#resting, ([target, ends]) => ({ target, ends: String(ends), ms: ends - now }));
    return { gateways: this.#gateways.size, resting: rest };
  }

  leave(gateway: string): void {
    this.#gateways.delete(gateway);
  }

  /** Ends the leases of a gateway that is gone. Its requests may still be settled. */
  abandon(holder: string): void {
    this.leave(holder);
    const now = this.#options.monotonic();
    for (const { leases } of this.#accounts.values()) leases.abandon(`${holder}:`, now);
  }

  /** Takes over the counts of an earlier keeper from a worker's memory. The worker that asked it last knows best. */
  recall(name: string, known: Used): void {
    const now = this.#options.monotonic();
    const account = this.#accountOf(name, now);
    if (known.changes > account.used.changes) account.used = withTimes(known, (age) => now - age);
  }

  #shown({ used }: Account, now: number): Used {
    return withTimes(used, (at) => now - at);
  }

  #set(account: Account, at: number, amounts: { requests?: number; tokens?: number }): void {
    const { requests, tokens } = amounts;
    account.used = {
      ...account.used,
      changes: account.used.changes + 1,
      ...(requests !== undefined && { requests: { amount: requests, at } }),
      ...(tokens !== undefined && { tokens: { amount: tokens, at } }),
    };
  }

  #accountOf(name: string, now: number): Account {
    const known = this.#accounts.get(name);
    const account = known ?? new Account();
    if (!known) {
      this.#forgetIdle(now);
      this.#accounts.set(name, account);
    }
    account.usedAt = now;
    forgetOld(account.settled, now - KEPT_MS);
    return account;
  }

  /** There may be any number of callers, so each new account has two others checked. */
  #forgetIdle(now: number): void {
    for (let looked = 0; looked < 2; looked++) {
      const { value, done } = this.#next.next();
      if (done) {
        this.#next = this.#accounts.entries();
        continue;
      }
      const [name, { usedAt, leases, settled }] = value;
      forgetOld(settled, now - KEPT_MS);
      if (now - usedAt > IDLE_MS && settled.size === 0 && leases.isEmpty(now)) this.#accounts.delete(name);
    }
  }

  #today(): number {
    return Math.floor(this.#options.now() / DAY_MS);
  }
}

/** The level of a per-minute limit, for adding what was used `agoMs` ago. It is negative if the bucket has drained since then. */
function levelOf(level: Level | undefined, perMinute: number | undefined, now: number, agoMs = 0): number {
  if (perMinute === undefined) return 0;
  const rate = perMinute / MINUTE_MS;
  return level ? Math.max(-agoMs * rate, level.amount - Math.max(0, now - level.at) * rate) : -agoMs * rate;
}

function waitOf(wanted: number, perMinute: number | undefined): number {
  const waitMs = perMinute === undefined ? 0 : (wanted - perMinute) * MINUTE_MS / perMinute;
  return waitMs > 0.001 ? waitMs : 0;
}

/** The daily tokens of keys have the names under which a single process keeps them. */
function dayName(account: string): string {
  return account.replace(/^key /, "");
}

function forgetOld(times: Map<string, number>, before: number): void {
  for (const [name, at] of times) {
    if (at > before) return;
    times.delete(name);
  }
}
