/** The user's machine, as the data of clients is asked about it. */
import type { Client, ClientMachine } from "../../contract/client.ts";
import { defaultStorePath } from "../../platform/store_path.ts";
import { builtin } from "../../util/builtin.ts";

/** Nothing where no home is known. */
export function machineOf(os: string, env: ClientMachine["env"], isThere: ClientMachine["isThere"]) {
  const home = os === "windows" ? env("USERPROFILE") : env("HOME");
  return home ? { os, home: home.replace(/[\\/]$/, ""), env, isThere } : undefined;
}

/** Where receipts are kept, and the homes of proofs. Nothing where no home is known. */
export function dataFolder({ os, env }: Pick<ClientMachine, "os" | "env">): string | undefined {
  return defaultStorePath(os, env)?.replace(/[\\/]store\.sqlite3$/, os === "windows" ? "\\connect" : "/connect");
}

/** Where in that folder a client's receipt is. */
export function receiptPath(folder: string, client: string, os: string): string {
  return `${folder}${os === "windows" ? "\\" : "/"}${client}.json`;
}

/** The file of the client's program, where it is installed. */
export function programOf({ program }: Client, { os, env, isThere }: ClientMachine): string | undefined {
  if (program === undefined) return undefined;
  const [between, slash, ends] = os === "windows" ? [";", "\\", [".exe", ".cmd"]] : [":", "/", [""]];
  const folders = (env("PATH") ?? "").split(between).filter((folder) => folder !== "");
  return folders.flatMap((folder) => ends.map((end) => `${folder}${slash}${program}${end}`)).find(isThere);
}

/** Whether the client is on this machine, as far as can be seen. */
export function isInstalled(client: Client, machine: ClientMachine): boolean {
  const folder = client.folder?.(machine);
  return programOf(client, machine) !== undefined || (folder !== undefined && machine.isThere(folder));
}

/** More links in a row lead in a circle. */
const MOST_LINKS = 40;

/** Where the path leads when every link on its way is followed, also where nothing is there yet. */
export function leadsTo(path: string, links = MOST_LINKS): string {
  const { readlinkSync, realpathSync } = builtin("node:fs");
  const { basename, dirname, join, resolve } = builtin("node:path");
  try {
    return realpathSync(path);
  } catch {
    // nothing is there, or nobody may look
  }
  const folder = dirname(path);
  if (folder === path || links === 0) return path;
  try {
    return leadsTo(resolve(folder, readlinkSync(path)), links - 1);
  } catch {
    return join(leadsTo(folder, links - 1), basename(path));
  }
}
