/** Which addresses a request lets hosted tools look at. */
import type { Domains } from "../canonical/hosted.ts";

/** Whether the address is on an allowed domain, or on none that is blocked. */
export function isWithin(address: string, { allowed, blocked }: Domains = {}): boolean {
  const url = URL.parse(address);
  if (!url) return false;
  if (allowed && allowed.length > 0 && !allowed.some((domain) => covers(domain, url))) return false;
  return !blocked?.some((domain) => covers(domain, url));
}

/**
 * `example.com` covers the hosts below it, and `example.com/docs` the paths below that; one `*` may stand for any text in the
 * path.
 */
function covers(domain: string, { hostname, pathname }: URL): boolean {
  const [host = "", ...rest] = domain.toLowerCase().split("/");
  if (hostname !== host && !hostname.endsWith(`.${host}`)) return false;
  const path = rest.join("/");
  if (path === "") return true;
  const [before = "", after] = `/${path}`.split("*", 2);
  if (after === undefined) {
    return pathname === before || pathname.startsWith(before.endsWith("/") ? before : `${before}/`);
  }
  return pathname.startsWith(before) && pathname.slice(before.length).includes(after);
}
