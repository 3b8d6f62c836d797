import type { Store, StoreKey } from "../../src/state/store.ts";

/** Writes the value, in place of another one where there is one. */
export async function put(store: Store, key: StoreKey, value: unknown, expiresAt: number): Promise<void> {
  while (!await store.add([[key, value]], expiresAt)) await store.delete(key);
}
