/** Whether all code is on this machine. It imports nothing, as the launcher that it is for. */
import { isObject } from "../util/merge.ts";

/**
 * Whether Deno's cache has every package that the lock names. It takes a hundredth of the time that Deno itself would, and does
 * not know every place where a cache may be: only a yes means something.
 */
export function arePackagesThere(lock: unknown): boolean {
  const folder = cacheFolder();
  if (folder === undefined || !isObject(lock) || !isObject(lock.npm)) return false;
  if ("remote" in lock || "jsr" in lock || namesRegistry()) return false;
  return Object.keys(lock.npm).every((pin) => isThere(`${folder}/npm/registry.npmjs.org/${folderOf(pin)}`));
}

/** `@org/name@1.2.3_peer@4.5.6` as `@org/name/1.2.3`: with which of its peers a package is used is no part of its version. */
export function folderOf(pin: string): string {
  return pin.replace(/^(.[^@]*)@([^_]*).*$/, "$1/$2");
}

/** Whether npm is told of a registry other than its own: packages of that one are elsewhere. */
function namesRegistry(): boolean {
  if (Deno.env.has("NPM_CONFIG_REGISTRY")) return true;
  return [".npmrc", `${Deno.env.get("HOME")}/.npmrc`].some((path) => {
    try {
      return /^\s*(@[^:]*:)?registry\s*=/m.test(Deno.readTextFileSync(path));
    } catch {
      return false; // there is none
    }
  });
}

function cacheFolder(): string | undefined {
  const { env, build: { os } } = Deno;
  if (env.get("DENO_DIR")) return env.get("DENO_DIR");
  const home = env.get("HOME");
  if (os === "windows") return env.has("LOCALAPPDATA") ? `${env.get("LOCALAPPDATA")}/deno` : undefined;
  if (os === "linux" && env.get("XDG_CACHE_HOME")) return `${env.get("XDG_CACHE_HOME")}/deno`;
  return home && `${home}/${os === "darwin" ? "Library/Caches" : ".cache"}/deno`;
}

/**
 * Whether all code is there, by Deno itself. `deno cache` alone would ask the registry for every package at each start (Deno
 * 2.9.6), and no other command loads a program without running it or asking anybody.
 */
export async function isCached(...entries: string[]): Promise<boolean> {
  const args = ["test", "--no-run", "--no-check", "--cached-only", ...entries];
  const { success } = await new Deno.Command(Deno.execPath(), { args, stdin: "null" }).output();
  return success;
}

/** Whether there is something at a path. What may not be looked at was there when the permissions were given. */
export function isThere(path: string): boolean {
  try {
    Deno.lstatSync(path);
    return true;
  } catch (error) {
    return !(error instanceof Deno.errors.NotFound);
  }
}
