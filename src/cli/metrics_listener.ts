/** Metrics at an address of their own, for monitoring that has no key: nothing else is served there. */
import { isLocalCall, isLoopback } from "../http/auth.ts";
import type { Peer, ServeOptions, Serving } from "../platform/platform.ts";
import type { Program } from "../programs/program.ts";

interface Address {
  hostname: string;
  port: number;
}

export interface MetricsListener extends Serving {
  url: string;
}

/** Where it cannot listen, it says why and returns nothing. `page`: what a scrape gets. `shared`: as a server has it. */
export async function serveMetrics(
  { hostname, port }: Address,
  { page, shared }: Pick<ServeOptions, "shared"> & { page: () => Promise<Response> },
  { platform, streams: { say } }: Program,
): Promise<MetricsListener | undefined> {
  const isPrivate = hostname === "localhost" || isLoopback(hostname);
  let url = "";
  try {
    const serving = await platform.serve({
      hostname,
      port,
      shared,
      handler: (request, { remoteAddr }) => answer(request, remoteAddr, { isPrivate, page }),
      onListen: (address) => url = urlOf(address),
      onError: () => new Response(null, { status: 500 }),
      areWasted: () => false,
      onRenew() {},
      say,
    });
    return { url, ...serving };
  } catch (error) {
    const inUse = (error as { code?: string }).code === "EADDRINUSE";
    const reason = inUse ? 'the port is in use; choose another under "observe"' : (error as Error).message;
    say(`Cannot serve metrics on ${hostname} port ${port}: ${reason}`);
    return undefined;
  }
}

async function answer(
  request: Request,
  peer: Peer,
  { isPrivate, page }: { isPrivate: boolean; page: () => Promise<Response> },
): Promise<Response> {
  // A web page can make a browser call this machine under a name of its own.
  if (isPrivate && !isLocalCall(request, peer)) return refuse(403, "Only this machine may read metrics here");
  if (URL.parse(request.url)?.pathname !== "/metrics") return refuse(404, "Metrics are at /metrics");
  if (request.method !== "GET" && request.method !== "HEAD") return refuse(405, "Read metrics with GET");
  const response = await page();
  response.headers.set("cache-control", "no-store");
  return request.method === "HEAD" ? new Response(null, response) : response;
}

function refuse(status: number, message: string): Response {
  return new Response(`${message}\n`, { status, headers: status === 405 ? { allow: "GET, HEAD" } : undefined });
}

function urlOf({ hostname, port }: Address): string {
  return `http://${hostname.includes(":") ? `[${hostname}]` : hostname}:${port}/metrics`;
}
