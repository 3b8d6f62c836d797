/** Checks whether all code is on this machine. It is for the launcher, so it imports only files that import nothing. */
import { isObject } from "../util/config_text.ts";
import { command, host } from "../platform/host.ts";

/**
 * Whether Deno's cache has every package of the lock file. This takes a hundredth of the time that Deno itself takes. It does not
 * know every folder where a cache may be, so a false result means nothing.
 */
export function arePackagesThere(lock: unknown): boolean {
  const folder = cacheFolder();
  if (folder === undefined || !isObject(lock) || !isObject(lock.npm)) return false;
  if ("remote" in lock || "jsr" in lock || namesRegistry()) return false;
  return Object.keys(lock.npm).every((pin) => isThere(`${folder}/npm/registry.npmjs.org/${folderOf(pin)}`));
}

/** Turns `@org/name@1.2.3_peer@4.5.6` into `@org/name/1.2.3`: the peers of a package are not part of its version. */
export function folderOf(pin: string): string {
  return pin.replace(/^(.[^@]*)@([^_]*).*$/, "$1/$2");
}

/** Whether npm is configured with another registry, whose packages are in another folder. */
function namesRegistry(): boolean {
  if (host().env.has("NPM_CONFIG_REGISTRY")) return true;
  return [".npmrc", `${host().env.get("HOME")}/.npmrc`].some((path) => {
    try {
      return /^\s*(@[^:]*:)?registry\s*=/m.test(host().readTextFileSync(path));
    } catch {
      return false; // there is no such file
    }
  });
}

function cacheFolder(): string | undefined {
  const { env, build: { os } } = host();
  if (env.get("DENO_DIR")) return env.get("DENO_DIR");
  const home = env.get("HOME");
  if (os === "windows") return env.has("LOCALAPPDATA") ? `${env.get("LOCALAPPDATA")}/deno` : undefined;
  if (os === "linux" && env.get("XDG_CACHE_HOME")) return `${env.get("XDG_CACHE_HOME")}/deno`;
  return home && `${home}/${os === "darwin" ? "Library/Caches" : ".cache"}/deno`;
}

/**
 * Asks Deno itself whether all code is there. `deno cache` would ask the registry for every package at each start (Deno 2.9.6), and
 * no other command loads a program without running it or using the network.
 */
export async function isCached(...entries: string[]): Promise<boolean> {
  const args = ["test", "--no-run", "--no-check", "--cached-only", ...entries];
  const { success } = await command(host().execPath(), { args, stdin: "null" }).output();
  return success;
}

/** Whether there is a file at a path. A path that must not be read counts as there: it was when the permissions were given. */
export function isThere(path: string): boolean {
  try {
    host().lstatSync(path);
    return true;
  } catch (error) {
    return !(error instanceof host().errors.NotFound);
  }
}
