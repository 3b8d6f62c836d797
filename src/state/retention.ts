/**
 * What follows one another is kept as long as the last of it. Each new one renews the one before it. Those before that were
 * renewed for longer than they needed it, so they are renewed once in a while only.
 */
import type { Renewal, StoreKey } from "./store.ts";

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
