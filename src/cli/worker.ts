/** One of several processes that serve together. They exchange reports by files in a folder that only they open. */
import type { App, OtherWorker, WorkerReport, Workers } from "../app.ts";
import { ConfigError, type LoadedConfig } from "../config/load.ts";
import { keeperSocket, WORKER_PLACE } from "../config/permissions.ts";
import { withoutGauges } from "../observe/sum_expositions.ts";
import { builtin } from "../util/builtin.ts";
import { callWhileAlive } from "../util/idle_timer.ts";
import { type Program, UsageError } from "../programs/program.ts";

/** How often a process reports, and after how long without a report it counts as hanging, in milliseconds. */
const [REPORT_MS, FRESH_MS] = [1_000, 3_500];

/** This process among several. */
export interface Worker extends Workers {
  /** The program, with messages that name this process. */
  program: Program;
  /** Whether this is worker 1 and no process has served as worker 1 before. */
  isFirst: boolean;
  /** The configuration of the process that this one replaces. Absent if it replaces none. */
  loaded: LoadedConfig | undefined;
  /** Throws a `ConfigError` if several processes cannot use this configuration. */
  check(loaded: LoadedConfig): void;
  /** Keeps the configuration for a process that replaces this one. */
  keep(loaded: LoadedConfig): Promise<void>;
  /** Called once this process serves: it begins to report. Throws a `UsageError` if a process that replaces none cannot write. */
  begin(loaded: LoadedConfig, running: Running): Promise<void>;
  /** Called once this process no longer serves. */
  end(): Promise<void>;
}

/** The gateway of this process. */
interface Running {
  app(): Pick<App, "report">;
  reload(isQuiet: boolean): void;
}

interface Reported extends WorkerReport {
  pid: number;
  /** Milliseconds since the epoch. */
  at: number;
}

/** Throws a `UsageError` if this process cannot be one of `count`. */
export async function joinWorkers(count: number, program: Program): Promise<Worker> {
  const { os, env, isGranted } = program.platform;
  if (os !== "linux") {
    throw new UsageError(
      `Cannot use workers "${count}": only Linux distributes connections among processes on one port`,
    );
  }
  const place = isGranted({ name: "env", variable: WORKER_PLACE }) ? env(WORKER_PLACE) : undefined;
  const [, folder, number] = /^(.+)\/(\d+)$/.exec(place ?? "") ?? [];
  if (folder === undefined) {
    throw new UsageError(
      `Cannot use workers "${count}": only the launcher, deno task -q laneway, can start several processes`,
    );
  }
  const worker = Number(number);
  const before = await readJson<Reported>(`${folder}/${worker}.json`);
  const loaded = await readJson<LoadedConfig>(`${folder}/${worker}.config.json`);
  return createWorker({ folder, worker, count, program }, before, loaded);
}

function check({ config: { listen }, source }: LoadedConfig): void {
  if (listen.port !== 0) return;
  const message = "Several workers need a fixed port: with 0, each gets its own";
  throw new ConfigError(source, [{ path: "listen.port", message }]);
}

interface Joined {
  folder: string;
  worker: number;
  count: number;
  program: Program;
}

function createWorker(
  { folder, worker, count, program }: Joined,
  before: Reported | undefined,
  loaded: LoadedConfig | undefined,
): Worker {
  const { pid } = process;
  const named = worker === 1 && !loaded ? program : withName(`Worker ${worker}`, program);
  const others = Array.from({ length: count }, (_, index) => index + 1).filter((number) => number !== worker);
  const write = (name: string, value: LoadedConfig | Reported) => writeJson(`${folder}/${worker}.${name}`, value);
  const reported = (report: WorkerReport): Reported => ({ ...report, pid, at: Date.now() });
  const self: Worker = {
    worker,
    pid,
    count,
    program: named,
    isFirst: worker === 1 && !loaded,
    keeper: keeperSocket(folder),
    inherited: withoutGauges(before?.metrics ?? ""),
    loaded,
    check,
    // A full disk may have space again later.
    keep: (loaded) => write("config.json", loaded).catch(() => {}),
    publish: (report) => write("json", reported(report)).catch(() => {}),
    others: () => readReports(folder, others),
    async begin(current, running) {
      try {
        await write("config.json", current);
        await write("json", reported(await running.app().report(self)));
      } catch (error) {
        if (!loaded) throw new UsageError(`Cannot write in "${folder}": ${(error as Error).message}`);
      }
      // The file may have changed since the replaced process read it.
      if (loaded) running.reload(true);
      if (loaded) named.streams.say("Serves again");
      const report = async () => {
        await running.app().report(self).then(self.publish).catch(() => {});
        callWhileAlive(REPORT_MS, report);
      };
      callWhileAlive(REPORT_MS, report);
    },
    async end() {
      const { parentId, env } = program.platform;
      // The launcher removes the folder, unless the launcher was killed.
      if (parentId() !== Number(env("LANEWAY_LAUNCHER"))) await removeFolder(folder);
    },
  };
  return self;
}

async function readReports(folder: string, workers: readonly number[]): Promise<OtherWorker[]> {
  const all = await Promise.all(workers.map(async (worker) => {
    const report = await readJson<Reported>(`${folder}/${worker}.json`);
    return report ? [{ ...report, worker, isFresh: isFresh(report) }] : [];
  }));
  return all.flat();
}

function withName(name: string, program: Program): Program {
  const { streams } = program;
  return { ...program, streams: { ...streams, say: (text) => streams.say(`${name}: ${text}`) } };
}

/** The difference is absolute, because the clock may have been set back. */
function isFresh({ at }: Reported): boolean {
  return Math.abs(Date.now() - at) < FRESH_MS;
}

async function readJson<T>(path: string): Promise<T | undefined> {
  try {
    return JSON.parse(await builtin("node:fs/promises").readFile(path, "utf8"));
  } catch (error) {
    if ((error as { code?: string }).code === "ENOENT") return undefined;
    throw error;
  }
}

async function removeFolder(folder: string): Promise<void> {
  await builtin("node:fs/promises").rm(folder, { recursive: true, force: true }).catch(() => {}); // another worker removes it, too
}

let written = 0;

/** Replaces the file atomically, so that readers see the old or the new content as a whole. */
async function writeJson(path: string, value: unknown): Promise<void> {
  const { rename, writeFile } = builtin("node:fs/promises");
  const draft = `${path}.${written++}`;
  await writeFile(draft, JSON.stringify(value), { mode: 0o600 });
  await rename(draft, path);
}
