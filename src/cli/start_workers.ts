/** Starts several gateways, and what keeps their store. The launcher reads this file: it imports nothing but what imports nothing. */
import { allowed, ARENAS, flagsOf, keeperSocket, type keptStore, type Permissions } from "../config/permissions.ts";
import type { Child } from "./hang_up.ts";
import { type KeeperChild, makeFolder, removeFolder, supervise, type Supervisor } from "./workers.ts";

type Kept = ReturnType<typeof keptStore>;

interface StartOptions {
  /** What they share that is not on a server. */
  kept: Kept;
  /** Starts a gateway with further options of Deno's and further variables. */
  spawn(flags: readonly string[], env: Record<string, string>): Child;
  /** Passes on what ends this process. */
  passSignals(pass: Supervisor["forward"]): void;
  say(text: string): void;
}

/** Where one of several processes finds out which one it is. */
const WORKER = "LANEWAY_WORKER";

/** Returns the exit code once all have ended. */
export async function startWorkers(count: number, { kept, spawn, passSignals, say }: StartOptions): Promise<number> {
  const folder = await makeFolder();
  const common = { net: kept ? [`unix:${keeperSocket(folder)}`] : [], read: [folder], write: [folder] };
  const flags = ["--unstable-net", ...allowed({ ...common, env: [WORKER] })];
  try {
    const workers = supervise(folder, {
      count,
      say,
      spawn: (place) => spawn(flags, { [WORKER]: place }),
      spawnKeeper: kept && ((task) => spawnKeeper(common, kept, task)),
    });
    passSignals(workers.forward);
    return await workers.ended;
  } finally {
    await removeFolder(folder);
  }
}

/** Starts what keeps the store and the counts of several gateways. It may do nothing else. */
function spawnKeeper(
  { net, read, write }: Pick<Permissions, "net" | "read" | "write">,
  { file, paths }: NonNullable<Kept>,
  task: object,
): KeeperChild {
  const flags = flagsOf({ net, env: [], read: [...read, ...paths], write: [...write, ...paths] });
  const main = new URL("keeper.ts", import.meta.url).href;
  const args = ["run", "--unstable-kv", ...flags, main, JSON.stringify({ ...task, file })];
  return new Deno.Command(Deno.execPath(), { args, env: ARENAS, stdin: "piped" }).spawn();
}
