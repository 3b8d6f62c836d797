/** Finds the intended path of a request whose lane or version is missing, or whose `/v1` is duplicated. */
import type { AnyProtocol } from "../contract/protocol.ts";
import type { Registry } from "../contract/registry.ts";

export interface LostPath {
  /** The protocol whose clients send such requests. */
  protocol: AnyProtocol;
  /** The lane in the path, if there is one. */
  lane?: string;
  /** The path that would be served, for a given lane. */
  meant(lane: string): string;
}

/**
 * Users configure clients with the gateway's address alone, with a lane's address without `/v1`, or with a `/v1` that the client
 * adds itself.
 */
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
