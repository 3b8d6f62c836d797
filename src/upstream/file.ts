import type { Call } from "../contract/call.ts";
import { GatewayError } from "../errors.ts";
import { type Callee, readBytes, send } from "./send.ts";

/** The longest file that is fetched, in bytes. */
const LONGEST_FILE = 64 * 1024 * 1024;
const MOST_REDIRECTS = 3;

/**
 * Fetches a file from a service; `undefined` if it does not exist. Redirects are followed: with credentials below the
 * service's base URL, and without any to the other hosts that its configuration names.
 */
export async function fetchFile(
  first: Call,
  service: Callee,
  signal: AbortSignal,
): Promise<Uint8Array<ArrayBuffer> | undefined> {
  let call = first;
  for (let hops = 0; hops <= MOST_REDIRECTS; hops++) {
    const response = await send(call, service, signal);
    if (response.ok) return await readBytes(response, LONGEST_FILE);
    await response.body?.cancel();
    const { status, headers } = response;
    if (status === 404) return undefined;
    const location = status >= 300 && status < 400 ? headers.get("location") : null;
    const place = location === null ? null : URL.parse(location, `${service.baseUrl}/`);
    if (!place) {
      throw new GatewayError("unavailable", `"${service.name}" answered ${status}`, { upstreamStatus: status });
    }
    const isOwn = place.href.startsWith(`${service.baseUrl}/`);
    call = isOwn ? { path: place.href.slice(`${service.baseUrl}/`.length) } : { url: place.href };
  }
  throw new GatewayError("upstream_error", `Cannot fetch a file of "${service.name}": too many redirects`);
}
