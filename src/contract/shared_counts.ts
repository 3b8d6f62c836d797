/** Counts that all gateways on one store share. */
import type { Quota } from "./allowance.ts";

export interface SharedCounts {
  /** Whether the server is believed to answer in time. If not, requests do not wait for it. */
  isUp(): boolean;
  /** The last known number of gateways that count together, at least one. */
  readonly gateways: number;
  /** Whether this gateway currently counts alone. */
  isAlone(): boolean;
  /** Why this gateway counts alone. Returned once for each time that it begins to. */
  takeFailure(): Error | undefined;
  /** An id for one request, unique among all gateways. */
  newId(): string;
  /**
   * Counts one more request of an account. With an id, the request counts as running until it is settled. Throws if the
   * answer takes too long. The request may then have been counted nevertheless.
   */
  take(account: string, quota: Quota, tokens: number, id?: string): Promise<Taken>;
  /** Ends a request. The caller does not wait for it to be counted. */
  settle(account: string, quota: Quota, settlement: Settlement): void;
  /** Registers a running request that was admitted without an answer. All gateways count it once the server answers again. */
  hold(account: string, id: string): void;
  /** Counts what was admitted without the server, once it answers again. Whatever was held under `id` is released. */
  owe(account: string, quota: Quota, owed: Owed): void;
}

export interface Taken {
  /** The first limit that was reached. If there is one, nothing was counted. */
  reached?: keyof Quota;
  /** Milliseconds until the limit allows more. */
  waitMs: number;
  /** The used part of the limits per minute and day, including this request. */
  used: { requests: number; tokens: number; dayTokens: number };
}

/** The total usage of a request. */
export interface Settlement {
  id: string;
  /** The tokens that were counted when the request was admitted. */
  counted: number;
  tokens: number;
  /** If it is unknown whether the request was counted: the number of requests to count if it was not. */
  unsure?: { requests: number };
}

export interface Owed {
  id?: string;
  requests: number;
  tokens: number;
}
