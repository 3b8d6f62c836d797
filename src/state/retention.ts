/** The bounds of what callers keep in the store: how much each may keep, and for how long. */
import type { Renewal, Store, StoreEntry, StoreKey } from "./store.ts";

/** One stored thing in the list of its owner. */
export interface QuotaEntry {
  /** The group that it belongs to. A group is evicted as a whole. */
  group: string;
  /** The group that this one continues. */
  from?: string;
  /** The keys to delete to evict it. Absent if it is never evicted. The first is the one by which it is found. */
  keys?: readonly StoreKey[];
}

/** Room in an owner's quota for one thing, and a position in its list. */
export interface Slot {
  position: number;
  /** The entry of the list, which is stored and deleted together with the thing. */
  entryFor(entry: QuotaEntry): StoreEntry;
  /** Ends the reservation. A thing that was not stored does not count. */
  settle(isStored: boolean): void;
}

export interface StorageQuota {
  /**
   * Makes room for these values. Throws `rate_limit` if everything that could make room is never evicted, or was used last.
   */
  reserve(owner: string, ...values: readonly unknown[]): Promise<Slot>;
}

/** Ends a reservation when `adding` has ended. Returns whether something was stored. */
export async function settled(slot: Slot | undefined, adding: Promise<boolean>): Promise<boolean> {
  let isStored = false;
  try {
    return isStored = await adding;
  } finally {
    slot?.settle(isStored);
  }
}

/** Stores one thing for an owner, within its quota if there is one. Returns whether it was stored. */
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

// All members of a chain are kept as long as its last one. Each new member renews the one before it. Earlier members were
// renewed for longer than needed, so they are renewed only once in a while.

/** Stored things that follow one another, the newest last. */
export interface Chain {
  /** The keys of each member. */
  keys: readonly (readonly StoreKey[])[];
  /** Until when all members before the newest are kept, in milliseconds since the epoch. */
  kept?: number;
}

/** How much longer than needed a member is renewed, as a fraction of the retention. */
const SLACK = 1 / 30;

/** The renewal that keeps the chain as long as its next member, and until when the whole chain is kept then. */
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
