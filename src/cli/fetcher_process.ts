/** Runs the fetcher's process. The launcher loads this file, so it imports only files that import nothing. */
import { arePackagesThere, isCached } from "./cached.ts";
import { fetcherFlags } from "./fetcher_flags.ts";
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

export interface FetcherProcess {
  url: string;
  /** Ends the process. Without `isHard`, pages that are being fetched are finished first. */
  stop(isHard: boolean): void;
  /** Resolves once it has ended after `stop`. */
  ended: Promise<void>;
}

const FOLDER = new URL("../fetcher/", import.meta.url);
const PATH = decodeURIComponent(FOLDER.pathname).replace(/^\/(?=[A-Za-z]:)/, "");
const MAIN = new URL("../fetcher/main.ts", import.meta.url);
const WORKER = new URL("../fetcher/worker.ts", import.meta.url);
const DOCUMENT_WORKER = new URL("../fetcher/document_worker.ts", import.meta.url);
/** The variables that Deno itself reads, without secrets and proxies: a proxy would connect to any address. */
const RUNTIME_VARIABLES = [
  "PATH",
  "HOME",
  "USERPROFILE",
  "LOCALAPPDATA",
  "SystemRoot",
  "XDG_CACHE_HOME",
  "DENO_DIR",
  "DENO_CERT",
  "DENO_TLS_CA_STORE",
  "NO_COLOR",
];
/** How long a start may take, and after how long it counts as successful, in milliseconds. */
const [START_MS, WELL_MS] = [30_000, 5_000];
/** The shortest and the longest wait before a restart, in milliseconds. It grows while the process keeps ending at once. */
const [SOON_MS, LATE_MS] = [100, 30_000];

/** Starts the fetcher, and restarts it on the same port whenever it ends. Absent if it does not start. */
export async function startFetcher(settings: FetcherSettings): Promise<FetcherProcess | undefined> {
  const { say, readJson, readsDocuments } = settings;
  const lock = readJson(new URL(readsDocuments ? "documents/deno.lock" : "deno.lock", FOLDER));
  if (!onNode() && !arePackagesThere(lock) && !await download(readsDocuments)) {
    say("Cannot start the fetcher: its packages cannot be downloaded");
    return undefined;
  }
  const first = spawn(settings, settings.port);
  const port = await portOf(first);
  if (port === undefined) {
    end(first, "SIGKILL");
    say("The fetcher did not start: pages cannot be opened");
    return undefined;
  }
  const over = Promise.withResolvers<void>();
  let [child, isStopped] = [first, false];
  void (async () => {
    for (let waitMs = SOON_MS;;) {
      const since = Date.now();
      await child.status;
      if (isStopped) return over.resolve();
      waitMs = Date.now() - since > WELL_MS ? SOON_MS : Math.min(2 * waitMs, LATE_MS);
      await new Promise((resolve) => setTimeout(resolve, waitMs));
      if (isStopped) return over.resolve();
      child = spawn(settings, port);
      void drain(child);
    }
  })();
  return {
    url: `http://${settings.hostname.includes(":") ? `[${settings.hostname}]` : settings.hostname}:${port}`,
    stop(isHard) {
      isStopped = true;
      end(child, isHard ? "SIGKILL" : "SIGTERM");
    },
    ended: over.promise,
  };
}

function end(child: ChildProcess, signal: Deno.Signal): void {
  try {
    child.kill(signal);
  } catch {
    // The process has ended by itself meanwhile.
  }
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
  const kept = RUNTIME_VARIABLES.flatMap((name) => {
    const value = env(name);
    return value === undefined ? [] : [[name, value]];
  });
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
    env: { ...Object.fromEntries(kept), LANEWAY_FETCHER_TOKEN: token },
    // The fetcher ends with its standard input, which ends with this process, however this one ends.
    stdin: "piped",
    stdout: "piped",
  }).spawn();
}

/** The port that the process prints once it listens. */
async function portOf(child: ChildProcess): Promise<number | undefined> {
  const written = Promise.withResolvers<string>();
  void drain(child, written.resolve).then(() => written.resolve(""));
  const timer = setTimeout(() => written.resolve(""), START_MS);
  const port = /:(\d+)$/.exec((await written.promise).trim())?.[1];
  clearTimeout(timer);
  return port === undefined ? undefined : Number(port);
}

async function drain({ stdout }: ChildProcess, onText?: (text: string) => void): Promise<void> {
  let text = "";
  for await (const piece of stdout.pipeThrough(new TextDecoderStream())) {
    text += onText ? piece : "";
    if (text.includes("\n")) onText?.(text);
  }
}
