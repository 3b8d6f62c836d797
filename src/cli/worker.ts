/** One of several processes that serve together: what it knows of the others, by files in a folder that only they open. */
import type { App, OtherWorker, WorkerReport, Workers } from "../app.ts";
import { ConfigError, type LoadedConfig } from "../config/load.ts";
import { keeperSocket } from "../config/permissions.ts";
import { withoutGauges } from "../observe/sum_expositions.ts";
import { builtin } from "../util/builtin.ts";
import { callWhileAlive } from "../util/idle_timer.ts";
import { type Program, UsageError } from "../programs/program.ts";

/** Where the launcher says which one this is: the folder, a slash and the number. */
const PLACE = "LANEWAY_WORKER";
/** How often a process reports, and after how long without a report it counts as hung, in milliseconds. */
const [REPORT_MS, FRESH_MS] = [1_000, 3_500];

/** This process among several. */
export interface Worker extends Workers {
  /** The program, whose messages say which process they are from. */
  program: Program;
  /** Whether none has served before it, in any place. */
  isFirst: boolean;
  /** What the process served by whose place this one has taken; nothing where it is the first there. */
  loaded: LoadedConfig | undefined;
  /** Throws a `ConfigError` where several processes cannot serve by it. */
  check(loaded: LoadedConfig): void;
  /** Whoever takes this one's place is going to serve by it. */
  keep(loaded: LoadedConfig): Promise<void>;
  /** From now on this process serves, and reports. Throws a `UsageError` where the first of its place cannot. */
  begin(loaded: LoadedConfig, running: Running): Promise<void>;
  /** Once this process serves no more. */
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

/** Throws a `UsageError` where this process cannot be one of `count`. */
export async function joinWorkers(count: number, program: Program): Promise<Worker> {
  const { os, env, isGranted } = program.platform;
  if (os !== "linux") {
    throw new UsageError(
      `Cannot use workers "${count}": only Linux distributes connections among processes on one port`,
    );
  }
  const place = isGranted({ name: "env", variable: PLACE }) ? env(PLACE) : undefined;
  const [, folder, number] = /^(.+)\/(\d+)$/.exec(place ?? "") ?? [];
  if (folder === undefined) {
    throw new UsageError(
      `Cannot use workers "${count}": only the launcher, deno task start, can start several processes`,
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
    // A disk that is full now may not be later.
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
      // The file may have changed between two processes.
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
      // The launcher removes it, unless it was killed.
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

/** A clock that was set may be far from that of the report. */
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
  await builtin("node:fs/promises").rm(folder, { recursive: true, force: true }).catch(() => {}); // another one does, too
}

let written = 0;

/** Whoever reads it meanwhile reads the whole of what was there, or of this. */
async function writeJson(path: string, value: unknown): Promise<void> {
  const { rename, writeFile } = builtin("node:fs/promises");
  const draft = `${path}.${written++}`;
  await writeFile(draft, JSON.stringify(value), { mode: 0o600 });
  await rename(draft, path);
}
