/**
 * Each caller's quota in the store, so that none of them fills it. A caller's oldest things are evicted for its newest: what
 * belongs together, such as a chain of responses, is evicted together, and what was used last stays.
 *
 * Each thing is stored with an entry in the list of its owner, which has its size. The owner's account says where the list
 * begins and ends, and about how many bytes it comes to: no fewer than there are, except for what a process that died had not
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
  /** What each caller may keep, in bytes. */
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
  /** The positions that may be taken: from the first one to the one before `next`. */
  first: number;
  next: number;
  bytes: number;
  /** Its first position: an account that was lost begins anew, far behind. */
  began?: number;
  /** How often the list was counted. */
  counts: number;
}

/** What this process knows of an owner. */
interface Known {
  account?: Account;
  /** The positions that are this process's, and the next of them. */
  position: number;
  end: number;
  /** What is not in the account yet, and when it was reported last. */
  added: number;
  reportedAt: number;
  /** What is being stored, and how much of it the account had when it was reported last. */
  pending: number;
  reported: number;
  /** The positions of what is being stored, and the first of those that were stored since the account was reported last. */
  open: Set<number>;
  stored: number;
  /** The one who takes positions, while there is one. */
  taking?: Promise<void>;
  trimming?: Promise<void>;
  /** What was left when the list was last counted, and until when it is of no use to try again, in milliseconds since the epoch. */
  full: { bytes: number; until: number };
  /** What the account came to when the list was last counted. */
  counted: number;
}

/** The form of the records. A reader leaves aside what it does not know of a later one. */
const VERSION = 1;
/** How many positions a process takes at once: what is added later has higher ones, whoever adds it. */
const POSITIONS = 8;
/** What a process that dies may not have added to the account: for how long, and which part of an owner's bytes. */
const UNREPORTED_MS = 1_000;
const UNREPORTED = 1 / 64;
/** What an owner may fill before its oldest is removed, how full it is then, and what it has added by the next time. */
const HIGH = 0.9;
const LOW = 0.8;
const STEP = 0.05;
/** What a store needs for each thing beside its text, in bytes. */
const BESIDE = 4_000;
const READ_AT_ONCE = 500;
const DELETED_AT_ONCE = 16;
/** How long it is not tried again to make room where there was nothing to remove. */
const FULL_MS = 60_000;
/** How many more owners there are before those are forgotten that stored nothing for so many milliseconds. */
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
    // Others run before a large value is written, which takes as long again.
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

  /** Long before it is needed, where that is possible: nobody is to wait for it. */
  async #makeRoom(owner: string, known: Known, bytes: number): Promise<void> {
    const { bytesPerKey, now } = this.#options;
    const isFull = () => bytesIn(known) > bytesPerKey;
    const isOverdue = now() - known.reportedAt > UNREPORTED_MS || known.added > bytesPerKey * UNREPORTED;
    if (!known.account || isOverdue || isFull()) await this.#take(owner, known);
    // The first may have begun before this one came, and have made no room for it.
    for (let tries = 0; tries < 2 && isFull() && known.full.until <= now(); tries++) await this.#trim(owner, known);
    if (isFull() && known.full.bytes + bytes > bytesPerKey) throw full(bytesPerKey);
    known.full.bytes += bytes;
    const isDue = bytesIn(known) > bytesPerKey * HIGH && bytesIn(known) > known.counted + bytesPerKey * STEP;
    if (isDue) void this.#trim(owner, known).catch(() => {});
  }

  #knownOf(owner: string): Known {
    const known = this.#known.get(owner);
    if (known) return known;
    // Callers may be any number.
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
      // The account has to have everything first.
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
      // Another one that has counted since then has not seen what was being stored.
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
      // Where an account was lost, its list begins anew, behind the positions that it may have had.
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
    // What others remove meanwhile is in neither count.
    while (!await this.#count(owner, known));
  }

  /** Counts what there is, and removes the oldest where that is too much. Whether nobody else has counted meanwhile. */
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
    // What was removed otherwise may have left its entry.
    if (!first || !await store.delete(first, ...others, listed)) await store.delete(listed);
  }
}

function bytesIn({ account, added }: Known): number {
  return (account?.bytes ?? 0) + added;
}

/** The first position at which something may be that no list has shown yet. */
function firstOpen({ open, stored }: Known): number {
  return Math.min(stored, ...open);
}

function full(bytes: number): GatewayError {
  const message = `You store as much as one key may (${bytes.toLocaleString("en")} bytes): delete some of it first`;
  return new GatewayError("rate_limit", message, { retryAfter: String(FULL_MS / 1000) });
}
