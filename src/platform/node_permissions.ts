/** The permissions of Deno's options as those of Node's permission model. */

import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

/** The limits of a process on Node. */
export interface Confinement {
  /** The options of Node. */
  options: string[];
  /** The variables that it is given. Absent: all. Node cannot confine what a process reads of its own environment. */
  variables?: string[];
}

export interface NodePlace {
  /** Files and folders that the program's own modules are loaded from. */
  code: readonly string[];
  canConfineNet: boolean;
  /** Whether it starts threads itself. Node does not confine them, so they have to confine themselves. */
  hasThreads: boolean;
  /** Makes a path absolute. */
  resolve(path: string): string;
}

/** Whether this version of Node can keep a process off the network. */
export const CAN_CONFINE_NET: boolean = process.allowedNodeEnvironmentFlags.has("--allow-net");

/** Closes what the permission model leaves open. It is loaded before every other module. */
export const LOCK: string = new URL("./node_lock.ts", import.meta.url).href;

/** The variable that tells a process which variables it may have, so that it can tell those that are not set from the others. */
export const VARIABLES = "LANEWAY_VARIABLES";

/** `flags`: options of `deno run`. What they say of hosts is lost, because Node knows only the whole network. */
export function confinementOf(
  flags: readonly string[],
  { code, canConfineNet, hasThreads, resolve }: NodePlace,
): Confinement {
  const allowed = (name: string) => valuesOf(flags, `--allow-${name}`);
  const paths = (name: "read" | "write", more: readonly string[] = []) => {
    const named = allowed(name);
    const all = named?.length === 0 ? ["*"] : [...more, ...named ?? []].flatMap((path) => withContent(resolve(path)));
    return [...new Set(all)].map((path) => `--allow-fs-${name}=${path}`);
  };
  const variables = allowed("env");
  const options = [
    "--permission",
    ...paths("read", code),
    ...paths("write"),
    // It warns that the option is new.
    ...canConfineNet && allowed("net") ? ["--allow-net", "--disable-warning=ExperimentalWarning"] : [],
    ...allowed("run") ? ["--allow-child-process"] : [],
    ...hasThreads ? ["--allow-worker"] : [],
    // It warns of the last two.
    ...allowed("run") || hasThreads ? ["--disable-warning=SecurityWarning"] : [],
    ...flags.filter((flag) => flag.startsWith(ENGINE)).flatMap((flag) => flag.slice(ENGINE.length).split(",")),
  ];
  return variables?.length === 0 ? { options } : { options, variables: variables ?? [] };
}

const ENGINE = "--v8-flags=";

/** The values of an option. An empty list: it has no value. Absent if the option is not there. */
function valuesOf(flags: readonly string[], name: string): string[] | undefined {
  if (flags.includes(name)) return [];
  const found = flags.filter((flag) => flag.startsWith(`${name}=`));
  if (found.length === 0) return undefined;
  // A comma in a value is written twice.
  return found.flatMap((flag) => flag.slice(name.length + 1).replaceAll(",,", "\0").split(","))
    .map((value) => value.replaceAll("\0", ","));
}

/** A path, and all in it: a folder that is not there yet would be taken for a file. */
function withContent(path: string): string[] {
  return [path, `${path.replace(/[/\\]$/, "")}/*`];
}

const PRELOAD = /^(?:--import|--require|-r)(?:=(.*))?$/s;

/** The files that options of Node load before the program, with a place in `node_modules` for a package. */
export function preloadedBy(options: readonly string[], resolve: NodePlace["resolve"]): string[] {
  return options.flatMap((option, at) => {
    const [isOne, value = options[at + 1]] = PRELOAD.exec(option) ?? [];
    if (isOne === undefined || value === undefined || /^(data|node):/.test(value)) return [];
    if (value.startsWith("file:")) return [fileURLToPath(value)];
    return [/^\.{0,2}[/\\]/.test(value) ? resolve(value) : resolve(join("node_modules", value))];
  });
}

/** The parts of a checkout that modules are loaded from. */
const PARTS = ["src", "plugins", "node_modules", "package.json", "deno.json", "gateway.default.json"];

/** The files and folders that the modules of a program are loaded from: its packages, and its own package or folder. */
export function codeOf(file: string): string[] {
  const [, packages] = /^(.*?[/\\]node_modules)[/\\]/.exec(file) ?? [];
  if (packages !== undefined) return [packages];
  let root = dirname(file);
  while (!existsSync(join(root, "package.json")) && dirname(root) !== root) root = dirname(root);
  const isOurs = existsSync(join(root, "gateway.default.json"));
  if (dirname(root) === root) return [dirname(file)];
  return isOurs
    ? PARTS.map((part) => join(root, part))
    : [dirname(file), join(root, "node_modules"), join(root, "package.json")];
}
