/** Which addresses a request lets hosted tools look at. An address and an entry of a list are compared in one normal form. */
import type { Domains } from "../canonical/hosted.ts";
import { embedded } from "../platform/public_address.ts";

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
    const url = /^https?:/i.test(address) ? URL.parse(address) : null;
    const place = url ? placeOf(url, url.port || (url.protocol === "https:" ? "443" : "80")) : undefined;
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
interface UrlScope {
  host: string;
  /** Empty for all ports. */
  port: string;
  /** Its segments are decoded and in small letters. Empty for the whole host. */
  path: string;
}

/**
 * `example.com` covers the hosts below it, as `*.example.com` does, and `example.com/docs` the paths below that; one `*` may stand
 * for any text in the path.
 */
function covers(entry: UrlScope | undefined, { host, port, path }: UrlScope): boolean {
  if (!entry || host !== entry.host && !host.endsWith(`.${entry.host}`)) return false;
  if (entry.port !== "" && port !== entry.port) return false;
  const [before = "", after] = entry.path.split("*", 2);
  if (after === undefined) return path === before || path.startsWith(`${before}/`);
  const end = after === "" ? "" : `${after}/`;
  return `${path}/`.startsWith(before) && `${path}/`.slice(before.length).includes(end);
}

function entryOf(domain: string): UrlScope | undefined {
  const url = urlOf(domain, "http");
  // The usual port of a scheme is no part of its URLs.
  return url && !url.hostname.includes("*") && url.pathname.split("*").length <= 2
    ? placeOf(url, url.port || urlOf(domain, "https")!.port)
    : undefined;
}

/** The entry as a URL. Its own scheme says nothing: the lists are of hosts. */
function urlOf(domain: string, scheme: string): URL | null {
  const bare = domain.trim().replace(/^([a-z][a-z\d+.-]*:)?[\\/]{2}/i, "").replace(/^\*?\./, "");
  return /^[\\/]/.test(bare) ? null : URL.parse(`${scheme}://${bare}`);
}

function plain(domain: string): string {
  const { hostname, pathname } = urlOf(domain, "http")!;
  return `${withoutEnd(hostname)}${pathname.replace(/\/+$/, "")}`;
}

function placeOf({ hostname, pathname }: URL, port: string): UrlScope | undefined {
  const host = hostname.startsWith("[") ? embedded(hostname.slice(1, -1)) ?? hostname : withoutEnd(hostname);
  return host === "" ? undefined : { host, port, path: normalPath(pathname) };
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

/** An escape that stands for no text stays as it is, and leaves its neighbours their meaning. */
function decoded(text: string): string {
  return text.replace(/%[0-7][\da-f]|(%[89a-f][\da-f])+/gi, (escapes) => {
    try {
      return decodeURIComponent(escapes);
    } catch {
      return escapes;
    }
  });
}
