/** Results that an upstream returned as a URL. */
import { GatewayError } from "../errors.ts";
import type { TransportResponse } from "../platform/transport.ts";

const MOST_REDIRECTS = 3;

/** Fetches a result that the upstream returned as a URL: without credentials, and only from allowed origins. */
export async function fetchResult(
  url: string,
  upstream: { name: string; resultsFrom: readonly string[] },
  get: (url: string) => Promise<TransportResponse>,
): Promise<TransportResponse> {
  let place = URL.parse(url);
  for (let hops = 0; hops <= MOST_REDIRECTS; hops++) {
    if (!place || place.username + place.password !== "" || !isAmong(place, upstream.resultsFrom)) {
      const where = place ? `"${place.protocol}//${place.host}", which its "resultsFrom" does not name` : "no URL";
      const message = `The result of upstream "${upstream.name}" is at ${where}`;
      throw new GatewayError("upstream_error", message, { retryable: false });
    }
    const response = await get(place.href);
    const location = response.status >= 300 && response.status < 400 && response.headers.get("location");
    if (!location) return response;
    await response.body?.cancel();
    place = URL.parse(location, place.href);
  }
  const message = `Cannot fetch the result of upstream "${upstream.name}": too many redirects`;
  throw new GatewayError("upstream_error", message, { retryable: false });
}

/** `https://*.example.com` names every host below example.com, on the same port. */
function isAmong({ protocol, host }: URL, allowed: readonly string[]): boolean {
  return allowed.some((pattern) => {
    const wanted = URL.parse(pattern);
    if (!wanted || protocol !== wanted.protocol) return false;
    return wanted.host.startsWith("*.") ? host.endsWith(wanted.host.slice(1)) : host === wanted.host;
  });
}
