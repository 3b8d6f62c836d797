/**
 * Starts the gateway with exactly the permissions that its configuration needs. It imports nothing but what imports nothing, so
 * that no dependency runs with more.
 */
import { npmEnded } from "./npm_ancestor.ts";

/** What the gateway may do: hosts with their ports, names of variables, paths. */
export interface Permissions {
  net: string[];
  env: string[];
  read: string[];
  write: string[];
}

/** What a configuration is judged by. */
export interface Place {
  /** The configuration, merged but not checked: what has the wrong type is passed over, because the gateway reports it. */
  config: unknown;
  /** The file that it came from; none for the built-in one. */
  file?: string;
  /** What the command line says in place of the configuration. */
  listen: { hostname?: string; port?: string };
  env(name: string): string | undefined;
  os: string;
  /** The folder of the program's own code, which the thread that counts tokens is read from. */
  code?: string;
  isThere(path: string): boolean;
}

/** Variables that the gateway looks at by itself. */
const OWN_VARIABLES = [
  "LANEWAY_CONFIG",
  "DENO_DEPLOY",
  "HOME",
  "XDG_DATA_HOME",
  "LOCALAPPDATA",
  "LANEWAY_LAUNCHER",
  "LANEWAY_COMMAND",
];

export function permissionsOf({ config, file, listen, env, os, code, isThere }: Place): Permissions {
  const { listen: written, upstreams, catalogs, keys, store, ...rest } = fields(config);
  const { hostname = "127.0.0.1", port = 8000 } = { ...fields(written), ...present(listen) };
  const services = [...Object.values(fields(upstreams)), ...Object.values(fields(catalogs))].map(fields);
  const origins = services.flatMap(({ baseUrl, resultsFrom, filesFrom }) => [
    baseUrl,
    ...list(resultsFrom),
    ...list(filesFrom),
  ]);
  const kept = storePaths(fields(store), env, os, isThere);
  return {
    net: unique([`http://${bracketed(String(hostname))}:${port}`, ...origins].flatMap(hostOf)),
    env: unique([...OWN_VARIABLES, ...[...services, ...list(keys).map(fields), rest].flatMap(variablesIn)]),
    read: unique([file ?? [], code ?? [], kept].flat()),
    write: unique(kept),
  };
}

/** The permissions as options of `deno run`. */
export function flagsOf({ net, env, read, write }: Permissions): string[] {
  const flag = (name: string, values: string[]) =>
    values.length === 0 ? [] : [`--allow-${name}=${values.map((value) => value.replaceAll(",", ",,")).join(",")}`];
  // What is imported while it runs is asked of hosts that nobody allowed.
  const closed = ["--allow-sys=systemMemoryInfo", "--deny-import", "--cached-only", "--no-prompt"];
  return [...flag("net", net), ...flag("env", env), ...flag("read", read), ...flag("write", write), ...closed];
}

/** `changes` over `base`, key by key: objects merge, all else is replaced, and `null` removes a key. */
export function mergeConfig(base: unknown, changes: unknown): unknown {
  if (!isObject(changes)) return changes;
  const merged = new Map(isObject(base) ? Object.entries(base) : []);
  for (const [key, change] of Object.entries(changes)) {
    if (change === null) merged.delete(key);
    else if (change !== undefined) merged.set(key, mergeConfig(merged.get(key), change));
  }
  return Object.fromEntries(merged);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function fields(value: unknown): Record<string, unknown> {
  return isObject(value) ? value : {};
}

function list(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}

function present(values: object): Record<string, unknown> {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined));
}

function unique(values: string[]): string[] {
  return [...new Set(values)];
}

/** The names that stand in `{ "env": "NAME" }`, however deep. */
function variablesIn(value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap(variablesIn);
  if (!isObject(value)) return [];
  const own = typeof value.env === "string" && /^[A-Za-z_][A-Za-z0-9_]*$/.test(value.env) ? [value.env] : [];
  return [...own, ...Object.values(value).flatMap(variablesIn)];
}

/** The host and port of a URL; a `*.` before it stands for all names below. */
function hostOf(text: unknown): string[] {
  const url = URL.parse(String(text));
  if (url?.protocol !== "http:" && url?.protocol !== "https:") return [];
  // A host of any other letters is none for the runtime either, which would refuse to start at all.
  if (!/^(\*\.)?[\w.-]+$|^\[[\d:a-f.]+\]$/.test(url.hostname)) return [];
  return [`${url.hostname}:${url.port || (url.protocol === "https:" ? 443 : 80)}`];
}

function bracketed(hostname: string): string {
  return hostname.includes(":") && !hostname.startsWith("[") ? `[${hostname}]` : hostname;
}

/**
 * What of the disk the store needs, if it is a file. A folder that is not there yet is made, so it is the store's whole; in one
 * that is, others may keep theirs, so only the store's own files are opened.
 */
function storePaths(store: Record<string, unknown>, env: Place["env"], os: string, isThere: Place["isThere"]) {
  const file = storeFile(store, env, os);
  if (file === undefined) return [];
  const folder = file.replace(/[^/\\]*$/, "");
  if (folder !== "" && !isThere(folder)) return [folder];
  return [file, ...FILES_BESIDE.map((ending) => file + ending), `${folder}tokenizers`];
}

const FILES_BESIDE = ["-wal", "-shm", "-journal"];

function storeFile({ kind, path }: Record<string, unknown>, env: Place["env"], os: string): string | undefined {
  if (kind === "memory") return undefined;
  if (typeof path === "string" && path !== "") return path;
  if (os === "windows") return below(env("LOCALAPPDATA"), "\\laneway\\store.sqlite3");
  const home = env("HOME");
  if (os === "darwin") return below(home, "/Library/Application Support/laneway/store.sqlite3");
  const data = env("XDG_DATA_HOME");
  return below(data?.startsWith("/") ? data : below(home, "/.local/share"), "/laneway/store.sqlite3");
}

function below(folder: string | undefined, rest: string): string | undefined {
  return folder ? folder + rest : undefined;
}

/** The value of an option of the command line, in either of its forms; of several, the last. */
function option(name: string): string | undefined {
  const at = Deno.args.findLastIndex((arg) => arg === `--${name}` || arg.startsWith(`--${name}=`));
  const found = Deno.args[at];
  return found === undefined
    ? undefined
    : found.includes("=")
    ? found.slice(found.indexOf("=") + 1)
    : Deno.args[at + 1];
}

/** What of the command line is no option: a command, and what is its own. */
function commands(): string[] {
  return Deno.args.filter((arg, at) => !arg.startsWith("--") && !isOptionWithValue(Deno.args[at - 1]));
}

function isOptionWithValue(arg: string | undefined): boolean {
  return arg === "--config" || arg === "--hostname" || arg === "--port";
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

/** The folder of the program's own code. */
export function codeFolder(): string {
  return decodeURIComponent(new URL("../", import.meta.url).pathname).replace(/^\/(?=[A-Za-z]:)/, "");
}

/** A configuration that cannot be read needs no permissions: the gateway says what is wrong with it. */
function readJson(path: string | URL): unknown {
  try {
    return JSON.parse(Deno.readTextFileSync(path).replace(/^\ufeff/, ""));
  } catch {
    return undefined;
  }
}

const WATCH = "--watch";

async function launch(): Promise<number> {
  const orphaned = npmEnded();
  const preset = readJson(new URL("../../gateway.json", import.meta.url));
  const named = option("config") ?? Deno.env.get("LANEWAY_CONFIG");
  const file = named || "gateway.json";
  const written = readJson(file);
  const merged = fields(written).extends === "default" ? mergeConfig(preset, written) : written ?? preset;
  const listen = { hostname: option("hostname"), port: option("port") };
  const env = (name: string) => Deno.env.get(name);
  const place = { config: merged, file, listen, env, os: Deno.build.os, code: codeFolder(), isThere };
  const permissions = permissionsOf(place);
  const [command, lane, output] = commands();
  // The command catalog writes that file, and not the store.
  const write = command === "catalog" ? [output ?? `models-${lane}.json`] : permissions.write;
  const flags = flagsOf({ ...permissions, write });
  // For those who work on the code: what they change is run anew.
  const isWatched = Deno.args.includes(WATCH);
  const main = new URL("../main.ts", import.meta.url).href;
  const worker = new URL("../tokens/worker.ts", import.meta.url).href;
  if (!await isCached(main, worker)) {
    const { success, code } = await new Deno.Command(Deno.execPath(), { args: ["cache", main, worker] }).spawn().status;
    if (!success) return code;
  }
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", ...flags, ...(isWatched ? ["--watch"] : []), main, ...Deno.args.filter((arg) => arg !== WATCH)],
    env: { LANEWAY_LAUNCHER: String(Deno.pid), LANEWAY_COMMAND: typedCommand() },
  }).spawn();
  // A terminal tells both of them, which the gateway takes as one; what another process sends reaches only this one.
  const forwarded: Deno.Signal[] = Deno.build.os === "windows"
    ? ["SIGINT", "SIGBREAK"]
    : ["SIGINT", "SIGTERM", "SIGHUP"];
  for (const signal of forwarded) Deno.addSignalListener(signal, () => forward(child, signal));
  orphaned.then((isOrphan) => isOrphan && forward(child, "SIGTERM"));
  return (await child.status).code;
}

/** What the user typed to get here. Whoever has Deno from npm may have no `deno` of their own. */
function typedCommand(): string {
  return Deno.env.get("npm_command") === "exec" ? `npx -y deno@${Deno.version.deno} task start` : "deno task start";
}

/**
 * Whether all code is on this machine, so that none is fetched once any of it runs. `deno cache` alone would ask the registry for
 * every package at each start (Deno 2.9.6), and no other command loads a program without running it or asking anybody.
 */
async function isCached(...entries: string[]): Promise<boolean> {
  const args = ["test", "--no-run", "--no-check", "--cached-only", ...entries];
  const { success } = await new Deno.Command(Deno.execPath(), { args, stdin: "null" }).output();
  return success;
}

function forward(child: Deno.ChildProcess, signal: Deno.Signal): void {
  try {
    child.kill(signal);
  } catch {
    // It has ended by itself meanwhile.
  }
}

if (import.meta.main) Deno.exit(await launch());
