import { GatewayError } from "../errors.ts";
import { BoundedMap } from "../util/bounded_map.ts";

/** A name, or an address of IPv4 or IPv6, and perhaps a port: RFC 9110, 7.2, less what no host is called. */
const HOST = /^(?:[\w.~%-]+|\[[\da-f:.]+\])(?::\d*)?$/i;

/** Hosts by which the gateway was called, and the address that each is: few, and one of them is in every request. */
const known = new BoundedMap<string, URL>(64);
/** Longer ones are not remembered. */
const LONGEST_KNOWN = 256;

/** The address of a host, as the "Host" header names it; nothing where it is none. */
export function addressOf(host: string): URL | undefined {
  const address = known.get(host) ?? URL.parse(`http://${host}`) ?? undefined;
  if (address && host.length <= LONGEST_KNOWN && !known.get(host)) known.set(host, address);
  return address;
}

/**
 * Refuses a request whose host is none; `url` is the request's, if it has a valid one. The platform (Deno 2.9.6) makes the
 * request's URL of the header as it stands, so that a path or a name before an `@` in it would become a part of the URL.
 */
export function checkHost({ headers }: Request, url: URL | undefined): asserts url is URL {
  const host = headers.get("host");
  const isHost = host === null || HOST.test(host) && addressOf(host) !== undefined;
  if (isHost && url && !url.username && !url.password) return;
  throw new GatewayError(
    "invalid_request",
    'The "Host" header must be the name or address of a host, optionally with a port',
  );
}
