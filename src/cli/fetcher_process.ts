/** Runs the fetcher's process. The launcher loads this file, so it imports only files that import nothing. */
import { arePackagesThere, isCached } from "./cached.ts";
import { fetcherFlags } from "./fetcher_flags.ts";
import { keepRunning, type KeptProcess, runtimeEnvironment } from "./kept_process.ts";
import { type ChildProcess, command, host, moduleCommand, onNode } from "../platform/host.ts";

export interface FetcherSettings {
  hostname: string;
  /** 0 for any free port. */
  port: number;
  allow: readonly string[];
  obeysRobots: boolean;
  /** Whether it opens pages. */
  opensPages: boolean;
  /** Whether it reads documents, too. That takes further packages. */
  readsDocuments: boolean;
  token: string;
  env(name: string): string | undefined;
  readJson(path: URL): unknown;
  say(text: string): void;
}

export interface FetcherProcess extends Pick<KeptProcess, "stop" | "ended"> {
  url: string;
}

const FOLDER = new URL("../fetcher/", import.meta.url);
const PATH = decodeURIComponent(FOLDER.pathname).replace(/^\/(?=[A-Za-z]:)/, "");
const MAIN = new URL("../fetcher/main.ts", import.meta.url);
const WORKER = new URL("../fetcher/worker.ts", import.meta.url);
const DOCUMENT_WORKER = new URL("../fetcher/document_worker.ts", import.meta.url);
/** Starts the fetcher, and restarts it on the same port whenever it ends. Absent if it does not start. */
export async function startFetcher(settings: FetcherSettings): Promise<FetcherProcess | undefined> {
  const { say, readJson, readsDocuments } = settings;
  const lock = readJson(new URL(readsDocuments ? "documents/deno.lock" : "deno.lock", FOLDER));
  if (!onNode() && !arePackagesThere(lock) && !await download(readsDocuments)) {
    say("Cannot start the fetcher: its packages cannot be downloaded");
    return undefined;
  }
  const kept = await keepRunning((port) => spawn(settings, port), settings.port);
  if (!kept) {
    say("The fetcher did not start: pages cannot be opened");
    return undefined;
  }
  const { port, stop, ended } = kept;
  return {
    url: `http://${settings.hostname.includes(":") ? `[${settings.hostname}]` : settings.hostname}:${port}`,
    stop,
    ended,
  };
}

/** The list of packages. That for documents has all of the other's, too. */
function configOf(readsDocuments: boolean): string {
  return readsDocuments ? `${PATH}documents/deno.json` : `${PATH}deno.json`;
}

/** Downloads the fetcher's packages, which are not in the gateway's own lock file. */
async function download(readsDocuments: boolean): Promise<boolean> {
  const entries = [MAIN.href, WORKER.href, ...readsDocuments ? [DOCUMENT_WORKER.href] : []];
  const config = configOf(readsDocuments);
  if (await isCached("--config", config, ...entries)) return true;
  const args = ["cache", "--config", config, ...entries];
  return (await command(host().execPath(), { args }).spawn().status).success;
}

function spawn(
  { hostname, allow, obeysRobots, opensPages, readsDocuments, token, env }: FetcherSettings,
  port: number,
): ChildProcess {
  return moduleCommand({
    flags: ["--config", configOf(readsDocuments), ...fetcherFlags({ hostname, allow, opensPages, code: PATH })],
    main: MAIN.href,
    hasThreads: true,
    args: [
      "--held",
      `--hostname=${hostname}`,
      `--port=${port}`,
      ...allow.map((origin) => `--allow=${origin}`),
      ...(obeysRobots ? [] : ["--ignore-robots"]),
      ...(readsDocuments ? ["--documents"] : []),
    ],
    clearEnv: true,
    env: { ...runtimeEnvironment(env), LANEWAY_FETCHER_TOKEN: token },
    // The fetcher ends with its standard input, which ends with this process, however this one ends.
    stdin: "piped",
    stdout: "piped",
  }).spawn();
}
