/** What counts for several gateways: a server, or a process of the same machine. */
import type { Quota } from "../contract/allowance.ts";
import type { Settlement, Taken } from "../contract/shared_counts.ts";

export interface Counter {
  /**
   * Counts one more request where all limits allow it. With an id, which may be empty, it holds a lease then. A request that has
   * been settled already, because its admission took so long to arrive, counts nothing. Throws after `limitMs` milliseconds.
   */
  take(account: string, quota: Quota, request: Taking, limitMs: number): Promise<Taken>;
  /** Ends a lease, and counts what the request used. The same again counts nothing. `agoMs`: how long ago it was used. */
  settle(account: string, quota: Quota, settlement: Settlement & { agoMs: number }): Promise<unknown>;
  /**
   * Prolongs leases. An id with a question mark before it is of a request that may not have been counted: its lease is another
   * one then, so that its settlement can tell.
   */
  renew(account: string, ids: readonly string[], leaseMs: number): Promise<unknown>;
  /** A gateway lives, and reports the targets that it lets rest, each with for how long in milliseconds. */
  beat(gateway: string, lifeMs: number, resting: readonly [target: string, ms: number][]): Promise<Beat>;
  /** A gateway ends. */
  leave(gateway: string): Promise<unknown>;
  /** Whether somebody who waits so many milliseconds is likely to get an answer, as far as is known. */
  isReady(limitMs: number): boolean;
  close(): void;
}

export interface Taking {
  tokens: number;
  id: string;
  leaseMs: number;
}

export interface Beat {
  /** How many gateways live. */
  gateways: number;
  /** `ends` names one time of rest, and tells it from others of the same target. */
  resting: readonly { target: string; ends: string; ms: number }[];
}

/** How long a lease that has run out is remembered, and a settlement that may come again, in milliseconds. */
export const KEPT_MS = 3_600_000;
