/** What a module finds in `self` that runs as a worker: loaded before it, in the same thread. */
import { parentPort } from "node:worker_threads";

const port = parentPort!;

Object.assign(globalThis, {
  self: {
    postMessage: (data: unknown) => port.postMessage(data),
    // Messages wait for the first who listens.
    set onmessage(run: (event: { data: unknown }) => void) {
      port.on("message", (data: unknown) => run({ data }));
    },
  },
});
