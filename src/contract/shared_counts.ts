/** What all gateways on one store count together. */
import type { Quota } from "./allowance.ts";

export interface SharedCounts {
  /** Whether the server answers in time, as far as is known. Where it does not, nobody waits for it. */
  isUp(): boolean;
  /** How many gateways count together, as far as was known last: at least one. */
  readonly gateways: number;
  /** Whether this one counts by itself at the moment. */
  isAlone(): boolean;
  /** Why it does: once for each time that it begins to. */
  takeFailure(): Error | undefined;
  /** A name for one request, among those of all gateways. */
  newId(): string;
  /**
   * Counts one more request of an account, which runs under `id` until it is settled; without an id it is counted and does not
   * run. Throws where the answer takes too long: then it may be counted all the same.
   */
  take(account: string, quota: Quota, tokens: number, id?: string): Promise<Taken>;
  /** A request is over. Who is counted does not wait for it. */
  settle(account: string, quota: Quota, settlement: Settlement): void;
  /** A request runs that was let in without an answer: it takes its place with all gateways once the server answers again. */
  hold(account: string, id: string): void;
  /** Counts what was let in without asking, once the server answers again. What was held under `id` is over. */
  owe(account: string, quota: Quota, owed: Owed): void;
}

export interface Taken {
  /** The first limit that is reached; then nothing was counted. */
  reached?: keyof Quota;
  /** How long it stays so, in milliseconds. */
  waitMs: number;
  /** What is used of the minute's and the day's limits, this request included. */
  used: { requests: number; tokens: number; dayTokens: number };
}

/** What a request used in the end. */
export interface Settlement {
  id: string;
  /** The tokens with which it was counted when it was taken. */
  counted: number;
  tokens: number;
  /** Where it is not known whether it was counted: how many requests it is, if it was not. */
  unsure?: { requests: number };
}

export interface Owed {
  id?: string;
  requests: number;
  tokens: number;
}
