/** Programs that are measured: each is started on a port that is free, watched through `/proc` and stopped with all it started. */
import { Connection } from "./client.ts";
import { treeOf } from "./process_tree.ts";

export interface Program {
  command: string;
  args: string[];
  cwd?: string;
  env?: Record<string, string>;
  /** Without what this process has in its environment. */
  clearEnv?: boolean;
}

export interface Started {
  origin: string;
  pid: number;
  /** From the start of the process to the end of its first answer. */
  startMs: number;
  stop(): Promise<void>;
}

const running = new Set<Started>();
const POLL_MS = 2;
const ANSWER_MS = 5_000;
/** What it has printed last is kept, for when it fails. */
const KEPT_OUTPUT = 3_000;

/** A port that nobody listens on. */
export function freePort(): number {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port } = listener.addr;
  listener.close();
  return port;
}

/** Starts a program that listens on `port`, and asks it until it answers: `request` is any that it answers with 200. */
export async function startProgram(
  program: Program,
  port: number,
  request: (origin: string) => Uint8Array,
  { deadlineMs = 30_000, folder }: { deadlineMs?: number; folder?: string } = {},
): Promise<Started> {
  const { command, ...options } = program;
  const began = performance.now();
  const process = new Deno.Command(command, { ...options, stdin: "null", stdout: "piped", stderr: "piped" }).spawn();
  let printed = "";
  const drained = Promise.all([process.stdout, process.stderr].map(async (stream) => {
    for await (const text of stream.pipeThrough(new TextDecoderStream())) {
      printed = (printed + text).slice(-KEPT_OUTPUT);
    }
  }));
  let ended: string | undefined;
  process.status.then(({ code }) => ended = `ends with ${code}`);

  const stop = async () => {
    running.delete(started);
    for (const pid of treeOf(process.pid)) kill(pid);
    await process.status;
    await drained;
    if (folder) await Deno.remove(folder, { recursive: true }).catch(() => {});
  };
  const started: Started = { origin: `http://127.0.0.1:${port}`, pid: process.pid, startMs: 0, stop };
  running.add(started);

  let failure = "does not answer";
  while (performance.now() - began < deadlineMs && ended === undefined) {
    try {
      await askOnce(started.origin, request(started.origin));
      started.startMs = performance.now() - began;
      return started;
    } catch (error) {
      if (!(error instanceof Deno.errors.ConnectionRefused)) failure = String(error);
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    }
  }
  await stop();
  throw new Error(`${command} ${ended ?? failure}: ${printed.slice(-600)}`);
}

export async function stopPrograms(): Promise<void> {
  await Promise.all([...running].map((each) => each.stop()));
}

async function askOnce(origin: string, request: Uint8Array): Promise<void> {
  const connection = await Connection.open(origin);
  const timer = setTimeout(() => connection.close(), ANSWER_MS);
  try {
    await connection.ask(request);
  } finally {
    clearTimeout(timer);
    connection.close();
  }
}

function kill(pid: number): void {
  try {
    Deno.kill(pid, "SIGKILL");
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound || error instanceof TypeError)) throw error; // It has ended already.
  }
}
