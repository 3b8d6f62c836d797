/** Decides whether the launcher starts the fetcher. It imports only files that import nothing, as the launcher does. */
import { secretIn } from "../config/permissions.ts";
import { isObject } from "../util/config_text.ts";
import { isAddress } from "./fetcher_flags.ts";
import { type FetcherProcess, type FetcherSettings, startFetcher } from "./fetcher_process.ts";
import { host } from "../platform/host.ts";
import { FORWARDED } from "./processes.ts";

/** The functions that the launcher provides. */
export type FetcherWorld = Pick<FetcherSettings, "env" | "readJson" | "say">;

export interface Beside {
  process: FetcherProcess;
  token: string;
}

/** The settings for pages in the configuration, which is merged but not checked. */
interface WebFetch {
  url?: unknown;
  secret?: unknown;
  allow: string[];
  obeysRobots: boolean;
  opensPages: boolean;
  readsDocuments: boolean;
}

function webFetchOf(config: unknown): WebFetch | undefined {
  if (!isObject(config)) return undefined;
  const { webFetch } = isObject(config.hostedTools) ? config.hostedTools : {};
  const readsDocuments = isObject(config.documents);
  if (!isObject(webFetch)) {
    return readsDocuments ? { allow: [], obeysRobots: true, opensPages: false, readsDocuments } : undefined;
  }
  const { url, secret, allow, obeyRobots } = webFetch;
  const origins = Array.isArray(allow) ? allow.filter((origin) => typeof origin === "string") : [];
  return { url, secret, allow: origins, obeysRobots: obeyRobots !== false, opensPages: true, readsDocuments };
}

/** Starts a fetcher beside the gateway, unless the configuration names one that is a service of its own. */
export async function startBeside(config: unknown, world: FetcherWorld): Promise<Beside | undefined> {
  const webFetch = webFetchOf(config);
  if (!webFetch || webFetch.url !== undefined) return undefined;
  const token = Array.from(crypto.getRandomValues(new Uint8Array(32)), (byte) => byte.toString(16).padStart(2, "0"));
  const settings = { hostname: "127.0.0.1", port: 0, ...webFetch, token: token.join(""), ...world };
  const process = await startFetcher(settings);
  return process && { process, token: settings.token };
}

/** The variable or the file that holds a secret. */
function nameOf(secret: unknown): string {
  const { env, file } = isObject(secret) ? secret : {};
  return String(file ?? env);
}

/** The process of the command `fetcher`, or what is wrong. */
async function startService(
  config: unknown,
  { hostname = "127.0.0.1", port }: { hostname?: string; port?: string },
  world: FetcherWorld,
): Promise<FetcherProcess | string> {
  const webFetch = webFetchOf(config);
  const url = URL.parse(String(webFetch?.url));
  if (!webFetch || !url || webFetch.secret === undefined) {
    return 'The configuration needs "hostedTools": { "webFetch": { "url": ..., "secret": { "env": ... } } }';
  }
  const token = secretIn(webFetch.secret, { ...world, readText: (path) => host().readTextFileSync(path) }) ?? "";
  if (token.length < 16) return `Set ${nameOf(webFetch.secret)} to at least 16 characters`;
  if (!isAddress(hostname)) return `Cannot listen on "${hostname}": expected an address such as 0.0.0.0`;
  const number = Number(port ?? (url.port || (url.protocol === "https:" ? 443 : 80)));
  if (!Number.isInteger(number) || number < 0 || number > 65535) return `Cannot use port "${port}"`;
  const process = await startFetcher({ hostname, port: number, ...webFetch, token, ...world });
  return process ?? "The fetcher has not started";
}

/** Runs the fetcher as a service of its own, until a signal ends it. Returns the exit code. */
export async function serveFetcher(
  config: unknown,
  listen: { hostname?: string; port?: string },
  { orphaned, ...world }: FetcherWorld & { orphaned: Promise<boolean> },
): Promise<number> {
  const { say } = world;
  const fetcher = await startService(config, listen, world);
  if (typeof fetcher === "string") {
    say(fetcher);
    return 1;
  }
  say(`Fetcher: ${fetcher.url}`);
  for (const signal of FORWARDED) host().addSignalListener(signal, () => fetcher.stop(false));
  orphaned.then((isOrphan) => isOrphan && fetcher.stop(false));
  await fetcher.ended;
  return 0;
}
