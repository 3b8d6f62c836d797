/** Which tests run on Node, as data: `deno task test:node` goes by it, and the table in CONTRIBUTING.md is made of it. */

export type Folder =
  /** All run. `but`: those that do not, by their file, or by their file and the beginning of their names, and why. */
  | { but?: Readonly<Record<string, string>> }
  /** None runs, and why. */
  | { none: string };

const RUNS_DENO = "it starts Deno's own commands";
const NO_KV = "Node has no Deno KV";
const NO_TLS = "the shim's server has no TLS";

/** By their names in `tests/`, the longest first. */
export const NODE_FOLDERS: Readonly<Record<string, Folder>> = {
};

/** Whether anything of the file runs: it stands relative to the folder. */
export function runs(folder: Folder, file: string): boolean {
  return !("none" in folder) && folder.but?.[file] === undefined;
}

/** Why a test of the file does not run; nothing where it does. */
export function reasonFor(file: string, test: string): string | undefined {
  const [, name = "", path = ""] = /^tests\/([^/]+)(?:\/(.*))?$/.exec(file) ?? [];
  const folder = NODE_FOLDERS[name];
  if (!folder || "none" in folder) return undefined;
  const found = Object.entries(folder.but ?? {}).find(([which]) => `${path || name}: ${test}`.startsWith(which));
  return found?.[1];
}
