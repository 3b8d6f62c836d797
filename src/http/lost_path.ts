/** Requests whose path nothing serves, because its lane or version is missing, or `/v1` is there twice: what they were meant for. */
import type { AnyProtocol } from "../contract/protocol.ts";
import type { Registry } from "../contract/registry.ts";

export interface LostPath {
  /** The one whose clients ask so. */
  protocol: AnyProtocol;
  /** The lane that the path names, if it does. */
  lane?: string;
  /** The paths that would be served, one for each lane. */
  meant(lane: string): string;
}

/** Clients are given the gateway's address alone, or a lane's without `/v1`, or one with a `/v1` that they add themselves. */
export function findLostPath(request: Request, registry: Registry, lanes: Iterable<string>): LostPath | undefined {
  const { method, headers } = request;
  const { pathname } = new URL(request.url);
  const [, first = ""] = pathname.split("/");
  const isLane = new Set(lanes).has(first);
  const rest = pathname.slice(first.length + 1);
  const forms = isLane ? [`/v1${rest}`, rest.replace(/^\/v1(?=\/v1(?:beta)?\/)/, "")] : [pathname, `/v1${pathname}`];
  for (const form of forms) {
    const match = registry.match(new Request(new URL(`/lane${form}`, request.url), { method, headers }));
    if (match && pathname !== "/") {
      const lane = isLane ? first : undefined;
      return { protocol: match.protocol, lane, meant: (one) => `/${encodeURIComponent(one)}${form}` };
    }
  }
  return undefined;
}
