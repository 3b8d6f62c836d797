/**
 * One budget in one period, as the store keeps it for all gateways: what each process has spent, and what it may still spend
 * without asking. Amounts are in pico-dollars. Everything here is data and pure functions.
 */
import { isObject } from "../../util/config_text.ts";
import { shareOf, type Wanted } from "./wanted.ts";

/** The part of one process. */
export interface Share {
  spent: bigint;
  /** The amount that only this process may spend beyond that. */
  held: bigint;
  /** Until when it holds that, in milliseconds since the epoch. What a dead process held is free after that. */
  until: number;
}

export interface Pool {
  shares: ReadonlyMap<string, Share>;
  /** The spending of processes that are gone. */
  spent: bigint;
  /** Whether the warning was given already. */
  warned: boolean;
}

export const EMPTY: Pool = { shares: new Map(), spent: 0n, warned: false };

/** A process's report of its spending, and its request for more. */
export interface Request {
  id: string;
  /** All that it has spent in the period. A repeated report changes nothing. */
  spent: bigint;
  /** How much of that it has reported before. The store may have merged that since. */
  reported: bigint;
  /** The amount that it holds already and keeps. */
  keeps: bigint;
  /** How much of `keeps` is free. */
  free: bigint;
  /** The amounts that its waiting requests want, one entry each. */
  needs: readonly Wanted[];
  /** The amount that it wants in addition, so that its next requests need not wait. */
  spare: bigint;
  until: number;
}

export interface Terms {
  limit: bigint;
  /** Milliseconds since the epoch. */
  now: number;
  /** A warning is due once this much is spent. Absent if nobody is to be warned. */
  warnAt?: bigint;
}

export interface Settled {
  pool: Pool;
  /** The amount that the process may spend from now on, beyond what it has spent. */
  held: bigint;
  /** The spending of all processes. */
  spent: bigint;
  /** The amount that is neither spent nor held. */
  left: bigint;
  /** Whether this process has to give the warning. */
  warns: boolean;
}

/** How long the share of a silent process stays separate, in milliseconds: the process may only be suspended. */
export const APART_MS = 86_400_000;
/** With more shares than this, as a gateway leaves them that restarts again and again, they stay separate for `SOON_MS` only. */
const MOST_APART = 500;
const SOON_MS = 600_000;

/** Records what a process has spent, and grants what its requests need as far as there is room. */
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
  // The spare amount is at most a quarter of the rest: the last of a budget is for requests that need it.
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

/** A request that does not fit gets nothing, because another one may fit. */
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

/** The spending of all processes. */
export function spentOf(pool: Pool): bigint {
  let sum = pool.spent;
  for (const { spent } of pool.shares.values()) sum += spent;
  return sum;
}

/** How much of a process's spending was merged into `spent` when its share was removed. Nothing while it has a share. */
export function mergedOf({ shares, spent }: Pool, { id, reported }: Pick<Request, "id" | "reported">): bigint {
  return shares.has(id) ? 0n : least(reported, spent);
}

/** The shares of the other processes. Those of processes that are long gone are merged into `spent`. */
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

/** Reads a record that another version may have written, so that it may hold anything. */
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

/** The version of the record format. */
const VERSION = 1;

/** `before`: the record that is replaced. Its fields that only a later version knows are kept. */
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
