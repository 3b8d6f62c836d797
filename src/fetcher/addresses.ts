/** Decides from a URL whether it may be fetched. The host's IP addresses are checked when the connection is made. */
import { isPublicAddress } from "../platform/public_address.ts";
import { mayReachHost } from "../platform/guarded_agent.ts";
import { Refusal } from "./refusal.ts";

/** A URL that may be fetched. */
export interface Address {
  url: URL;
  /** Whether the configuration lists it, so that it may be on the internal network. */
  isListed: boolean;
}

const MOST_CHARACTERS = 2_000;

/** `allow`: origins of internal hosts. `*.` stands for all names below a domain. Throws a `Refusal`. */
export function addressOf(text: string, allow: readonly string[], base?: URL): Address {
  if (text.length > MOST_CHARACTERS) throw new Refusal("too_long", "The URL is too long");
  const url = URL.parse(text, base);
  if (!url) throw new Refusal("invalid_input", "This is no URL");
  if (url.protocol !== "http:" && url.protocol !== "https:") {
    throw new Refusal("invalid_input", `There are no pages at ${url.protocol}`);
  }
  if (url.username + url.password !== "") throw new Refusal("not_allowed", "The URL holds a name or a password");
  url.hash = "";
  if (isListed(url, allow)) return { url, isListed: true };
  // This refuses the other protocol's default port, too: it is just as suspicious.
  if (url.port !== "") throw new Refusal("not_allowed", `Port ${url.port} is not allowed`);
  if (!mayReachHost(url.hostname, isPublicAddress)) throw new Refusal("not_allowed", "The address is not public");
  return { url, isListed: false };
}

function isListed({ protocol, host }: URL, allow: readonly string[]): boolean {
  return allow.some((pattern) => {
    const listed = URL.parse(pattern);
    if (listed?.protocol !== protocol) return false;
    return listed.host.startsWith("*.") ? host.endsWith(listed.host.slice(1)) : host === listed.host;
  });
}
