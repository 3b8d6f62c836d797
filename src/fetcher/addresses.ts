/** Which URLs are fetched, as far as a URL itself says; its host's addresses are judged by whoever connects to them. */
import { isPublicAddress } from "../platform/public_address.ts";
import { mayReachHost } from "../platform/guarded_agent.ts";
import { Refusal } from "./refusal.ts";

/** A place that may be asked for its page. */
export interface Address {
  url: URL;
  /** Whether the configuration names it, so that it may be inside. */
  isListed: boolean;
}

const MOST_CHARACTERS = 2_000;

/** `allow`: origins of hosts inside; `*.` stands for all names below one. Throws a `Refusal`. */
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
  // The usual port of the other protocol is odd, too.
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
