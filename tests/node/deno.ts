/** As much of `Deno` as the tests use, on Node. */
import { freemem, hostname, loadavg, totalmem } from "node:os";
import { isatty } from "node:tty";
import { inspect } from "node:util";
import { ChildProcess, Command, kill } from "./processes.ts";
import { connect, errors, listen } from "./connections.ts";
import * as files from "./files.ts";
import { serve, upgradeWebSocket } from "./server.ts";
import { test } from "./tests.ts";

const env = {
  get: (name: string) => process.env[name],
  set: (name: string, value: string) => void (process.env[name] = value),
  has: (name: string) => name in process.env,
  delete: (name: string) => void delete process.env[name],
  toObject: () => ({ ...process.env }),
};

const output = (stream: NodeJS.WriteStream, descriptor: number) => ({
  isTerminal: () => isatty(descriptor),
  writeSync(bytes: Uint8Array) {
    stream.write(bytes);
    return bytes.length;
  },
});

export const Deno = {
  ...files,
  args: process.argv.slice(2),
  build: { os: process.platform, arch: "x86_64", standalone: false },
  ChildProcess,
  Command,
  connect,
  cwd: () => process.cwd(),
  env,
  errors,
  execPath: () => process.execPath,
  exit: (code?: number) => process.exit(code),
  hostname,
  inspect,
  kill,
  listen,
  loadavg,
  memoryUsage: () => process.memoryUsage(),
  systemMemoryInfo: () => ({ total: totalmem(), free: freemem(), available: freemem() }),
  noColor: true,
  pid: process.pid,
  serve,
  stderr: output(process.stderr, 2),
  stdout: output(process.stdout, 1),
  test,
  uid: () => process.getuid!(),
  upgradeWebSocket,
  unrefTimer: (timer: NodeJS.Timeout) => timer.unref(),
};

/** The requests that follow a signal, for as long as it lives. */
const following = new WeakMap<AbortSignal, Request[]>();

/**
 * Deno does not ask to be told that a stream is sent before an answer comes. It aborts the signal of a request that nobody holds any
 * more; Node (24) forgets such a signal with its request, although somebody listens to it.
 */
export class Request extends globalThis.Request {
  constructor(input: RequestInfo | URL, init?: RequestInit) {
    super(input, { duplex: "half", ...init } as RequestInit);
    const followed = init?.signal ?? (input instanceof globalThis.Request ? input.signal : undefined);
    if (followed) following.set(followed, [...following.get(followed) ?? [], this]);
  }
}
