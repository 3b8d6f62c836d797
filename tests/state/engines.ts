/** Every store that conversations can be kept in: what holds for one holds for all. */
import { parseRedisUrl } from "../../src/config/redis_url.ts";
import { connectLocal, listenLocal } from "../../src/platform/local_socket.ts";
import { openKvFile } from "../../src/state/kv_file.ts";
import { createKvStore } from "../../src/state/kv_store.ts";
import { AS_BYTES, AS_TEXT, type Keeper, serveKeeper } from "../../src/state/local/keeper.ts";
import { createLocalLink } from "../../src/state/local/link.ts";
import { createLocalStore } from "../../src/state/local/store.ts";
import { Tally } from "../../src/state/local/tally.ts";
import { createMemoryStore } from "../../src/state/memory_store.ts";
import { openRedisStore } from "../../src/state/redis/open.ts";
import { createLedger } from "../../src/state/ledger.ts";
import { createSqliteStore, sqliteFile } from "../../src/state/sqlite_store.ts";
import type { Store } from "../../src/state/store.ts";
import { isRedisMissing, startRedis } from "../support/redis_server.ts";
import { HAS_KV } from "./file_stores.ts";
import { withFolder } from "./temp_folder.ts";

/** What two stores have in common that share what they keep. */
interface Ground {
  folder: string;
  url: string;
}

type Engine = (now: () => number, ground: Ground) => Store;

const LIMIT_BYTES = 200_000_000;
const socketIn = (folder: string) => `${folder}/keeper`;
const openAtKeeper: Engine = (_, { folder }) =>
  createLocalStore(createLocalLink({ connect: () => connectLocal(socketIn(folder)) }));

const KINDS: Record<string, Engine> = {
  memory: (now) => createMemoryStore({ now, limitBytes: LIMIT_BYTES }),
  ...HAS_KV && {
    kv: (now, { folder }) => createKvStore({ open: () => openKvFile(`${folder}/store.sqlite3`), now }),
    "keeper kv": openAtKeeper,
  },
  sqlite: (now, { folder }) => createSqliteStore({ ...sqliteFile(`${folder}/store.sqlite3`), now }),
  "keeper memory": openAtKeeper,
  redis: (now, { url }) => openRedisStore({ address: parseRedisUrl(url)!, now }),
};

/** What keeps a store for others; none where each opens the store by itself. */
function startKeeper(kind: string, folder: string, now: () => number): (Keeper & { store: Store }) | undefined {
  if (!kind.startsWith("keeper ")) return undefined;
  const store = kind === "keeper kv"
    ? createKvStore({ open: () => openKvFile(`${folder}/store.sqlite3`), now, form: AS_BYTES })
    : createMemoryStore({ now, limitBytes: LIMIT_BYTES, form: AS_TEXT });
  const days = createLedger({ store, patienceMs: 1_000 });
  const tally = new Tally({ now, monotonic: () => performance.now(), days });
  const keeper = serveKeeper({ listener: listenLocal(socketIn(folder)), store, tally });
  return { store, connections: () => keeper.connections(), close: () => keeper.close() };
}

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
        const keeper = startKeeper(kind, folder, () => clock.time);
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
          keeper?.close();
          keeper?.store.close();
          await server?.stop();
        }
      }),
  }]),
);
