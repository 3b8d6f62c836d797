/** What bounds all that callers keep in the store: how much each may keep, and for how long. */
import type { Renewal, Store, StoreEntry, StoreKey } from "./store.ts";

/** One thing that an owner stores, as the list of its owner names it. */
export interface QuotaEntry {
  /** What it belongs to. A group is evicted as a whole. */
  group: string;
  /** The group that this one goes on from. */
  from?: string;
  /** The keys to delete to evict it; absent where it is never evicted. The first is the one by which it is found. */
  keys?: readonly StoreKey[];
}

/** Room in an owner's quota for one thing, and a position in its list. */
export interface Slot {
  position: number;
  /** The entry of the list, which is stored and deleted together with the thing. */
  entryFor(entry: QuotaEntry): StoreEntry;
  /** Ends the reservation. What was not stored does not count. */
  settle(isStored: boolean): void;
}

export interface StorageQuota {
  /**
   * Makes room for these values. Throws `rate_limit` where only things that are never evicted, or were used last, could make
   * room.
   */
  reserve(owner: string, ...values: readonly unknown[]): Promise<Slot>;
}

/** Ends a reservation when `adding` has ended. Whether something was stored. */
export async function settled(slot: Slot | undefined, adding: Promise<boolean>): Promise<boolean> {
  let isStored = false;
  try {
    return isStored = await adding;
  } finally {
    slot?.settle(isStored);
  }
}

/** Stores one thing for an owner, within its quota if there is one. Whether it was stored. */
export async function addCounted(
  { store, storageQuota }: { store: Store; storageQuota?: StorageQuota },
  owner: string,
  group: string,
  [key, value]: StoreEntry,
  expiresAt: number,
): Promise<boolean> {
  const slot = await storageQuota?.reserve(owner, value);
  const entries: StoreEntry[] = [[key, value], ...slot ? [slot.entryFor({ group, keys: [key] })] : []];
  return await settled(slot, store.add(entries, expiresAt));
}

/** The key of one entry of an owner's list. */
export function quotaKey(owner: string, position: number): StoreKey {
  return [...quotaList(owner), position];
}

/** The list of what an owner stores, and the key of the owner's account. */
export function quotaList(owner: string): StoreKey {
  return ["held", owner];
}

// What follows one another is kept as long as the last of it. Each new one renews the one before it. Those before that were
// renewed for longer than they needed it, so they are renewed once in a while only.

/** What was written before, the newest last. */
export interface Chain {
  /** The keys of each. */
  keys: readonly (readonly StoreKey[])[];
  /** Until when all before the newest are kept, in milliseconds since the epoch. */
  kept?: number;
}

/** How much longer than it is needed something is renewed, as a part of the time that it is kept. */
const SLACK = 1 / 30;

/** What keeps the chain as long as what is written after it; and until when all of the chain is kept then. */
export function renewalFor(
  { keys, kept }: Chain,
  expiresAt: number,
  retentionMs: number,
): { renewal?: Renewal; kept?: number } {
  if (keys.length === 0) return {};
  const until = Math.ceil(expiresAt + retentionMs * SLACK);
  const isKept = kept !== undefined && kept >= expiresAt;
  return {
    renewal: { keys: (isKept ? keys.slice(-1) : keys).flat(), expiresAt: until },
    kept: isKept ? kept : until,
  };
}
