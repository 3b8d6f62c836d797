/** The contract for counting what keys use, whether in this process or across many gateways. */
import type { Allowance, Quota } from "../contract/allowance.ts";

/** The account of a key. `undefined` if the key has no limits. */
export type Admission = (key: { name: string; quota?: Quota }) => Account | undefined;

/** Counts the usage of one key. Implementations return promises only if they must ask elsewhere. */
export interface Account {
  /** The key's remaining allowance, as far as this process knows. */
  allowance(): Allowance;
  /**
   * Counts a request as running while its body is read. The returned function ends that. Throws `rate_limit` if too many are
   * running already.
   */
  receive(): () => void;
  /**
   * Admits a request that will use at least `tokens`. Throws `rate_limit`. A refused request uses nothing. `explain` receives
   * the reason if the counts are less accurate than they should be.
   */
  admit(tokens: number, explain?: (failure: unknown) => void): Permit | Promise<Permit>;
  /** Counts a call that the gateway makes for a running request as one more request. False if no more are allowed. */
  takeCall(): boolean | Promise<boolean>;
}

/** The admission of one request. */
export interface Permit {
  /**
   * Ends the request. `more` tokens were used in addition to those counted at admission. It may be negative. Only the first call
   * counts.
   */
  settle(more?: number): void;
}
