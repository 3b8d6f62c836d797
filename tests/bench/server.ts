/** A server in a process of its own: started, watched through `/proc`, and stopped by its process id. */

export interface Server {
  origin: string;
  pid: number;
  /** From the start of the process to its first answer on `/healthz`. */
  startMs: number;
  stop(): Promise<void>;
}

const running = new Set<Server>();

const START_DEADLINE_MS = 20_000;
/** Linux counts the processor time of a process in hundredths of a second. */
const TICK_US = 10_000;

/**
 * Runs `deno run --allow-all <args>`, and reads from what the program says where it listens. A folder of its own goes with
 * it.
 */
export async function startServer(args: string[], folder?: string, env?: Record<string, string>): Promise<Server> {
  const started = performance.now();
  const process = new Deno.Command(Deno.execPath(), {
    args: ["run", "--allow-all", "--no-lock", ...args],
    env,
    stdin: "null",
    stdout: "null",
    stderr: "piped",
  }).spawn();
  const stop = async () => {
    try {
      process.kill("SIGKILL");
    } catch (error) {
      if (!(error instanceof TypeError)) throw error; // It has ended already.
    }
    await process.status;
    await drained;
    if (running.delete(server) && folder) await Deno.remove(folder, { recursive: true });
  };
  const server: Server = { origin: "", pid: process.pid, startMs: 0, stop };
  running.add(server);

  let said = "";
  const announced = Promise.withResolvers<string>();
  const drained = (async () => {
    for await (const text of process.stderr.pipeThrough(new TextDecoderStream())) {
      said = (said + text).slice(-4_000);
      const origin = said.match(/http:\/\/(127\.0\.0\.1|localhost):\d+/)?.[0];
      if (origin) announced.resolve(origin);
    }
    announced.reject(new Error(`Server ended before it listened: ${said}`));
  })();
  const deadline = setTimeout(
    () => announced.reject(new Error(`Server does not say where it listens: ${said}`)),
    START_DEADLINE_MS,
  );

  try {
    server.origin = await announced.promise;
    await healthy(server.origin, started + START_DEADLINE_MS);
    server.startMs = performance.now() - started;
    return server;
  } finally {
    clearTimeout(deadline);
  }
}

export async function stopServers(): Promise<void> {
  await Promise.all([...running].map((server) => server.stop()));
}

async function healthy(origin: string, deadline: number): Promise<void> {
  while (performance.now() < deadline) {
    try {
      const response = await fetch(`${origin}/healthz`);
      await response.body?.cancel();
      if (response.ok) return;
    } catch {
      // It does not listen yet.
    }
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
  throw new Error(`Server at "${origin}" is not healthy`);
}

/** Resident memory in kB; `undefined` where the platform has no `/proc`. */
export function residentKb(pid: number): number | undefined {
  return statusKb(pid, "VmRSS");
}

/** The most that `residentKb` has been since the process began. */
export function peakKb(pid: number): number | undefined {
  return statusKb(pid, "VmHWM");
}

function statusKb(pid: number, field: string): number | undefined {
  const kb = readProc(pid, "status")?.match(new RegExp(`^${field}:\\s+(\\d+) kB`, "m"))?.[1];
  return kb === undefined ? undefined : Number(kb);
}

/** Processor time of all threads so far, in microseconds; `undefined` where the platform has no `/proc`. */
export function cpuUs(pid: number): number | undefined {
  const stat = readProc(pid, "stat");
  if (stat === undefined) return undefined;
  // The program's name, in brackets, may hold blanks. User and system time are the fields 14 and 15.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[11]) + Number(fields[12])) * TICK_US;
}

/** Processor time of the process's main thread so far, in milliseconds. Only for Linux. */
export function mainThreadMs(pid: number): number {
  return Number(Deno.readTextFileSync(`/proc/${pid}/task/${pid}/schedstat`).split(" ")[0]) / 1e6;
}

function readProc(pid: number, file: string): string | undefined {
  return Deno.build.os === "linux" ? Deno.readTextFileSync(`/proc/${pid}/${file}`) : undefined;
}
