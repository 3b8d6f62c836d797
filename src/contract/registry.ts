import { GatewayError } from "../errors.ts";
import type { AnyProtocol } from "./protocol.ts";

export type Match =
  | { protocol: AnyProtocol; params: Record<string, string | undefined> }
  /** The path is served, by other methods. */
  | { allow: readonly string[]; protocol: AnyProtocol }
  | undefined;

export interface Registry {
  match(request: Request): Match;
  /** Whose error shape is used where no protocol matched: the first that speaks for the client, else the first. */
  fallback(headers: Headers): AnyProtocol;
}

/**
 * Finds the protocol for a request. A plain scan: with ten patterns it takes microseconds. Refuses at start what could not
 * work: no protocols, two of one name, two that nothing tells apart.
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

  return {
    fallback: (headers) => protocols.find(({ speaksFor }) => speaksFor?.(headers)) ?? first,
    match(request) {
      const url = new URL(request.url);
      const pathname = normalize(url.pathname);
      const facts = { headers: request.headers, query: url.searchParams };
      const method = request.method === "HEAD" ? "GET" : request.method;
      const others = new Set<string>();
      let nearest: AnyProtocol | undefined;
      for (const protocol of protocols) {
        const groups = protocol.pattern.exec({ pathname })?.pathname.groups;
        if (!groups || protocol.accepts?.(facts) === false) continue;
        if (protocol.method === method) return { protocol, params: decode(groups) };
        nearest ??= protocol;
        others.add(protocol.method);
        if (protocol.method === "GET") others.add("HEAD");
      }
      return nearest && { allow: [...others], protocol: nearest };
    },
  };
}

/** A base address that ends in a slash makes clients ask for `//v1`. */
function normalize(pathname: string): string {
  return pathname.replace(/\/{2,}/g, "/").replace(/(.)\/$/, "$1");
}

/** Clients send an id with slashes as it is or encoded (`org%2Fname`). */
function decode(groups: Record<string, string | undefined>): Record<string, string | undefined> {
  return Object.fromEntries(
    Object.entries(groups).map(([name, value]) => {
      try {
        return [name, value === undefined ? undefined : decodeURIComponent(value)];
      } catch {
        throw new GatewayError("invalid_request", "The path holds a broken percent-encoding");
      }
    }),
  );
}
