/** The substitute for Deno in a launcher that runs on Node. */
import { lstatSync, readFileSync, writeSync } from "node:fs";
import { isatty } from "node:tty";
import type { Host, NodeHost } from "./host.ts";
import { createCommand } from "./node_command.ts";
import { listen } from "./node_connection.ts";
import { moduleOnNode } from "./node_module.ts";
import { CAN_CONFINE_NET } from "./node_permissions.ts";

/** A missing file is told apart by its code. */
class NotFound extends Error {
  static override [Symbol.hasInstance](thrown: unknown): boolean {
    return (thrown as { code?: unknown } | undefined)?.code === "ENOENT";
  }
}

const stream = (descriptor: number) => ({ isTerminal: () => isatty(descriptor) });

const host: Host = {
  args: process.argv.slice(2),
  pid: process.pid,
  build: { os: process.platform === "win32" ? "windows" : process.platform },
  env: { get: (name) => process.env[name], has: (name) => process.env[name] !== undefined },
  errors: { NotFound },
  stdin: stream(0),
  stdout: stream(1),
  stderr: { ...stream(2), writeSync: (bytes) => writeSync(2, bytes) },
  // The launcher itself is not confined.
  permissions: { querySync: () => ({ state: "granted" }) },
  cwd: () => process.cwd(),
  execPath: () => process.execPath,
  exit: (code) => process.exit(code),
  kill: (pid, signal) => void process.kill(pid, signal),
  addSignalListener: (signal, run) => void process.on(signal, run),
  removeSignalListener: (signal, run) => void process.off(signal, run),
  readTextFileSync: (path) => readFileSync(path, "utf8"),
  lstatSync,
  listen: ({ hostname, port }) => listen({ host: hostname, port }),
};

/** `main`: the program's entry file. */
export function nodeHost(main: string): NodeHost {
  const command = process.env.LANEWAY_COMMAND || "node src/node.ts";
  return {
    ...host,
    main,
    command,
    canConfineNet: CAN_CONFINE_NET,
    program: createCommand,
    module: (run) => moduleOnNode(run, main),
  };
}
