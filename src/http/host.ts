import { GatewayError } from "../errors.ts";

/** A name, or an address of IPv4 or IPv6, and perhaps a port: RFC 9110, 7.2, less what no host is called. */
const HOST = /^(?:[\w.~%-]+|\[[\da-f:.]+\])(?::\d*)?$/i;

/**
 * Refuses a request whose host is none. The platform (Deno 2.9.6) makes the request's URL of the header as it stands, so that
 * a path or a name before an `@` in it would become a part of the URL.
 */
export function checkHost({ headers, url }: Request): void {
  const host = headers.get("host");
  const isHost = host === null || HOST.test(host) && URL.canParse(`http://${host}`);
  const address = URL.parse(url);
  if (isHost && address && !address.username && !address.password) return;
  throw new GatewayError(
    "invalid_request",
    'The "Host" header must be the name or address of a host, and perhaps a port',
  );
}
