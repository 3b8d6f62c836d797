/** The stores in a file, by kind. All of them are for several processes at once. */
import { kvFile, openKvFile } from "../../src/state/kv_file.ts";
import { createKvStore } from "../../src/state/kv_store.ts";
import { createSqliteStore, sqliteFile } from "../../src/state/sqlite_store.ts";
import type { Store } from "../../src/state/store.ts";

interface Options {
  onLost?(): void;
  now(): number;
}

interface FileStore {
  open(path: string, options: Options): Store;
  /** How many entries the file has for a value of that many bytes. */
  entriesFor(bytes: number): number;
  /** How many entries the file has. */
  count(path: string): Promise<number>;
}

/** Only Deno has it. */
export const HAS_KV = typeof Deno.openKv === "function";

const KV: FileStore = {
  open: (path, options) => createKvStore({ ...kvFile(path), ...options }),
  entriesFor: (bytes) => 1 + (bytes > 64_000 ? Math.ceil(bytes / 65_536) : 0),
  async count(path) {
    using kv = await openKvFile(path);
    return (await Array.fromAsync(kv.list({ prefix: [] }))).length;
  },
};

export const FILE_STORES: Record<string, FileStore> = {
  ...HAS_KV && { kv: KV },
  sqlite: {
    open: (path, options) => createSqliteStore({ ...sqliteFile(path), ...options }),
    entriesFor: () => 1,
    async count(path) {
      const { DatabaseSync } = await import("node:sqlite");
      using db = new DatabaseSync(path);
      return db.prepare("SELECT count(*) AS count FROM entries").get()!.count as number;
    },
  },
};

/** The store that a gateway has in a file by default. */
export function openFileStore(path: string, now: () => number): Store {
  return (HAS_KV ? FILE_STORES.kv! : FILE_STORES.sqlite!).open(path, { now });
}
