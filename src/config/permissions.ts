// deno-lint-ignore-file house/file-length -- one subject, and all that follows from a configuration
/** The permissions that a gateway needs. The launcher loads this file, too, so it imports only files that import nothing. */
import { defaultStorePath } from "../platform/store_path.ts";
import type { Permission } from "../platform/platform.ts";
import { isObject } from "../util/config_text.ts";
import { SERVER_FORM } from "./redis_url.ts";
import { type StoreKind, storeKind } from "./store_kinds.ts";

/** Permissions for hosts with ports, for names of variables, and for paths. */
export interface Permissions {
  net: string[];
  env: string[];
  read: string[];
  write: string[];
}

/** The facts from which the permissions follow. */
export interface PermissionSource {
  /** The configuration, merged but not checked. Values of the wrong type are ignored, because the gateway reports them. */
  config: unknown;
  /** The file that it came from. Absent for the built-in one. */
  file?: string;
  /** The options of the command line, which override the configuration. */
  listen: { hostname?: string; port?: string };
  env(name: string): string | undefined;
  os: string;
  /** The folder of the program's own code, from which the thread that counts tokens is loaded. */
  code?: string;
  /** The runtime's database, which the file of the store is named after. Deno's own by default. */
  database?: "kv" | "sqlite";
  isThere(path: string): boolean;
  /** The text of a file. Without it, a server whose URL is in a file is not permitted. */
  readText?(path: string): string;
}

/** Variables that the gateway itself reads. */
const OWN_VARIABLES = [
  "LANEWAY_CONFIG",
  "DENO_DEPLOY",
  "HOME",
  "XDG_DATA_HOME",
  "LOCALAPPDATA",
  "LANEWAY_LAUNCHER",
  "LANEWAY_COMMAND",
  "LANEWAY_MEMORY_LIMIT",
];

/** Variables that name the user who runs a command, for the audit log. */
export const USER_VARIABLES = ["SUDO_USER", "USER", "LOGNAME", "USERNAME"];

/** Variables by which users choose whether programs print colours. */
export const COLOUR_VARIABLES = ["NO_COLOR", "FORCE_COLOR", "TERM"];

/** The variable that tells a worker its place: the folder that the workers share, a slash and the worker's number. */
export const WORKER_PLACE = "LANEWAY_WORKER";

/** The variables for the address and the token of a fetcher that the launcher has started beside the gateway. */
export const FETCHER_URL = "LANEWAY_FETCHER_URL";
export const FETCHER_TOKEN = "LANEWAY_FETCHER_TOKEN";

/** The variables for the address and the token of the interpreter that the launcher has started beside the gateway. */
export const INTERPRETER_URL = "LANEWAY_INTERPRETER_URL";
export const INTERPRETER_TOKEN = "LANEWAY_INTERPRETER_TOKEN";

/** The variables for the address of the launcher's desk, for the gateway's token there, and for a port that it takes over. */
export const DESK = "LANEWAY_DESK";
export const DESK_TOKEN = "LANEWAY_DESK_TOKEN";
export const TAKES_OVER = "LANEWAY_TAKES_OVER";

export function permissionsOf(
  { config, file, listen, env, os, code, database, isThere, readText }: PermissionSource,
): Permissions {
  const { listen: written, upstreams, catalogs, keys, store, ...rest } = fields(config);
  const { hostname = "127.0.0.1", port = 8000 } = { ...fields(written), ...present(listen) };
  const services = [...Object.values(fields(upstreams)), ...Object.values(fields(catalogs))].map(fields);
  const origins = services.flatMap(({ baseUrl, resultsFrom, filesFrom }) => [
    baseUrl,
    ...list(resultsFrom),
    ...list(filesFrom),
  ]);
  const audit = auditFile(fields(rest.observe));
  const metrics = metricsAddress(fields(rest.observe).metrics);
  const { webSearch, webFetch, mcp, codeExecution } = fields(rest.hostedTools);
  const interpreter = interpreterVariables(codeExecution);
  const hasFetcherBeside = isObject(webFetch) ? webFetch.url === undefined : isObject(rest.documents);
  const hosted = [
    fields(webSearch).baseUrl,
    hasFetcherBeside ? env(FETCHER_URL) : fields(webFetch).url,
    ...interpreter.slice(0, 1).map(env),
    ...list(fields(mcp).allow),
    ...Object.values(fields(fields(mcp).servers)).map((server) => fields(server).url),
    fields(rest.oidc).issuer,
    fields(rest.oidc).jwksUrl,
    fields(fields(rest.oidc).console).tokenUrl,
  ];
  const secrets = [services, keys, store, rest.hostedTools, rest.oidc, rest.sealing].flatMap((one) =>
    namedBy("file", one)
  );
  const edited = fields(rest.console).edit === true && file !== undefined ? editedFiles(file) : [];
  const kept = storePaths(fields(store), { env, os, database, isThere });
  const contents = text(fields(rest.files).folder);
  const { server: reached } = storeKind(fields(store).kind);
  const server = reached && fields(store);
  return {
    net: unique([
      ...[`http://${bracketed(String(hostname))}:${port}`, ...origins, ...hosted].flatMap(hostOf),
      ...(metrics ? [`${bracketed(metrics.hostname)}:${metrics.port}`] : []),
      ...(reached ? serverHosts(fields(store), reached, { env, readText }) : []),
    ]),
    env: unique([
      ...OWN_VARIABLES,
      ...(hasFetcherBeside ? [FETCHER_URL, FETCHER_TOKEN] : []),
      ...interpreter,
      ...(reached?.variables ?? []),
      ...(audit.length > 0 ? USER_VARIABLES : []),
      ...[...services, ...list(keys).map(fields), server, rest].flatMap(variablesIn),
    ]),
    read: unique([file ?? [], edited, code ?? [], kept, contents, text(server && server.ca), secrets].flat()),
    write: unique([...kept, ...contents, ...audit, ...edited]),
  };
}

/** The paths of a configuration that operators change at the console: the file, its draft and its former version. */
export function editedFiles(file: string): [file: string, draft: string, former: string] {
  return [file, `${file}.laneway-new`, `${file}.laneway-former`];
}

/**
 * Settings of V8 for memory and compilation, which can be set only at the start.
 *
 * Everything that a request allocates is short-lived. But if objects of one kind once survived because of a long request, the engine
 * would allocate that kind among the old objects at once, which keep alive all that they refer to. That costs requests of 400 kB a
 * quarter of their time.
 *
 * After some idle seconds, the memory reducer would give back 70 MB that the last load has left. Then each of the next thousands of
 * requests would take half as long again.
 *
 * Most functions of a gateway run once a request. By default they have to run 3,000 times before they are optimized, and the first
 * twenty thousand requests cost a fifth more.
 */
export const ENGINE =
  "--v8-flags=--no-allocation-site-pretenuring,--no-memory-reducer,--invocation-count-for-turbofan=750";

/**
 * The number of arenas of glibc's `malloc`, an environment variable that it reads only at the start. By default each thread has its
 * own. Deno loads modules on up to ten threads, whose arenas would keep 12 MB for good.
 */
export const ARENAS = { MALLOC_ARENA_MAX: "2" };

/** The permissions as options of `deno run`, with the gateway's other options. */
export function flagsOf(permissions: Permissions): string[] {
  // Imports at run time are denied, because they would contact hosts that were not permitted.
  const closed = ["--allow-sys=systemMemoryInfo", "--deny-import", "--cached-only", "--no-prompt", ENGINE];
  return [...allowed(permissions), ...closed];
}

/** The permissions as options of `deno run`. */
export function allowed({ net, env, read, write }: Permissions): string[] {
  const flag = (name: string, values: string[]) =>
    values.length === 0 ? [] : [`--allow-${name}=${values.map((value) => value.replaceAll(",", ",,")).join(",")}`];
  return [...flag("net", net), ...flag("env", env), ...flag("read", read), ...flag("write", write)];
}

function interpreterVariables(codeExecution: unknown): string[] {
  return isObject(codeExecution) ? [INTERPRETER_URL, INTERPRETER_TOKEN] : [];
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

/** The names in `{ "env": "NAME" }`, at any depth. */
function variablesIn(value: unknown): string[] {
  return namedBy("env", value).filter((name) => /^[A-Za-z_][A-Za-z0-9_]*$/.test(name));
}

/** The texts under a key, at any depth. */
function namedBy(key: "env" | "file", value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap((one) => namedBy(key, one));
  return isObject(value) ? [...text(value[key]), ...Object.values(value).flatMap((one) => namedBy(key, one))] : [];
}

/** The host and port of a URL. A leading `*.` stands for all names below the host. */
function hostOf(text: unknown): string[] {
  const url = URL.parse(String(text));
  if (url?.protocol !== "http:" && url?.protocol !== "https:") return [];
  // With a host of other characters, the runtime would refuse to start.
  if (!/^(\*\.)?[\w.-]+$|^\[[\d:a-f.]+\]$/.test(url.hostname)) return [];
  return [`${url.hostname}:${url.port || (url.protocol === "https:" ? 443 : 80)}`];
}

/** The hosts of the store's server, whose URL is a secret. Sentinels and clusters name further hosts. */
function serverHosts(
  { url, servers }: Record<string, unknown>,
  { read }: NonNullable<StoreKind["server"]>,
  source: Pick<PermissionSource, "env" | "readText">,
): string[] {
  const address = read(secretIn(url, source) ?? "");
  const named = address?.hosts.map(({ host, port }) => `${host}:${port}`) ?? [];
  // An invalid host would keep the runtime from starting. The gateway reports it.
  const others = list(servers).map(String).filter((one) => SERVER_FORM.test(one));
  return [...named, ...others];
}

/** The secret of an unchecked reference. */
export function secretIn(
  reference: unknown,
  { env, readText }: Pick<PermissionSource, "env" | "readText">,
): string | undefined {
  const [variable] = variablesIn(reference);
  const [file] = text(fields(reference).file);
  if (file === undefined) return variable === undefined ? undefined : env(variable);
  try {
    return readText?.(file).trim();
  } catch {
    return undefined; // the gateway reports it
  }
}

function bracketed(hostname: string): string {
  return hostname.includes(":") && !hostname.startsWith("[") ? `[${hostname}]` : hostname;
}

/** The file of the audit log, if there is one. */
function auditFile({ audit }: Record<string, unknown>): string[] {
  return text(fields(audit).file);
}

function text(value: unknown): string[] {
  return typeof value === "string" && value !== "" ? [value] : [];
}

const ADDRESS = /^(?:\[([\da-f:.]+)\]|([\w.-]+)):(\d{1,5})$/i;

/** The separate address for metrics, if there is one. `metrics`: the setting in the configuration. */
export function metricsAddress(metrics: unknown): { hostname: string; port: number } | undefined {
  const [, v6, name, port] = ADDRESS.exec(String(fields(metrics).listen)) ?? [];
  const hostname = v6 ?? name;
  return hostname === undefined || Number(port) > 65_535 ? undefined : { hostname, port: Number(port) };
}

type StoreSource = Pick<PermissionSource, "env" | "os" | "database" | "isThere">;

/**
 * The paths that the store needs, if it is a file. A missing folder is created, so all of it belongs to the store. An existing folder
 * may hold other files, so only the store's own files are allowed.
 */
function storePaths(
  store: Record<string, unknown>,
  place: StoreSource,
) {
  const file = storeFile(store, place);
  if (file === undefined) return [];
  const folder = file.replace(/[^/\\]*$/, "");
  if (folder !== "" && !place.isThere(folder)) return [folder];
  return [file, ...FILES_BESIDE.map((ending) => file + ending), `${folder}tokenizers`];
}

/** The store of the keeper of several workers, and the paths that it needs. Absent if the store is on a server. */
export function keeperStore(
  { config, ...place }: Pick<PermissionSource, "config"> & StoreSource,
): { file?: string; paths: string[] } | undefined {
  const store = fields(fields(config).store);
  if (storeKind(store.kind).isShared) return undefined;
  return { file: storeFile(store, place), paths: storePaths(store, place) };
}

/** The socket of the keeper. `folder`: the folder that the workers share. */
export function keeperSocket(folder: string): string {
  return `${folder}/keeper`;
}

function storeFile(
  { kind, path }: Record<string, unknown>,
  { env, os, database }: StoreSource,
): string | undefined {
  if (!storeKind(kind).hasFile) return undefined;
  return typeof path === "string" && path !== "" ? path : defaultStorePath(os, env, database);
}

const FILES_BESIDE = ["-wal", "-shm", "-journal"];

/** The folder of the program's own code. */
export function codeFolder(): string {
  return decodeURIComponent(new URL("../", import.meta.url).pathname).replace(/^\/(?=[A-Za-z]:)/, "");
}

/** The permissions as the runtime can be asked about them. */
export function descriptorsOf({ net, env, read, write }: Permissions): Permission[] {
  return [
    // For a pattern, a name that matches it is asked for.
    ...net.map((host) => ({ name: "net" as const, host: host.replace(/^\*\./, "any.") })),
    ...env.map((variable) => ({ name: "env" as const, variable })),
    ...read.map((path) => ({ name: "read" as const, path })),
    ...write.map((path) => ({ name: "write" as const, path })),
  ];
}

/** A permission in words: `host example.com:443`. */
export function describePermission(permission: Permission): string {
  switch (permission.name) {
    case "net":
      return `host ${permission.host}`;
    case "env":
      return `variable ${permission.variable}`;
    case "read":
    case "write":
      return `${permission.name === "read" ? "reading" : "writing"} ${permission.path}`;
    default:
      return permission satisfies never;
  }
}
