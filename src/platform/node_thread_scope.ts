/**
 * Defines `self` for a module that runs as a worker. It is loaded before the module, in the same thread. Node (26) gives a thread
 * everything, so the thread itself drops it: what it may read once its own module is loaded.
 */
import process from "node:process";
import { parentPort } from "node:worker_threads";

const port = parentPort!;

const drop = (...scopes: string[]) => {
  const { permission } = process as { permission?: { drop?(scope: string): void } };
  for (const scope of scopes) permission?.drop?.(scope);
};

drop("fs.write", "child", "worker", "net", "addon", "wasi", "inspector");

Object.assign(globalThis, {
  self: {
    postMessage: (data: unknown) => port.postMessage(data),
    // Messages wait for the first listener.
    set onmessage(run: (event: { data: unknown }) => void) {
      port.on("message", (data: unknown) => {
        drop("fs.read");
        run({ data });
      });
    },
  },
});
