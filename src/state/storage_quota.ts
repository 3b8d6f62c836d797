/**
 * Each caller's quota in the store, so that no caller fills it. A caller's oldest things are evicted for its newest. Things that
 * belong together, such as a chain of responses, are evicted together, and those that were used last stay.
 *
 * Each thing is stored with an entry in its owner's list, which has its size. The owner's account says where the list begins and
 * ends, and about how many bytes its things come to. That is never too low, except for what a process that died had not
 * reported.
 */
import { GatewayError } from "../errors.ts";
import { builtin } from "../util/builtin.ts";
import { runSliced, runStep, Slice, yieldToEventLoop } from "../util/sliced_work.ts";
import type { Listed } from "./eviction_order.ts";
import { type QuotaEntry, quotaKey, quotaList, type Slot, type StorageQuota } from "./retention.ts";
import type { Store } from "./store.ts";

export interface StorageQuotaOptions {
  store: Store;
  /** The most that each caller may keep, in bytes. */
  bytesPerKey: number;
  /** Milliseconds since the epoch. */
  now(): number;
}

/** One entry of an owner's list. */
interface QuotaRecord extends QuotaEntry {
  version: number;
  bytes: number;
}

interface Account {
  version: number;
  /** Positions from `first` up to, but not including, `next` may be in use. */
  first: number;
  next: number;
  bytes: number;
  /** The account's very first position. An account that was lost begins anew at a much higher one. */
  began?: number;
  /** How often the list was counted. */
  counts: number;
}

/** The state of an owner, as far as this process knows. */
interface Known {
  account?: Account;
  /** The next position of this process, and the end of its positions. */
  position: number;
  end: number;
  /** The bytes that are not in the account yet, and when it was last updated. */
  added: number;
  reportedAt: number;
  /** The bytes that are being stored, and how many those were when the account was last updated. */
  pending: number;
  reported: number;
  /** The positions that are being stored, and the first that was stored since the account was last updated. */
  open: Set<number>;
  stored: number;
  /** The update that takes positions, while it is under way. */
  taking?: Promise<void>;
  trimming?: Promise<void>;
  /** The bytes left after the last count of the list, and until when another count is of no use, in milliseconds since the epoch. */
  full: { bytes: number; until: number };
  /** The account's bytes after the last count of the list. */
  counted: number;
}

/** The version of the record format. A reader ignores fields that it does not know. */
const VERSION = 1;
/** How many positions a process takes at once. Few, so that later things have higher positions in all processes. */
const POSITIONS = 8;
/** The most that a process that dies has not reported: things of this many milliseconds, or this fraction of an owner's bytes. */
const UNREPORTED_MS = 1_000;
const UNREPORTED = 1 / 64;
/** Fractions of the quota: eviction begins above `HIGH`, ends at `LOW`, and begins again after `STEP` more was added. */
const HIGH = 0.9;
const LOW = 0.8;
const STEP = 0.05;
/** The space that a store needs for each thing in addition to its text, in bytes. */
const BESIDE = 4_000;
const READ_AT_ONCE = 500;
const DELETED_AT_ONCE = 16;
/** How long to wait before making room again if nothing could be removed, in milliseconds. */
const FULL_MS = 60_000;
/** After this many new owners, those that stored nothing for `IDLE_MS` milliseconds are forgotten. */
const OWNERS = 1_000;
const IDLE_MS = 600_000;

export function createStorageQuota(options: StorageQuotaOptions): StorageQuota {
  return new CountedQuota(options);
}

/** The bytes that these values take in a store. */
function bytesOf(values: readonly unknown[]): number {
  const { Buffer } = builtin("node:buffer");
  return values.reduce((sum: number, value) => sum + Buffer.byteLength(JSON.stringify(value) ?? ""), BESIDE);
}

class CountedQuota implements StorageQuota {
  readonly #options: StorageQuotaOptions;
  readonly #known = new Map<string, Known>();
  #forgetting: Promise<void> | undefined;

  constructor(options: StorageQuotaOptions) {
    this.#options = options;
  }

  async reserve(owner: string, ...values: readonly unknown[]): Promise<Slot> {
    // Other work runs before a large value is written, which takes as long as measuring it.
    const bytes = await runStep(() => bytesOf(values));
    const known = this.#knownOf(owner);
    known.pending += bytes;
    known.added += bytes;
    try {
      await this.#makeRoom(owner, known, bytes);
      while (known.position >= known.end) await this.#take(owner, known);
    } catch (error) {
      known.pending -= bytes;
      known.added -= bytes;
      throw error;
    }
    const position = known.position++;
    known.open.add(position);
    return {
      position,
      entryFor: (held) => [quotaKey(owner, position), { version: VERSION, bytes, ...held } satisfies QuotaRecord],
      settle(isStored) {
        if (known.open.delete(position)) known.stored = Math.min(known.stored, position);
        known.pending -= bytes;
        if (!isStored) known.added -= bytes;
      },
    };
  }

  /** Makes room early and in the background if possible, so that no request waits for it. */
  async #makeRoom(owner: string, known: Known, bytes: number): Promise<void> {
    const { bytesPerKey, now } = this.#options;
    const isFull = () => bytesIn(known) > bytesPerKey;
    const isOverdue = now() - known.reportedAt > UNREPORTED_MS || known.added > bytesPerKey * UNREPORTED;
    if (!known.account || isOverdue || isFull()) await this.#take(owner, known);
    // An eviction that began before this request came has made no room for it.
    for (let tries = 0; tries < 2 && isFull() && known.full.until <= now(); tries++) await this.#trim(owner, known);
    if (isFull() && known.full.bytes + bytes > bytesPerKey) throw full(bytesPerKey);
    known.full.bytes += bytes;
    const isDue = bytesIn(known) > bytesPerKey * HIGH && bytesIn(known) > known.counted + bytesPerKey * STEP;
    if (isDue) void this.#trim(owner, known).catch(() => {});
  }

  #knownOf(owner: string): Known {
    const known = this.#known.get(owner);
    if (known) return known;
    // There may be any number of callers.
    if (this.#known.size % OWNERS === OWNERS - 1) void (this.#forgetting ??= this.#forgetIdle());
    const full = { bytes: 0, until: 0 };
    const counts = { added: 0, reportedAt: 0, pending: 0, reported: 0, counted: 0, full };
    const unknown: Known = { position: 0, end: 0, open: new Set(), stored: Infinity, ...counts };
    this.#known.set(owner, unknown);
    return unknown;
  }

  async #forgetIdle(): Promise<void> {
    for (const [owner, known] of this.#known) {
      if (known.pending > 0 || this.#options.now() - known.reportedAt < IDLE_MS) continue;
      // The account must have everything before that.
      const isReported = await this.#take(owner, known).then(() => true, () => false);
      const isUsed = known.pending > 0 || known.added !== 0 || known.trimming !== undefined;
      if (isReported && !isUsed) this.#known.delete(owner);
    }
    this.#forgetting = undefined;
  }

  /** Reports what was added to the account, and takes the next positions. */
  async #take(owner: string, known: Known): Promise<void> {
    await (known.taking ??= this.#takeNow(owner, known).finally(() => known.taking = undefined));
  }

  async #takeNow(owner: string, known: Known): Promise<void> {
    const { added, pending, stored } = known;
    const { began, counts } = known.account ?? {};
    const first = firstOpen(known);
    known.reportedAt = this.#options.now();
    const account = await this.#change(owner, (before) => ({
      ...before,
      next: before.next + POSITIONS,
      first: before.began === began ? Math.min(before.first, first) : before.first,
      // A process that has counted the list since then has not seen what was being stored.
      bytes: Math.max(0, before.bytes + added + (before.counts === counts ? 0 : known.reported)),
    }));
    known.reported = pending;
    if (known.stored === stored) known.stored = Infinity;
    if (account.began !== began) known.open.clear();
    known.account = account;
    known.added -= added;
    known.position = account.next - POSITIONS;
    known.end = account.next;
  }

  async #change(owner: string, change: (before: Account) => Account): Promise<Account> {
    const { store, now } = this.#options;
    let after: Account | undefined;
    await store.update(quotaList(owner), (value) => {
      // If an account was lost, its list begins anew after all positions that it may have had.
      const at = Math.floor(now());
      return after = change(
        value as Account ?? { version: VERSION, began: at, first: at, next: at, bytes: 0, counts: 0 },
      );
    });
    return after!;
  }

  async #trim(owner: string, known: Known): Promise<void> {
    await (known.trimming ??= this.#trimNow(owner, known).finally(() => known.trimming = undefined));
  }

  async #trimNow(owner: string, known: Known): Promise<void> {
    // Repeats the count if another process counted meanwhile, because its removals are in neither count.
    while (!await this.#count(owner, known));
  }

  /** Counts the list, and evicts the oldest groups if there is too much. Returns whether no other process counted meanwhile. */
  async #count(owner: string, known: Known): Promise<boolean> {
    const { bytesPerKey, now } = this.#options;
    await this.#take(owner, known);
    const before = known.account!;
    const { pending } = known;
    const listed = await this.#read(owner, before);
    let bytes = listed.reduce((sum, one) => sum + one.bytes, 0);
    const { toEvict } = await import("./eviction_order.ts");
    const wanted = bytes + pending;
    const going = await runSliced(toEvict(listed, wanted > bytesPerKey * HIGH ? wanted - bytesPerKey * LOW : 0));
    for (let at = 0; at < going.length; at += DELETED_AT_ONCE) {
      const some = going.slice(at, at + DELETED_AT_ONCE);
      await Promise.all(some.map(({ position }) => this.#remove(owner, position)));
      for (const one of some) bytes -= one.bytes;
    }
    const [oldest] = listed;
    let isAlone = true;
    const after = await this.#change(owner, (account) => {
      isAlone = account.counts === before.counts && account.began === before.began;
      if (!isAlone) return { ...account, bytes: account.bytes + known.reported };
      const since = account.bytes - before.bytes;
      const first = Math.min(oldest?.position ?? before.first, firstOpen(known));
      return { ...account, first, bytes: bytes + pending + since, counts: account.counts + 1 };
    });
    known.account = after;
    known.counted = after.bytes;
    known.full = { bytes, until: bytes > bytesPerKey * HIGH ? now() + FULL_MS : 0 };
    return isAlone;
  }

  async #read(owner: string, { first, next }: Account): Promise<Listed[]> {
    const listed: Listed[] = [];
    const slice = new Slice();
    for (let from = first; from < next; from += READ_AT_ONCE) {
      const to = Math.min(next, from + READ_AT_ONCE) - 1;
      const some = await this.#options.store.getRange(quotaList(owner), from, to) as (QuotaRecord | undefined)[];
      for (const [index, record] of some.entries()) {
        if (!record) continue;
        const { bytes, group, from: before, keys } = record;
        listed.push({ position: from + index, bytes, group, from: before, stays: keys === undefined });
      }
      if (slice.isOver()) await yieldToEventLoop();
    }
    return listed;
  }

  async #remove(owner: string, position: number): Promise<void> {
    const { store } = this.#options;
    const listed = quotaKey(owner, position);
    const record = await store.get(listed) as QuotaRecord | undefined;
    const [first, ...others] = record?.keys ?? [];
    // A thing that was removed in another way may have left its entry.
    if (!first || !await store.delete(first, ...others, listed)) await store.delete(listed);
  }
}

function bytesIn({ account, added }: Known): number {
  return (account?.bytes ?? 0) + added;
}

/** The first position at which something may be that a count of the list has missed. */
function firstOpen({ open, stored }: Known): number {
  return Math.min(stored, ...open);
}

function full(bytes: number): GatewayError {
  const message = `You store as much as one key may (${bytes.toLocaleString("en")} bytes): delete some of it first`;
  return new GatewayError("rate_limit", message, { retryAfter: String(FULL_MS / 1000) });
}
