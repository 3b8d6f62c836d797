/** The web standard's `Worker`, as far as the gateway uses it, on threads of `node:worker_threads`. */
import { type Transferable, Worker as Thread } from "node:worker_threads";

export class NodeWorker {
  onmessage: ((event: { data: unknown }) => void) | undefined;
  onerror: ((event: { preventDefault(): void }) => void) | undefined;
  readonly #thread: Thread;

  constructor(url: URL) {
    const scope = new URL("./node_thread_scope.ts", import.meta.url).href;
    this.#thread = new Thread(url, { execArgv: [...process.execArgv, "--import", scope] });
    this.#thread.on("message", (data: unknown) => this.onmessage?.({ data }));
    this.#thread.on("error", () => this.onerror?.({ preventDefault() {} }));
  }

  postMessage(data: unknown, transfer: Transferable[] = []): void {
    this.#thread.postMessage(data, transfer);
  }

  terminate(): void {
    void this.#thread.terminate();
  }
}
