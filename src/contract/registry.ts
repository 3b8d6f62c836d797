import { GatewayError } from "../errors.ts";
import { BoundedMap } from "../util/bounded_map.ts";
import { createPathFinder } from "./paths.ts";
import type { AnyProtocol } from "./protocol.ts";

type Params = Record<string, string | undefined>;

export type Match =
  | { protocol: AnyProtocol; params: Params }
  /** Other methods are served at this path, if the object named by `params` exists. */
  | { allow: readonly string[]; protocol: AnyProtocol; params: Params }
  | undefined;

export interface Registry {
  /** All protocols, in matching order. */
  readonly protocols: readonly AnyProtocol[];
  /** `url`: the request's URL, if it is already parsed. */
  match(request: Pick<Request, "method" | "headers" | "url">, url?: URL): Match;
  /**
   * The protocol whose error shape is used if none matches: the first that recognizes the client, or else the first of
   * all.
   */
  fallback(headers: Headers, pathname?: string): AnyProtocol;
}

/** How many paths are known for each method, and how long one may be. */
const [MOST_KNOWN, LONGEST_KNOWN] = [256, 128];

/**
 * Finds the protocol for a request. Throws at startup if there is no protocol, or if two cannot be told apart or share
 * a name.
 */
export function createRegistry(protocols: readonly AnyProtocol[]): Registry {
  const [first] = protocols;
  if (!first) throw new Error("Cannot serve: no protocol is registered");
  const seen = new Map<string, string>();
  for (const { name, method, pattern, accepts } of protocols) {
    const place = accepts ? name : `${method} ${pattern.pathname}`;
    for (const key of new Set([`name ${name}`, place])) {
      const other = seen.get(key);
      if (other) throw new Error(`Cannot register protocol "${name}": "${other}" has the same ${key}`);
      seen.set(key, name);
    }
  }

  const find = createPathFinder(protocols);
  const speakers = protocols.filter(({ speaksFor }) => speaksFor);
  /** The protocols of paths that name no object, by method. Most requests use the same few paths. */
  const known = new Map<string, BoundedMap<string, { protocol: AnyProtocol; params: Params }>>();
  const remember = (method: string, pathname: string, served: { protocol: AnyProtocol; params: Params }) => {
    const paths = known.get(method) ?? new BoundedMap(MOST_KNOWN);
    known.set(method, paths.set(pathname, served));
  };

  return {
    protocols,
    fallback: (headers, pathname) => speakers.find(({ speaksFor }) => speaksFor?.(headers, pathname)) ?? first,
    match(request, url = new URL(request.url)) {
      const { pathname } = url;
      const before = known.get(request.method)?.get(pathname);
      if (before) return { protocol: before.protocol, params: { ...before.params } };
      const facts = { headers: request.headers, query: url.searchParams };
      const method = request.method === "HEAD" ? "GET" : request.method;
      const candidates = find(normalize(pathname));
      const all = candidates.filter(({ protocol }) => protocol.accepts?.(facts) !== false);
      // An endpoint's own path is never read as an id.
      const own = all.filter(({ groups }) => groups.id === undefined);
      const found = own.length > 0 ? own : all;
      const [nearest] = found;
      if (!nearest) return undefined;
      const fitting = found.find(({ protocol }) => protocol.method === method);
      const { protocol, groups } = fitting ?? nearest;
      const params = decode(groups);
      if (fitting) {
        const isAlways = groups.id === undefined && !candidates.some(({ protocol }) => protocol.accepts);
        if (isAlways && pathname.length <= LONGEST_KNOWN) remember(request.method, pathname, { protocol, params });
        return { protocol, params: { ...params } };
      }
      const methods = found.flatMap(({ protocol: { method } }) => method === "GET" ? ["GET", "HEAD"] : [method]);
      return { allow: [...new Set(methods)], protocol, params };
    },
  };
}

/** A base URL with a trailing slash makes clients request `//v1`. */
function normalize(pathname: string): string {
  const single = pathname.includes("//") ? pathname.replace(/\/{2,}/g, "/") : pathname;
  return single.length > 1 && single.endsWith("/") ? single.slice(0, -1) : single;
}

/** Clients send an id with slashes either unencoded or encoded (`org%2Fname`). */
function decode(groups: Params): Params {
  const params: Params = {};
  for (const name in groups) params[name] = decodePart(groups[name]);
  return params;
}

function decodePart(value: string | undefined): string | undefined {
  try {
    return value?.includes("%") ? decodeURIComponent(value) : value;
  } catch {
    throw new GatewayError("invalid_request", "The path contains an invalid percent-encoding");
  }
}
