/** Keeps JSON under a key until a time. */
export interface Store {
  /** Nothing for a key that was never written, was deleted, or has expired. */
  get(key: StoreKey): Promise<unknown>;
  /** Durable once it resolves. `expiresAt`: milliseconds since the epoch. */
  set(key: StoreKey, value: unknown, expiresAt: number): Promise<void>;
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
  /** Whether there was something to delete; nothing of it is left once it resolves. */
  delete(key: StoreKey): Promise<boolean>;
  /** Gives up what the store holds open. Calls that still run may fail. */
  close(): void;
}

/** Any texts, of any length. */
export type StoreKey = readonly string[];
