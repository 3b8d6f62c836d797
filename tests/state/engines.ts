/** Every store that conversations can be kept in: what holds for one holds for all. */
import { openKvFile } from "../../src/state/kv_file.ts";
import { createKvStore } from "../../src/state/kv_store.ts";
import { createMemoryStore } from "../../src/state/memory_store.ts";
import type { Store } from "../../src/state/store.ts";

/** `folder` is the engine's own; two stores of one folder share what they keep, where the engine can. */
export const ENGINES: Record<string, (now: () => number, folder: string) => Store> = {
  memory: (now) => createMemoryStore({ now, limitBytes: 200_000_000 }),
  kv: (now, folder) => createKvStore({ open: () => openKvFile(`${folder}/store.sqlite3`), now }),
};
