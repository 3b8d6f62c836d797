/**
 * Threads for a process that may start none, because Node (26) confines no thread: each is a process, which may only read the
 * program. The launcher starts it, and passes on what the two send to each other.
 */
import { type ChildProcess, fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import { CAN_CONFINE_NET, confinementOf } from "./node_permissions.ts";

/** Defines in a process that stands in for a thread what the module of a thread expects. */
const THREAD = new URL("./node_thread_process.ts", import.meta.url).href;

/** The most threads of one process. */
const MOST_THREADS = 4;

/** A message of the borrower to the launcher. */
export interface Asked {
  thread: number;
  do: "start" | "post" | "end";
  data?: unknown;
}

/** A message of the launcher to the borrower. */
export interface Reported {
  thread: number;
  data?: unknown;
  ended?: true;
}

/** `module`: what each thread runs. `code`: the files and folders that it is loaded from. */
export function lendThreads(borrower: ChildProcess, module: string, code: readonly string[]): void {
  const threads = new Map<number, ChildProcess>();
  const tell = (reported: Reported) => {
    // The borrower may have ended meanwhile.
    if (borrower.connected) borrower.send(reported as object, () => {});
  };
  const start = (number: number) => {
    const thread = startThread(module, code);
    threads.set(number, thread);
    thread.on("message", (data) => tell({ thread: number, data }));
    thread.on("error", () => {}); // it ends, or has never begun
    thread.once("close", () => {
      if (threads.get(number) === thread) threads.delete(number);
      tell({ thread: number, ended: true });
    });
  };
  borrower.on("message", (asked: Asked) => {
    const thread = threads.get(asked?.thread);
    switch (asked?.do) {
      case "start":
        if (!thread && threads.size < MOST_THREADS) start(asked.thread);
        break;
      case "post":
        if (thread?.connected) thread.send(asked.data as object, () => {});
        break;
      case "end":
        thread?.kill("SIGKILL");
    }
  });
  borrower.once("close", () => threads.forEach((thread) => thread.kill("SIGKILL")));
}

function startThread(module: string, code: readonly string[]): ChildProcess {
  const place = { code, canConfineNet: CAN_CONFINE_NET, hasThreads: false, resolve: (path: string) => path };
  return fork(fileURLToPath(module), {
    execArgv: [...confinementOf([], place).options, `--import=${THREAD}`],
    env: {},
    serialization: "advanced",
    stdio: ["ignore", "ignore", "inherit", "ipc"],
  });
}
