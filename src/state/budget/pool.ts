/**
 * What is known of one budget in one period, by all gateways together: what each has spent, and what it may still spend without
 * asking. Amounts are pico-dollars. All of it is data and pure functions on it.
 */
import { isObject } from "../../util/merge.ts";
import { shareOf, type Wanted } from "./wanted.ts";

/** One process's part. */
export interface Share {
  spent: bigint;
  /** What it may spend beyond that; nobody else may. */
  held: bigint;
  /** Until when it holds that, in milliseconds since the epoch: a process that died gives it back so. */
  until: number;
}

export interface Pool {
  shares: ReadonlyMap<string, Share>;
  /** Of processes that are gone. */
  spent: bigint;
  /** Whether somebody has been warned already. */
  warned: boolean;
}

export const EMPTY: Pool = { shares: new Map(), spent: 0n, warned: false };

/** What a process reports, and what it wants. */
export interface Request {
  id: string;
  /** All that it spent in the period; the same again says nothing new. */
  spent: bigint;
  /** What of that it has reported before: it may have been put together with what others spent since. */
  reported: bigint;
  /** What it holds already, and goes on holding. */
  keeps: bigint;
  /** What of that is free. */
  free: bigint;
  /** What requests wait for, each. */
  needs: readonly Wanted[];
  /** What it wants besides, so that the next requests need not wait. */
  spare: bigint;
  until: number;
}

export interface Terms {
  limit: bigint;
  /** Milliseconds since the epoch. */
  now: number;
  /** From how much on somebody is to be warned; nobody where it is absent. */
  warnAt?: bigint;
}

export interface Settled {
  pool: Pool;
  /** What the process may spend from now on, beyond what it has spent. */
  held: bigint;
  /** What all have spent. */
  spent: bigint;
  /** What nobody has spent or holds. */
  left: bigint;
  /** Whether it is for this process to warn. */
  warns: boolean;
}

/** For how long what a dead process spent stands apart: it may only have been stopped for a while. */
export const APART_MS = 86_400_000;
/** The same where there are more of them than this, as of a gateway that starts again and again. */
const MOST_APART = 500;
const SOON_MS = 600_000;

/** Takes down what a process has spent, and gives it what those of its requests need that it has room for. */
export function settle(
  pool: Pool,
  { id, spent, reported, keeps, free: own, needs, spare, until }: Request,
  terms: Terms,
): Settled {
  const { shares: others, spent: gone } = withoutGone(pool, id, terms.now);
  const rest = gone - mergedOf(pool, { id, reported });
  let [allSpent, heldByOthers] = [rest + spent, 0n];
  for (const share of others.values()) {
    allSpent += share.spent;
    if (share.until > terms.now) heldByOthers += share.held;
  }
  const free = atLeast0(terms.limit - allSpent - heldByOthers - keeps);
  const { given, isAll } = grant(needs, own, free);
  // The last of it is for whoever needs it.
  const held = keeps + given + (isAll ? least(spare, (free - given) / 4n) : 0n);
  const warns = !pool.warned && terms.warnAt !== undefined && allSpent >= terms.warnAt;
  const shares = new Map(others).set(id, { spent, held, until: held > 0n ? until : terms.now });
  return {
    pool: { shares, spent: rest, warned: pool.warned || warns },
    held,
    spent: allSpent,
    left: atLeast0(terms.limit - allSpent - heldByOthers - held),
    warns,
  };
}

/** A request that has no room gets no part of it, which others may have room for. */
function grant(needs: readonly Wanted[], own: bigint, free: bigint): { given: bigint; isAll: boolean } {
  let sum = 0n;
  let isAll = true;
  for (const wanted of needs) {
    const amount = shareOf(wanted, own + free - sum);
    sum += amount ?? 0n;
    if (amount !== wanted.most) isAll = false;
  }
  return { given: atLeast0(sum - own), isAll };
}

/** What all have spent. */
export function spentOf(pool: Pool): bigint {
  let sum = pool.spent;
  for (const { spent } of pool.shares.values()) sum += spent;
  return sum;
}

/** What a process has spent that has no share of its own any more, as far as it was put together with what others spent. */
export function mergedOf({ shares, spent }: Pool, { id, reported }: Pick<Request, "id" | "reported">): bigint {
  return shares.has(id) ? 0n : least(reported, spent);
}

/** The shares of others; those of processes that are gone for long are put together. */
function withoutGone({ shares, spent }: Pool, id: string, now: number): Pick<Pool, "shares" | "spent"> {
  const others = new Map<string, Share>();
  const apartMs = shares.size > MOST_APART ? SOON_MS : APART_MS;
  for (const [name, share] of shares) {
    if (name === id) continue;
    if (share.until + apartMs > now) others.set(name, share);
    else spent += share.spent;
  }
  return { shares: others, spent };
}

/** What another version wrote may be anything. */
export function readPool(value: unknown): Pool {
  const { shares, spent, warned } = isObject(value) ? value : {};
  const read = new Map<string, Share>();
  for (const [id, share] of Object.entries(isObject(shares) ? shares : {})) {
    if (!isObject(share)) continue;
    const { spent, held, until } = share;
    read.set(id, { spent: amountIn(spent), held: amountIn(held), until: Number.isFinite(until) ? until as number : 0 });
  }
  return { shares: read, spent: amountIn(spent), warned: warned === true };
}

/** The form of the record. */
const VERSION = 1;

/** `before`: the record whose place it takes. What a later form has in that stays. */
export function writePool({ shares, spent, warned }: Pool, before: unknown): unknown {
  const record = isObject(before) ? before : {};
  const known = isObject(record.shares) ? record.shares : {};
  const written = Array.from(shares, ([id, share]) => {
    const rest = isObject(known[id]) ? known[id] : {};
    return [id, { ...rest, spent: String(share.spent), held: String(share.held), until: share.until }] as const;
  });
  const all = { shares: Object.fromEntries(written), spent: String(spent), ...(warned && { warned }) };
  return { version: VERSION, ...record, ...all };
}

function amountIn(value: unknown): bigint {
  return typeof value === "string" && /^\d{1,40}$/.test(value) ? BigInt(value) : 0n;
}

function least(one: bigint, other: bigint): bigint {
  return one < other ? one : other;
}

function atLeast0(amount: bigint): bigint {
  return amount > 0n ? amount : 0n;
}
