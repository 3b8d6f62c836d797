/** Deno's server, by what the gateway serves with on Node. */
import { serve as serveOnNode } from "../../src/platform/node_serve.ts";
import { upgradeOnNode } from "../../src/platform/node_socket.ts";
import type { Peer } from "../../src/platform/platform.ts";
import { freePort } from "./connections.ts";

type Handler = (request: Request, info: { remoteAddr: Peer; completed: Promise<void> }) => Response | Promise<Response>;

interface Options {
  hostname?: string;
  port?: number;
  signal?: AbortSignal;
  handler?: Handler;
  onListen?(address: { hostname: string; port: number }): void;
  onError?(thrown: unknown): Response;
}

export function serve(first: Options | Handler, second?: Handler) {
  const options = typeof first === "function" ? {} : first;
  const handler = typeof first === "function" ? first : second ?? first.handler!;
  const { hostname = "127.0.0.1", onListen = () => {}, onError = failed } = options;
  if ("key" in options) throw new Error("This server of Node has no TLS");
  const port = options.port || freePort(hostname);
  const serving = serveOnNode({
    hostname,
    port,
    handler: async (request, { remoteAddr }) => {
      const { promise: completed, resolve } = Promise.withResolvers<void>();
      request.signal.addEventListener("abort", () => resolve());
      return await handler(request, { remoteAddr, completed });
    },
    onListen,
    onError,
    areWasted: () => false,
    onRenew() {},
    say() {},
  });
  const over = Promise.withResolvers<void>();
  const shutdown = async () => {
    await (await serving).shutdown();
    over.resolve();
  };
  options.signal?.addEventListener("abort", () => void shutdown());
  return {
    addr: { transport: "tcp" as const, hostname, port },
    finished: over.promise,
    shutdown,
    ref() {},
    unref() {},
    [Symbol.asyncDispose]: shutdown,
  };
}

function failed(thrown: unknown): Response {
  // deno-lint-ignore no-console -- as Deno does
  console.error(thrown);
  return new Response("Internal Server Error", { status: 500 });
}

export function upgradeWebSocket(request: Request) {
  const { socket, response } = upgradeOnNode(request);
  return { socket, response };
}
