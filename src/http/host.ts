import { GatewayError } from "../errors.ts";
import { BoundedMap } from "../util/bounded_map.ts";

/**
 * A name or an IPv4 or IPv6 address, with an optional port: RFC 9110, section 7.2, without characters that no host name
 * contains.
 */
const HOST = /^(?:[\w.~%-]+|\[[\da-f:.]+\])(?::\d*)?$/i;

/** The hosts under which the gateway was called, with their URLs. There are few, and every request has one of them. */
const known = new BoundedMap<string, URL>(64);
/** Longer ones are not cached. */
const LONGEST_KNOWN = 256;

/** The URL of the host in a "Host" header. `undefined` if the host is not valid. */
export function addressOf(host: string): URL | undefined {
  const address = known.get(host) ?? URL.parse(`http://${host}`) ?? undefined;
  if (address && host.length <= LONGEST_KNOWN && !known.get(host)) known.set(host, address);
  return address;
}

/**
 * Refuses a request with an invalid host. `url` is the request's URL, if valid. The platform (Deno 2.9.6) builds the URL from
 * the unchecked header, so a path or a user name before an `@` in the header would become part of the URL.
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
