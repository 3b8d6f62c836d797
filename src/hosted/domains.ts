/** Which addresses a request lets hosted tools look at. An address and an entry of a list are compared in one normal form. */
import type { Domains } from "../canonical/hosted.ts";

/** How many entries a list may have. Each one is parsed. */
const MOST_ENTRIES = 1_000;

/** Whether the address is on an allowed domain, or on none that is blocked. */
export function isWithin(address: string, domains?: Domains): boolean {
  return filterOf(domains)(address);
}

/** The same for many addresses. */
export function filterOf({ allowed = [], blocked = [] }: Domains = {}): (address: string) => boolean {
  const [within, without] = [allowed.map(entryOf), blocked.map(entryOf)];
  return (address) => {
    const place = /^https?:/i.test(address) ? placeOf(URL.parse(address)) : undefined;
    if (!place || within.length > 0 && !within.some((entry) => covers(entry, place))) return false;
    return !without.some((entry) => covers(entry, place));
  };
}

/**
 * The lists as search services are given them: hosts, with the path that follows. Undefined if there are too many entries, or one
 * cannot be read: without it the filter would let through what it should not.
 */
export function plainDomains({ allowed, blocked }: Domains = {}): Domains | undefined {
  const entries = [...allowed ?? [], ...blocked ?? []];
  if (entries.length > MOST_ENTRIES || entries.some((domain) => !entryOf(domain))) return undefined;
  return { ...(allowed && { allowed: allowed.map(plain) }), ...(blocked && { blocked: blocked.map(plain) }) };
}

/** A host and a path in their normal form. */
interface Place {
  host: string;
  port: string;
  /** Its segments are decoded and in small letters. Empty for the whole host. */
  path: string;
}

/**
 * `example.com` covers the hosts below it, as `*.example.com` does, and `example.com/docs` the paths below that; one `*` may stand
 * for any text in the path.
 */
function covers(entry: Place | undefined, { host, port, path }: Place): boolean {
  if (!entry || host !== entry.host && !host.endsWith(`.${entry.host}`)) return false;
  if (entry.port !== "" && port !== entry.port) return false;
  const [before = "", after] = entry.path.split("*", 2);
  if (after === undefined) return path === before || path.startsWith(`${before}/`);
  return `${path}/`.startsWith(before) && `${path}/`.slice(before.length).includes(after);
}

function entryOf(domain: string): Place | undefined {
  return placeOf(urlOf(domain));
}

/** The entry as a URL. A scheme says nothing: the lists are of hosts. */
function urlOf(domain: string): URL | null {
  const bare = domain.trim().replace(/^([a-z][a-z\d+.-]*:)?[\\/]{2}/i, "").replace(/^\*\./, "");
  return /^[\\/]/.test(bare) ? null : URL.parse(`http://${bare}`);
}

function plain(domain: string): string {
  const { hostname, pathname } = urlOf(domain)!;
  return `${withoutEnd(hostname)}${pathname.replace(/\/+$/, "")}`;
}

function placeOf(url: URL | null): Place | undefined {
  const host = withoutEnd(url?.hostname ?? "");
  return url && host !== "" ? { host, port: url.port, path: normalPath(url.pathname) } : undefined;
}

/** The dot at the end of a name says that it is whole. */
function withoutEnd(hostname: string): string {
  return hostname.replace(/\.+$/, "");
}

/** The path without what says nothing: escapes, the size of letters, empty segments and ways back. */
function normalPath(pathname: string): string {
  const segments: string[] = [];
  for (const segment of decoded(pathname).normalize("NFC").toLowerCase().split(/[\\/]/)) {
    if (segment === "..") segments.pop();
    else if (segment !== "" && segment !== ".") segments.push(segment);
  }
  return segments.map((segment) => `/${segment}`).join("");
}

/** An escape that stands for no text stays as it is. */
function decoded(text: string): string {
  return text.replace(/(%[\da-f]{2})+/gi, (escapes) => {
    try {
      return decodeURIComponent(escapes);
    } catch {
      return escapes;
    }
  });
}
