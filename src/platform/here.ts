/** Programs and servers that a command runs on this machine until it ends. */
import type { Command, CommandOptions } from "./host.ts";

export interface LocalServer {
  port: number;
  shutdown(): Promise<void>;
}

export interface LocalServing {
  /** 0 for any free port. */
  port: number;
  handler(request: Request): Promise<Response>;
  /** The answer if the handler threw. */
  onError?(): Response;
}

/** For code that more than one runtime runs, and that has no platform. */
export function isNode(): boolean {
  return navigator.userAgent.startsWith("Node.js");
}

/** Serves at the loopback address. Throws if the port is in use. */
export async function serveHere({ port, handler, onError }: LocalServing): Promise<LocalServer> {
  const hostname = "127.0.0.1";
  if (!isNode()) {
    const server = Deno.serve({ hostname, port, onListen() {}, ...onError && { onError } }, handler);
    return { port: server.addr.port, shutdown: () => server.shutdown() };
  }
  const { serve } = await import("./node_serve.ts");
  let taken = port;
  const server = await serve({
    hostname,
    port,
    handler,
    onListen: (address) => taken = address.port,
    onError: onError ?? (() => new Response(null, { status: 500 })),
    areWasted: () => false,
    onRenew() {},
    say() {},
  });
  return { port: taken, shutdown: () => server.shutdown() };
}

export async function programHere(program: string, options: CommandOptions): Promise<Command> {
  if (!isNode()) return new Deno.Command(program, options);
  return (await import("./node_command.ts")).createCommand(program, options);
}
