/**
 * Node 24 or later, without a build step, because it strips the types. Importing this file adds the few web standards that the
 * gateway uses and Node lacks.
 */
import { fstatSync, readFileSync, realpathSync, statSync, write as writeFile } from "node:fs";
import { Socket } from "node:net";
import { resolve } from "node:path";
import { isatty } from "node:tty";
import "./node_standards.ts";
import "./node_texts.ts";
import { flushTelemetry, telemetryOnNode } from "./node_telemetry.ts";
import type { Permission, Platform } from "./platform.ts";
import { serve } from "./node_serve.ts";
import { incompleteMessageBytes, upgradeOnNode } from "./node_socket.ts";
import { CAN_CONFINE_NET, codeOf, confinementOf, LOCK, VARIABLES } from "./node_permissions.ts";

const A_DAY_MS = 86_400_000;

const DESCRIPTOR = { stdin: 0, stdout: 1, stderr: 2 } as const;

/** How long the last traces and metrics may take to be sent, in milliseconds. */
const LINGER_MS = 3_000;

export const node: Platform = {
  os: process.platform === "win32" ? "windows" : process.platform,
  database: "sqlite",
  args: process.argv.slice(2),
  command: process.env.LANEWAY_COMMAND || "node src/node.ts",
  env: (name) => process.env[name],
  fetch: fetchPatiently,
  write: (to, bytes) => writerOf(DESCRIPTOR[to])(bytes),
  isTerminal: (stream) => isatty(DESCRIPTOR[stream]),
  columns: (stream) => process[stream].columns || 80,
  sandbox: process.permission
    ? `files, programs and variables. Node ${process.versions.node.split(".")[0]} cannot confine which hosts are called`
    : "none, because this process was started without the launcher",
  optionsFor(flags) {
    const main = realpathSync(process.argv[1]!);
    const place = { code: codeOf(main), canConfineNet: CAN_CONFINE_NET, hasThreads: false, resolve };
    return [...confinementOf(flags, place).options, `--import=${LOCK}`];
  },
  isGranted,
  onSignal(signal, run) {
    process.on(signal, run);
    return () => process.off(signal, run);
  },
  onUncaught(run) {
    const events = ["uncaughtException", "unhandledRejection"] as const;
    for (const event of events) process.on(event, run);
    return () => events.forEach((event) => process.off(event, run));
  },
  readText: (path) => readFileSync(path, "utf8"),
  modifiedAt: (path) => statSync(path).mtimeMs,
  memory: () => process.memoryUsage.rss(),
  unmanagedMemory() {
    const { rss, heapTotal, external } = process.memoryUsage();
    // The messages that are not complete are in the engine's buffers.
    return rss - heapTotal - external + incompleteMessageBytes();
  },
  parentId: () => process.ppid,
  serve,
  upgrade: upgradeOnNode,
  get telemetry() {
    return telemetryOnNode();
  },
  after: (ms, run) => void setTimeout(run, ms),
  // Node ends while only an `AbortSignal.timeout` is waited for.
  stay: () => void setInterval(() => {}, A_DAY_MS),
  exit(code) {
    const flushed = flushTelemetry();
    if (!flushed) process.exit(code);
    void flushed.then(() => process.exit(code));
    setTimeout(() => process.exit(code), LINGER_MS);
    return undefined as never;
  },
};

/** A process that the launcher has started is confined. */
function isGranted(permission: Permission): boolean {
  const model = process.permission;
  if (!model) return true;
  switch (permission.name) {
    case "net":
      return !CAN_CONFINE_NET || model.has("net");
    case "env":
      return (process.env[VARIABLES] ?? permission.variable).split(",").includes(permission.variable);
    case "read":
    case "write":
      return model.has(`fs.${permission.name}`, resolve(permission.path));
    default:
      return permission satisfies never;
  }
}

type Write = (bytes: Uint8Array) => Promise<number>;

const writers = new Map<number, Write>();

function writerOf(descriptor: number): Write {
  const writer = writers.get(descriptor) ?? createWriter(descriptor);
  writers.set(descriptor, writer);
  return writer;
}

/** Replaces Node's `process.stdout`, which blocks the whole process until a pipe is read. */
function createWriter(descriptor: number): Write {
  const stats = fstatSync(descriptor);
  if (!stats.isFIFO() && !stats.isSocket()) {
    return (bytes) =>
      new Promise((done, reject) =>
        writeFile(descriptor, bytes, (error, count) => error ? reject(error) : done(count))
      );
  }
  const socket = new Socket({ fd: descriptor, readable: false, writable: true });
  socket.unref();
  socket.on("error", () => {}); // each write reports it
  return (bytes) =>
    new Promise((done, reject) =>
      socket.write(bytes, (error?: Error | null) => error ? reject(error) : done(bytes.length))
    );
}

/** The class of the dispatcher that `fetch` uses. Node has it, but does not export it. */
type DispatcherClass = new (options: object) => object;

const PATIENT = {
  // Its own time limits for a head, for each piece of a body and for a connection could not be configured.
  headersTimeout: 0,
  bodyTimeout: 0,
  connect: { timeout: 0 },
  maxHeaderSize: 65_536,
};

/** The key of its instance, and the former one, which has a wrapper for libraries in later versions than Node 24. */
const [DISPATCHER, FORMER] = [Symbol.for("undici.globalDispatcher.2"), Symbol.for("undici.globalDispatcher.1")];

let dispatcher: object | undefined;

/** Node's `fetch` without its own time-outs (10 s to connect, 300 s for a head and between two pieces of a body). */
function fetchPatiently(input: Parameters<typeof fetch>[0], init?: RequestInit): Promise<Response> {
  dispatcher ??= createDispatcher();
  return fetch(input, { ...init, dispatcher } as RequestInit);
}

function createDispatcher(): object {
  // The first use of `Response` makes Node load the implementation of `fetch`.
  void Response;
  const global = globalThis as Record<symbol, object | undefined>;
  const known = global[DISPATCHER!] ?? global[FORMER!];
  if (!known) throw new Error("Cannot find the dispatcher of requests in this version of Node: use Node 24");
  return new (known.constructor as DispatcherClass)(PATIENT);
}
