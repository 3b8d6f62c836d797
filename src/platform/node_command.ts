/** Starts programs on Node, for the launcher. */
import { type ChildProcess as Process, spawn, type StdioOptions } from "node:child_process";
import { Readable, Writable } from "node:stream";
import type { ChildProcess, Command, CommandOptions } from "./host.ts";

const STDIO = { piped: "pipe", inherit: "inherit", null: "ignore" } as const;

/** `onSpawn`: takes the process, which then has a channel for messages. */
export function createCommand(
  program: string,
  options: CommandOptions = {},
  onSpawn?: (process: Process) => void,
): Command {
  return {
    spawn: () => start(program, options, onSpawn),
    async output() {
      const child = start(program, { stdin: "null", stdout: "piped", stderr: "piped", ...options });
      const [{ success, code }, stdout, stderr] = await Promise.all([
        child.status,
        options.stdout === "null" ? new Uint8Array() : bytesOf(child.stdout),
        options.stderr === "null" ? new Uint8Array() : bytesOf(child.stderr),
      ]);
      return { success, code, stdout, stderr };
    },
  };
}

function start(
  program: string,
  { args = [], env = {}, clearEnv = false, detached = false, cwd, signal, ...streams }: CommandOptions,
  onSpawn?: (process: Process) => void,
): ChildProcess {
  const { stdin = "inherit", stdout = "inherit", stderr = "inherit" } = streams;
  const stdio: StdioOptions = [STDIO[stdin], STDIO[stdout], STDIO[stderr], ...onSpawn ? ["ipc" as const] : []];
  const options = {
    env: { ...clearEnv ? {} : process.env, ...env },
    cwd,
    signal,
    detached,
    stdio,
    serialization: "advanced",
  } as const;
  const child = spawn(program, args, options);
  onSpawn?.(child);
  const status = new Promise<Deno.CommandStatus>((resolve, reject) => {
    // Node reports an abort by the signal as an error, too. The exit that follows counts.
    child.on("error", (error) => error.name === "AbortError" || reject(error));
    child.once("exit", (code, signal) => {
      resolve({ success: code === 0, code: code ?? 1, signal: signal as Deno.Signal | null });
    });
  });
  status.catch(() => {}); // whoever waits for it sees it
  const self: ChildProcess = {
    get pid() {
      return child.pid ?? 0;
    },
    status,
    // Each is converted at its first use: nothing is read that nobody wants.
    get stdin() {
      return keep(self, "stdin", Writable.toWeb(child.stdin!));
    },
    get stdout() {
      return keep(self, "stdout", readableOf(child.stdout!));
    },
    get stderr() {
      return keep(self, "stderr", readableOf(child.stderr!));
    },
    kill: (signal: Deno.Signal = "SIGTERM") => void child.kill(signal as NodeJS.Signals),
  };
  return self;
}

/** Node has a type of its own for the same streams. */
function readableOf(stream: Readable): ChildProcess["stdout"] {
  return Readable.toWeb(stream) as ChildProcess["stdout"];
}

function keep<T>(object: object, name: string, value: T): T {
  Object.defineProperty(object, name, { value });
  return value;
}

async function bytesOf(stream: ReadableStream<Uint8Array>): Promise<Uint8Array<ArrayBuffer>> {
  return new Uint8Array(await new Response(stream).arrayBuffer());
}
