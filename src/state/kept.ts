/** What bounds all that callers keep in the store: how much each may keep, and for how long. */
import type { Renewal, Store, StoreEntry, StoreKey } from "./store.ts";

/** One thing that is kept. */
export interface Held {
  /** What it belongs to, which goes as a whole. */
  group: string;
  /** The group that this one goes on from. */
  from?: string;
  /** What removes it; none where it never makes room for others. The first is the one by which it is found. */
  keys?: readonly StoreKey[];
}

/** Room that was made. */
export interface Slot {
  /** Where the owner's list says what is kept. */
  position: number;
  /** What is stored beside it, and removed with it. */
  entryFor(held: Held): StoreEntry;
  /** Whether it was stored. */
  settle(isStored: boolean): void;
}

export interface Holdings {
  /**
   * Makes room for these values. Throws `rate_limit` where the caller keeps too much that does not go, or what it used last
   * would have to.
   */
  reserve(owner: string, ...values: readonly unknown[]): Promise<Slot>;
}

/** Stores what there is a slot for, and says whether it did. */
export async function settled(slot: Slot | undefined, adding: Promise<boolean>): Promise<boolean> {
  let isStored = false;
  try {
    return isStored = await adding;
  } finally {
    slot?.settle(isStored);
  }
}

/** Adds one entry that is the owner's, and says whether it did. Without holdings, nobody counts it. */
export async function addHeld(
  { store, holdings }: { store: Store; holdings?: Holdings },
  owner: string,
  group: string,
  [key, value]: StoreEntry,
  expiresAt: number,
): Promise<boolean> {
  const slot = await holdings?.reserve(owner, value);
  const entries: StoreEntry[] = [[key, value], ...slot ? [slot.entryFor({ group, keys: [key] })] : []];
  return await settled(slot, store.add(entries, expiresAt));
}

/** Where an owner's list says what is kept. */
export function heldKey(owner: string, position: number): StoreKey {
  return [...heldList(owner), position];
}

export function heldList(owner: string): StoreKey {
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
