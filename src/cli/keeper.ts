/**
 * The keeper: a process that opens the store and counts the limits for several workers, unless the store is on a server. The
 * launcher starts it with a task. It ends once its standard input has ended and the last worker has disconnected.
 */
import { listenLocal } from "../platform/local_socket.ts";
import { isNode } from "../platform/here.ts";
import { kvFile } from "../state/kv_file.ts";
import { createKvStore, type KvStoreOptions } from "../state/kv_store.ts";
import { createLedger } from "../state/ledger.ts";
import { AS_BYTES, AS_TEXT, serveKeeper, withJson } from "../state/local/keeper.ts";
import { Tally } from "../state/local/tally.ts";
import type { Store } from "../state/store.ts";
import { createMemoryStore, MEMORY_STORE_BYTES } from "../state/memory_store.ts";

/** The keeper's only argument, as JSON. */
export interface KeeperTask {
  /** The path of the socket on which it listens. */
  path: string;
  /** The store's file. If absent, the store is in memory. */
  file?: string;
  /** How many workers remember the counts of an earlier keeper. */
  remembering: number;
}

/** How long the store may take to read or write the daily tokens of a key, in milliseconds. */
const STORE_MS = 5_000;
/** How often the keeper checks whether the last worker has disconnected, in milliseconds. */
const LOOK_MS = 50;

async function main({ path, file, remembering }: KeeperTask): Promise<void> {
  // A terminal or a service manager sends signals to all processes, but the keeper is needed until the last worker has ended.
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
    if (isNode()) process.on(signal, () => {});
    else Deno.addSignalListener(signal, () => {});
  }
  const now = Date.now;
  let losses = 0;
  const store = file === undefined
    ? createMemoryStore({ now, limitBytes: MEMORY_STORE_BYTES, form: AS_TEXT })
    : await openStore(file, { onLost: () => losses++, now, form: AS_BYTES });
  const days = createLedger({ store: withJson(store), patienceMs: STORE_MS });
  const tally = new Tally({
    now,
    monotonic: () => performance.now(),
    days,
    onFailure: (failure) => say(`Daily limits count from nothing: ${(failure as Error).message}`),
  });
  const keeper = serveKeeper({ listener: listenLocal(path), store, tally, losses: () => losses, remembering });
  await ended();
  while (keeper.connections() > 0) await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
  keeper.close();
  await days.close();
  store.close();
}

async function openStore(file: string, options: Omit<KvStoreOptions, "open" | "isGone">): Promise<Store> {
  if (!isNode()) return createKvStore({ ...kvFile(file), ...options });
  const { createSqliteStore, sqliteFile } = await import("../state/sqlite_store.ts");
  return createSqliteStore({ ...sqliteFile(file), ...options });
}

function say(text: string): void {
  if (isNode()) process.stderr.write(`${text}\n`);
  else Deno.stderr.writeSync(new TextEncoder().encode(`${text}\n`));
}

/** Resolves once the launcher has ended, or wants this process to end. */
async function ended(): Promise<void> {
  if (isNode()) return await new Promise((resolve) => void process.stdin.once("close", resolve).resume());
  const buffer = new Uint8Array(1);
  while (await Deno.stdin.read(buffer).catch(() => null) !== null);
}

if (import.meta.main) {
  await main(JSON.parse(isNode() ? process.argv[2]! : Deno.args[0]!));
  if (isNode()) process.exit(0);
  Deno.exit(0);
}
