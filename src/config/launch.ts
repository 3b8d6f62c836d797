/**
 * Starts the gateway with exactly the permissions that its configuration needs. It imports nothing, so that no dependency
 * runs with more.
 */

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
}

/** Variables that the gateway looks at by itself. */
const OWN_VARIABLES = ["LANEWAY_CONFIG", "DENO_DEPLOY", "HOME", "XDG_DATA_HOME", "LOCALAPPDATA"];

export function permissionsOf({ config, file, listen, env, os }: Place): Permissions {
  const { listen: written, upstreams, catalogs, keys, store, ...rest } = fields(config);
  const { hostname = "127.0.0.1", port = 8000 } = { ...fields(written), ...present(listen) };
  const services = [...Object.values(fields(upstreams)), ...Object.values(fields(catalogs))].map(fields);
  const origins = services.flatMap(({ baseUrl, resultsFrom }) => [baseUrl, ...list(resultsFrom)]);
  const folder = storeFolder(fields(store), env, os);
  const paths = folder === undefined ? [] : [folder];
  return {
    net: unique([`${bracketed(String(hostname))}:${port}`, ...origins.flatMap(hostOf)]),
    env: unique([...OWN_VARIABLES, ...[...services, ...list(keys).map(fields), rest].flatMap(variablesIn)]),
    read: unique([...(file === undefined ? [] : [file]), ...paths]),
    write: unique(paths),
  };
}

/** The permissions as options of `deno run`. */
export function flagsOf({ net, env, read, write }: Permissions): string[] {
  const flag = (name: string, values: string[]) =>
    values.length === 0 ? [] : [`--allow-${name}=${values.map((value) => value.replaceAll(",", ",,")).join(",")}`];
  return [...flag("net", net), ...flag("env", env), ...flag("read", read), ...flag("write", write), "--no-prompt"];
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

/** An origin's host and port; a `*.` before it stands for all names below. */
function hostOf(origin: unknown): string[] {
  const found = /^(https?):\/\/(?:[^/@]*@)?(\[[^\]]+\]|[^/:]+)(?::(\d+))?(\/|$)/i.exec(String(origin));
  if (!found) return [];
  const [, scheme, host, port] = found;
  return [`${host!.toLowerCase()}:${port ?? (scheme!.toLowerCase() === "https" ? 443 : 80)}`];
}

function bracketed(hostname: string): string {
  return hostname.includes(":") && !hostname.startsWith("[") ? `[${hostname}]` : hostname;
}

/** Where the file of stored conversations is, if it is a file; the database makes more of them beside it. */
function storeFolder({ kind, path }: Record<string, unknown>, env: Place["env"], os: string): string | undefined {
  if (kind === "memory") return undefined;
  if (typeof path === "string" && path !== "") return path.replace(/[^/\\]*$/, "") || ".";
  if (os === "windows") return below(env("LOCALAPPDATA"), "\\laneway");
  const home = env("HOME");
  if (os === "darwin") return below(home, "/Library/Application Support/laneway");
  const data = env("XDG_DATA_HOME");
  return below(data?.startsWith("/") ? data : below(home, "/.local/share"), "/laneway");
}

function below(folder: string | undefined, rest: string): string | undefined {
  return folder ? folder + rest : undefined;
}

/** The value of an option of the command line, in either of its forms. */
function option(name: string): string | undefined {
  const at = Deno.args.findIndex((arg) => arg === `--${name}` || arg.startsWith(`--${name}=`));
  const found = Deno.args[at];
  return found === undefined
    ? undefined
    : found.includes("=")
    ? found.slice(found.indexOf("=") + 1)
    : Deno.args[at + 1];
}

/** A configuration that cannot be read needs no permissions: the gateway says what is wrong with it. */
function readJson(path: string | URL): unknown {
  try {
    return JSON.parse(Deno.readTextFileSync(path).replace(/^\ufeff/, ""));
  } catch {
    return undefined;
  }
}

async function launch(): Promise<number> {
  const preset = readJson(new URL("../../gateway.json", import.meta.url));
  const named = option("config") ?? Deno.env.get("LANEWAY_CONFIG");
  const file = named || "gateway.json";
  const written = readJson(file);
  const merged = fields(written).extends === "default" ? mergeConfig(preset, written) : written ?? preset;
  const listen = { hostname: option("hostname"), port: option("port") };
  const env = (name: string) => Deno.env.get(name);
  const flags = flagsOf(permissionsOf({ config: merged, file, listen, env, os: Deno.build.os }));
  const main = new URL("../main.ts", import.meta.url).href;
  const child = new Deno.Command(Deno.execPath(), { args: ["run", ...flags, main, ...Deno.args] }).spawn();
  // A terminal tells both of them, which the gateway takes as one; what another process sends reaches only this one.
  const forwarded: Deno.Signal[] = Deno.build.os === "windows"
    ? ["SIGINT", "SIGBREAK"]
    : ["SIGINT", "SIGTERM", "SIGHUP"];
  for (const signal of forwarded) Deno.addSignalListener(signal, () => child.kill(signal));
  return (await child.status).code;
}

if (import.meta.main) Deno.exit(await launch());
