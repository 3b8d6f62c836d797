/**
 * The program that keeps what several workers share, where that is not on a server. The launcher starts it, and says what it is
 * to do as JSON. It ends once its standard input has ended and the last worker has gone.
 */
import { listenLocal } from "../platform/local_socket.ts";
import { kvFile } from "../state/kv_file.ts";
import { createKvStore } from "../state/kv_store.ts";
import { createLedger } from "../state/ledger.ts";
import { AS_BYTES, AS_TEXT, serveKeeper, withJson } from "../state/local/keeper.ts";
import { Tally } from "../state/local/tally.ts";
import { createMemoryStore, MEMORY_STORE_BYTES } from "../state/memory_store.ts";

/** What the launcher says. */
export interface KeeperTask {
  /** The socket. */
  path: string;
  /** The store's file; without one it is in memory. */
  file?: string;
  /** How many workers know what an earlier one had counted. */
  remembering: number;
}

/** How long the store may take for what a key used of its day, in milliseconds. */
const STORE_MS = 5_000;
/** How often it is looked whether the last worker has gone, in milliseconds. */
const LOOK_MS = 50;

async function main({ path, file, remembering }: KeeperTask): Promise<void> {
  // They reach all processes of a terminal or a service, and this one is needed until the last worker has ended.
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) Deno.addSignalListener(signal, () => {});
  const now = Date.now;
  let losses = 0;
  const store = file === undefined
    ? createMemoryStore({ now, limitBytes: MEMORY_STORE_BYTES, form: AS_TEXT })
    : createKvStore({ ...kvFile(file), onLost: () => losses++, now, form: AS_BYTES });
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

function say(text: string): void {
  Deno.stderr.writeSync(new TextEncoder().encode(`${text}\n`));
}

/** The launcher has ended, or wants this process to. */
async function ended(): Promise<void> {
  const buffer = new Uint8Array(1);
  while (await Deno.stdin.read(buffer).catch(() => null) !== null);
}

if (import.meta.main) {
  await main(JSON.parse(Deno.args[0]!));
  Deno.exit(0);
}
