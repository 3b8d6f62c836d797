/** Every store that conversations can be kept in: what holds for one holds for all. */
import { parseRedisUrl } from "../../src/config/redis_url.ts";
import { openKvFile } from "../../src/state/kv_file.ts";
import { createKvStore } from "../../src/state/kv_store.ts";
import { createMemoryStore } from "../../src/state/memory_store.ts";
import { openRedisStore } from "../../src/state/redis/open.ts";
import type { Store } from "../../src/state/store.ts";
import { isRedisMissing, startRedis } from "../support/redis_server.ts";
import { withFolder } from "./temp_folder.ts";

/** What two stores have in common that share what they keep. */
interface Ground {
  folder: string;
  url: string;
}

type Engine = (now: () => number, ground: Ground) => Store;

const KINDS: Record<string, Engine> = {
  memory: (now) => createMemoryStore({ now, limitBytes: 200_000_000 }),
  kv: (now, { folder }) => createKvStore({ open: () => openKvFile(`${folder}/store.sqlite3`), now }),
  redis: (now, { url }) => openRedisStore({ address: parseRedisUrl(url)!, now }),
};

/** `use` gets what opens a store; what it opened, it need not close. */
export type Use = (open: () => Store, clock: { time: number }) => Promise<void>;

/** For each engine, its name and what calls `use` with it. Two stores share what they keep, where the engine can. */
export const ENGINES: Record<string, { isMissing: boolean; run(use: Use): Promise<void> }> = Object.fromEntries(
  Object.entries(KINDS).map(([kind, create]) => [kind, {
    isMissing: kind === "redis" && isRedisMissing,
    run: (use: Use) =>
      withFolder(async (folder) => {
        const server = kind === "redis" ? await startRedis() : undefined;
        const clock = { time: 0 };
        const opened: Store[] = [];
        const open = () => {
          const store = create(() => clock.time, { folder, url: server?.url ?? "" });
          opened.push(store);
          return store;
        };
        try {
          await use(open, clock);
        } finally {
          for (const store of opened) store.close();
          await server?.stop();
        }
      }),
  }]),
);
