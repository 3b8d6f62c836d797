/** Keeps JSON under a key until a time. */
export interface Store {
  /** Nothing for a key that was never written, was deleted, or has expired. */
  get(key: StoreKey): Promise<unknown>;
  /** The same of a list's positions from `from` to `to`, both included, in one round trip where the values are small. */
  getRange(list: StoreKey, from: number, to: number): Promise<unknown[]>;
  /**
   * Writes all of a few entries at once, and none where there is something under one of their keys. Whether it did. Durable
   * once it resolves. `expiresAt`: milliseconds since the epoch; for good where it is `Infinity`. `renewal`: what is kept
   * longer because of it, before it is written; nothing is lost where that fails.
   */
  add(entries: readonly StoreEntry[], expiresAt: number, renewal?: Renewal): Promise<boolean>;
  /**
   * The value that is there for good: `value` where there was none yet. All who ask, in whichever process, get the same, whoever
   * of them was first.
   */
  ensure(key: StoreKey, value: unknown): Promise<unknown>;
  /**
   * Replaces the value by what `change` makes of it, for good; none is changed into one, too. Whoever else changes it at the
   * same time, in whichever process, does so before or after: `change` may be called again with what came between.
   */
  update(key: StoreKey, change: (value: unknown) => unknown): Promise<void>;
  /**
   * Whether there was something to delete under the first key: what is under the others goes at once with it, and stays where
   * there was nothing. Nothing of it is left once it resolves.
   */
  delete(...keys: readonly StoreKey[]): Promise<boolean>;
  /** Gives up what the store holds open. Calls that still run may fail. */
  close(): void;
}

/** Any texts, of any length. A number comes last, and is a position in the list that the texts before it name. */
export type StoreKey = readonly (string | number)[];

/** What there is under `keys` is kept at least until `expiresAt`. */
export interface Renewal {
  keys: readonly StoreKey[];
  /** Milliseconds since the epoch. */
  expiresAt: number;
}

export type StoreEntry = readonly [key: StoreKey, value: unknown];
