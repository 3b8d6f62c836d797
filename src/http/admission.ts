/** Who may still use how much: the one contract of those who count it, be it in this process or for many gateways. */
import type { Allowance, Quota } from "../contract/allowance.ts";

/** The account of a key; nothing where it has no limits. */
export type Admission = (key: { name: string; quota?: Quota }) => Account | undefined;

/** What one key uses. Promises come only from who has to ask elsewhere. */
export interface Account {
  /** What is left, as far as it is known here. */
  allowance(): Allowance;
  /**
   * Lets a request run that is sure to use so many tokens. Throws `rate_limit`; what is refused has used nothing. `explain` gets
   * why less is known than should be.
   */
  admit(tokens: number, explain?: (failure: unknown) => void): Permit | Promise<Permit>;
  /** Counts a call that the gateway makes for a request which runs as one more request; false where there is none left. */
  takeCall(): boolean | Promise<boolean>;
}

/** The right of one request to run. */
export interface Permit {
  /**
   * The request is over, and has used so many tokens more than were counted when it was admitted, or less where it is below
   * nothing. What comes after the first time counts nothing.
   */
  settle(more?: number): void;
}
