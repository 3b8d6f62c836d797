/** A counter that several gateways share: a server, or a process on the same machine. */
import type { Quota } from "../contract/allowance.ts";
import type { Settlement, Taken } from "../contract/shared_counts.ts";

export interface Counter {
  /**
   * Counts one more request if all limits allow it. A request whose id is not empty then holds a lease. A request that was
   * settled before this call arrived is not counted. Throws after `limitMs` milliseconds.
   */
  take(account: string, quota: Quota, request: Taking, limitMs: number): Promise<Taken>;
  /** Ends a lease, and counts what the request used. A repeated settlement counts nothing. `agoMs`: how long ago it was used. */
  settle(account: string, quota: Quota, settlement: Settlement & { agoMs: number }): Promise<unknown>;
  /**
   * Renews leases. A question mark before an id marks a request that may not have been counted. If it was not, its lease is
   * kept under the marked id, by which its settlement can tell.
   */
  renew(account: string, ids: readonly string[], leaseMs: number): Promise<unknown>;
  /** Reports that a gateway lives, and which targets it lets rest, each for how many milliseconds. */
  beat(gateway: string, lifeMs: number, resting: readonly [target: string, ms: number][]): Promise<Beat>;
  /** Reports that a gateway ends. */
  leave(gateway: string): Promise<unknown>;
  /** Whether an answer within `limitMs` milliseconds is likely, as far as is known. */
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
  /** `ends` identifies one rest among several of the same target. */
  resting: readonly { target: string; ends: string; ms: number }[];
}

/** How long an expired lease is remembered, and a settlement that may be repeated, in milliseconds. */
export const KEPT_MS = 3_600_000;
