/** Which tests run on Node, as data: `deno task test:node` goes by it, and the table in CONTRIBUTING.md is made of it. */

export type Folder =
  /** All run. `but`: those that do not, by their file, or by their file and a part of their names, and why. */
  | { but?: Readonly<Record<string, string>> }
  /** None runs, and why. */
  | { none: string };

const RUNS_DENO = "it starts Deno's own commands";
const NO_KV = "Node has no Deno KV";
const NO_TLS = "the shim's server has no TLS";

/** By their names in `tests/`, the longest first. */
export const NODE_FOLDERS: Readonly<Record<string, Folder>> = {};

/** Whether anything of the file runs. */
export function runs(file: string): boolean {
  const { folder, path } = placeOf(file);
  return folder !== undefined && !("none" in folder) && folder.but?.[path] === undefined;
}

/** Which exception keeps the test of the file from running. */
export function exceptionFor(file: string, test: string): string | undefined {
  const { folder, path } = placeOf(file);
  if (!folder || "none" in folder) return undefined;
  return Object.keys(folder.but ?? {}).find((which) => {
    const [named, part] = which.split(": ");
    return named === path && part !== undefined && test.includes(part);
  });
}

/** A file that is in no folder is its own. */
function placeOf(file: string): { folder: Folder | undefined; path: string } {
  const [, name = "", path = ""] = /^tests\/([^/]+)(?:\/(.*))?$/.exec(file) ?? [];
  return { folder: NODE_FOLDERS[name], path: path || name };
}
