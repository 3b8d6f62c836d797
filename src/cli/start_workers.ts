/** Starts several workers and their keeper. The launcher loads this file, so it may import only files that import nothing. */
import {
  allowed,
  ARENAS,
  flagsOf,
  keeperSocket,
  type keeperStore,
  type Permissions,
  WORKER_PLACE,
} from "../config/permissions.ts";
import type { Child } from "./hang_up.ts";
import { type KeeperChild, makeFolder, removeFolder, supervise, type Supervisor } from "./workers.ts";
import { moduleCommand } from "../platform/host.ts";

type KeeperStore = ReturnType<typeof keeperStore>;

interface StartOptions {
  /** The store that the keeper opens. Absent if the store is on a server, which needs no keeper. */
  store: KeeperStore;
  /** Starts a worker with additional options for Deno and additional variables. */
  spawn(flags: readonly string[], env: Record<string, string>): Child;
  /** Passes the signals of this process on to `pass`. */
  passSignals(pass: Supervisor["forward"]): void;
  say(text: string): void;
}

/** Returns the exit code once all have ended. */
export async function startWorkers(count: number, { store, spawn, passSignals, say }: StartOptions): Promise<number> {
  const folder = await makeFolder();
  const common = { net: store ? [`unix:${keeperSocket(folder)}`] : [], read: [folder], write: [folder] };
  const flags = ["--unstable-net", ...allowed({ ...common, env: [WORKER_PLACE] })];
  try {
    const workers = supervise(folder, {
      count,
      say,
      spawn: (place) => spawn(flags, { [WORKER_PLACE]: place }),
      spawnKeeper: store && ((task) => spawnKeeper(common, store, task)),
    });
    passSignals(workers.forward);
    return await workers.ended;
  } finally {
    await removeFolder(folder);
  }
}

/** Starts the keeper, with the permissions for its socket and the file of its store, and no others. */
function spawnKeeper(
  { net, read, write }: Pick<Permissions, "net" | "read" | "write">,
  { file, paths }: NonNullable<KeeperStore>,
  task: object,
): KeeperChild {
  const flags = flagsOf({ net, env: [], read: [...read, ...paths], write: [...write, ...paths] });
  const main = new URL("keeper.ts", import.meta.url).href;
  const args = [JSON.stringify({ ...task, file })];
  return moduleCommand({ flags: ["--unstable-kv", ...flags], main, args, env: ARENAS, stdin: "piped" }).spawn();
}
