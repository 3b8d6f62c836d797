/** Updates that take turns in this process: a store repeats those that meet, so that a thousand would repeat each other a million times. */
import type { Store } from "./store.ts";
import { withStoreTimeout } from "./store_timeout.ts";

/**
 * The store's `update`, of each key one at a time. It rejects after `patienceMs` milliseconds, including the wait. An update whose
 * caller has given up waiting is not begun.
 */
export function updateInTurn(store: Pick<Store, "update">, patienceMs: number): Store["update"] {
  const turns = new Map<string, Promise<void>>();
  return async (key, change) => {
    const name = JSON.stringify(key);
    const before = turns.get(name);
    let isWanted = true;
    const work = (async () => {
      await before;
      // Else one that the store never ends would hold up all behind it.
      if (isWanted) await withStoreTimeout(patienceMs, store.update(key, change));
    })();
    const turn = work.catch(() => {}).then(() => {
      if (turns.get(name) === turn) turns.delete(name);
    });
    turns.set(name, turn);
    try {
      await withStoreTimeout(patienceMs, work);
    } finally {
      isWanted = false;
    }
  };
}
