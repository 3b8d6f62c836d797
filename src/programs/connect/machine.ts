/** The user's machine, for the data about clients. */
import type { Client, ClientMachine } from "../../contract/client.ts";
import { defaultStorePath } from "../../platform/store_path.ts";
import { builtin } from "../../util/builtin.ts";

/** Absent if no home folder is known. */
export function machineOf(os: string, env: ClientMachine["env"], isThere: ClientMachine["isThere"]) {
  const home = os === "windows" ? env("USERPROFILE") : env("HOME");
  return home ? { os, home: home.replace(/[\\/]$/, ""), env, isThere } : undefined;
}

/** The folder for receipts and for the homes of proofs. Absent if no home folder is known. */
export function dataFolder({ os, env }: Pick<ClientMachine, "os" | "env">): string | undefined {
  return defaultStorePath(os, env)?.replace(/[\\/]store\.sqlite3$/, os === "windows" ? "\\connect" : "/connect");
}

/** The path of a client's receipt in that folder. */
export function receiptPath(folder: string, client: string, os: string): string {
  return `${folder}${os === "windows" ? "\\" : "/"}${client}.json`;
}

/** The file of the client's program, if it is installed. */
export function programOf({ program }: Client, { os, env, isThere }: ClientMachine): string | undefined {
  if (program === undefined) return undefined;
  const [between, slash, ends] = os === "windows" ? [";", "\\", [".exe", ".cmd"]] : [":", "/", [""]];
  const folders = (env("PATH") ?? "").split(between).filter((folder) => folder !== "");
  return folders.flatMap((folder) => ends.map((end) => `${folder}${slash}${program}${end}`)).find(isThere);
}

/** Whether the client seems to be installed on this machine. */
export function isInstalled(client: Client, machine: ClientMachine): boolean {
  const folder = client.folder?.(machine);
  return programOf(client, machine) !== undefined || (folder !== undefined && machine.isThere(folder));
}

/** The most links in a row. More of them would be a circle. */
const MOST_LINKS = 40;

/** The path with all links resolved, even if there is no such file yet. */
export function leadsTo(path: string, links = MOST_LINKS): string {
  const { readlinkSync, realpathSync } = builtin("node:fs");
  const { basename, dirname, join, resolve } = builtin("node:path");
  try {
    return realpathSync(path);
  } catch {
    // there is no such file, or no permission to read it
  }
  const folder = dirname(path);
  if (folder === path || links === 0) return path;
  try {
    return leadsTo(resolve(folder, readlinkSync(path)), links - 1);
  } catch {
    return join(leadsTo(folder, links - 1), basename(path));
  }
}
