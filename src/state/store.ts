/** Keeps JSON values under keys until they expire. */
export interface Store {
  /** Absent if the key was never written, was deleted, or has expired. */
  get(key: StoreKey): Promise<unknown>;
  /** The values at a list's positions from `from` to `to`, both included. It is one round trip if the values are small. */
  getRange(list: StoreKey, from: number, to: number): Promise<unknown[]>;
  /**
   * Writes a few entries at once, or none if one of their keys has a value. Returns whether they were written. They are
   * durable once it resolves. `expiresAt`: milliseconds since the epoch; `Infinity` keeps them for good. `renewal`: what is
   * kept longer because of them. It is renewed first, and nothing is lost if that fails.
   */
  add(entries: readonly StoreEntry[], expiresAt: number, renewal?: Renewal): Promise<boolean>;
  /**
   * Returns the value under the key. If there is none, `value` is stored for good first. All callers in all processes get the
   * same value, whichever of them was first.
   */
  ensure(key: StoreKey, value: unknown): Promise<unknown>;
  /**
   * Replaces the value, or the lack of one, for good by what `change` returns. Concurrent updates in all processes happen one
   * after the other: `change` may be called again with a value that another update has written meanwhile.
   */
  update(key: StoreKey, change: (value: unknown) => unknown): Promise<void>;
  /**
   * Deletes the values under all keys at once, but only if there is one under the first key. Returns whether there was. The
   * values are gone once it resolves.
   */
  delete(...keys: readonly StoreKey[]): Promise<boolean>;
  /** Closes the store's files and connections. Calls that still run may fail. */
  close(): void;
}

/** Texts of any length. A number may come last: it is a position in the list that the texts before it name. */
export type StoreKey = readonly (string | number)[];

/** Keeps the values under `keys` at least until `expiresAt`. */
export interface Renewal {
  keys: readonly StoreKey[];
  /** Milliseconds since the epoch. */
  expiresAt: number;
}

export type StoreEntry = readonly [key: StoreKey, value: unknown];
