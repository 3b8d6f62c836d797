/**
 * A runtime with the standards of the web alone, such as a Worker at the edge. There are no files, no processes and no modules of
 * Node. The store is in memory, and the environment is passed to `createApp`.
 */
import { supplyBuiltins } from "../util/builtin.ts";
import type { Platform } from "./platform.ts";
import { type Cryptography, webBuiltins } from "./web_builtins.ts";

export type { Cryptography };

/** The memory that hosts of Workers allow, in bytes. They end a program that uses more. */
const MEMORY_BYTES = 128 * 2 ** 20;

const decoder = new TextDecoder();

/** The platform. From now on this process has no modules of Node. */
export function webPlatform(cryptography: Cryptography): Platform {
  supplyBuiltins(webBuiltins(cryptography));
  return {
    os: "web",
    args: [],
    command: "laneway",
    env: () => undefined,
    fetch: fetchPlainly,
    // deno-lint-ignore require-await -- a failure is a rejection
    async write(to, bytes) {
      const text = decoder.decode(bytes).replace(/\n$/, "");
      // deno-lint-ignore no-console -- a Worker has no standard streams
      (to === "stderr" ? console.error : console.log)(text);
      return bytes.length;
    },
    isTerminal: () => false,
    columns: () => 80,
    isGranted: () => true,
    onSignal: () => () => {},
    onUncaught: () => () => {},
    readText: noFile,
    modifiedAt: noFile,
    memory: () => 0,
    unmanagedMemory: () => 0,
    memoryLimit: MEMORY_BYTES,
    parentId: () => 0,
    serve: () => Promise.reject(new Error("The runtime serves by itself: pass each request to the app")),
    // A timer ends with the request that has set it, and nothing may be lost then.
    after: (_ms, run) => queueMicrotask(run),
    exit(code) {
      throw new Error(`Cannot end the runtime with the code ${code}`);
    },
  };
}

/**
 * The answer, which ends once its client has left. Runtimes of Workers abort the request's signal then, but they leave the answer's
 * body unread.
 */
export function untilLeft(response: Response, { signal }: Pick<Request, "signal">): Response {
  if (!response.body) return response;
  return new Response(response.body.pipeThrough(new TransformStream(), { signal }), response);
}

/** Some runtimes send the native content of a Blob, which is empty for the gateway's own kind. */
async function fetchPlainly(input: Parameters<typeof fetch>[0], init?: RequestInit): Promise<Response> {
  const body = init?.body instanceof Blob ? await init.body.bytes() : init?.body;
  return await fetch(input, { ...init, body });
}

function noFile(path: string): never {
  throw Object.assign(new Error(`Cannot read "${path}": this runtime has no files`), { code: "ENOENT" });
}
