/**
 * The web standard's `Worker`, as far as the gateway uses it, on threads of `node:worker_threads`. A process that may start no thread
 * borrows one of the launcher.
 */
import { type Transferable, Worker as Thread } from "node:worker_threads";
import type { Asked, Reported } from "./node_threads.ts";

/** The part of a thread that a `Worker` needs. */
interface Running {
  postMessage(data: unknown, transfer: Transferable[]): void;
  terminate(): unknown;
}

export class NodeWorker {
  onmessage: ((event: { data: unknown }) => void) | undefined;
  onerror: ((event: { preventDefault(): void }) => void) | undefined;
  readonly #thread: Running;

  constructor(url: URL) {
    const hear = (data: unknown) => this.onmessage?.({ data });
    const fail = () => this.onerror?.({ preventDefault() {} });
    this.#thread = mayStartThreads() ? start(url, hear, fail) : borrow(hear, fail);
  }

  postMessage(data: unknown, transfer: Transferable[] = []): void {
    this.#thread.postMessage(data, transfer);
  }

  terminate(): void {
    void this.#thread.terminate();
  }
}

function mayStartThreads(): boolean {
  return !process.permission || process.permission.has("worker");
}

type Hear = (data: unknown) => void;

function start(url: URL, hear: Hear, fail: () => void): Running {
  const scope = new URL("./node_thread_scope.ts", import.meta.url).href;
  // A thread without the first option could not confine itself, and without the others it would read packages only where the process
  // was started in their folder.
  const readable = process.execArgv.filter((option) => option.startsWith("--allow-fs-read="));
  const permission = process.permission ? ["--permission", ...readable] : [];
  const thread = new Thread(url, { execArgv: [...permission, "--import", scope], env: {} });
  thread.on("message", hear);
  thread.on("error", fail);
  return thread;
}

let threads = 0;

function borrow(hear: Hear, fail: () => void): Running {
  const thread = threads++;
  const ask = (asked: Omit<Asked, "thread">) => {
    if (process.connected) process.send!({ thread, ...asked });
    else queueMicrotask(fail);
  };
  const take = (reported: Reported) => {
    if (reported.thread !== thread) return;
    if (reported.ended) over();
    else hear(reported.data);
  };
  const over = () => {
    process.off("message", take).off("disconnect", over);
    fail();
  };
  process.on("message", take).once("disconnect", over);
  ask({ do: "start" });
  return {
    postMessage: (data) => ask({ do: "post", data }),
    terminate() {
      process.off("message", take).off("disconnect", over);
      ask({ do: "end" });
    },
  };
}
