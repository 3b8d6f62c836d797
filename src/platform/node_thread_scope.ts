/** Defines `self` for a module that runs as a worker. It is loaded before the module, in the same thread. */
import { parentPort } from "node:worker_threads";

const port = parentPort!;

Object.assign(globalThis, {
  self: {
    postMessage: (data: unknown) => port.postMessage(data),
    // Messages wait for the first listener.
    set onmessage(run: (event: { data: unknown }) => void) {
      port.on("message", (data: unknown) => run({ data }));
    },
  },
});
