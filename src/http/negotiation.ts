/** The media type and the content-coding that a client prefers, by its headers. */
import { accepts, acceptsEncodings } from "../std/http/negotiation.ts";

/** How much of such a header is read. Browsers send 150 characters. To read 32,000 of them takes up to a second. */
const MOST_READ = 1_024;

/** The beginning of a header. */
export function beginningOf(headers: Headers, name: string): string | null {
  return headers.get(name)?.slice(0, MOST_READ) ?? null;
}

/** The media type that the client prefers, or the first one if it accepts any type. `undefined` if it accepts none of them. */
export function preferredType<T extends string>(headers: Headers, ...types: T[]): T | undefined {
  return accepts(onlyWith("accept", headers), ...types);
}

/**
 * The content-coding that the client prefers, or `undefined` for none.
 * A client that sends no `accept-encoding` may know no coding at all.
 */
export function preferredCoding<T extends string>(headers: Headers, ...codings: T[]): T | undefined {
  if (!headers.get("accept-encoding")) return undefined;
  const coding = acceptsEncodings<T | "identity">(onlyWith("accept-encoding", headers), ...codings, "identity");
  return coding === "identity" ? undefined : coding;
}

function onlyWith(name: string, headers: Headers): { headers: Headers } {
  // The package knows the parameter `q` in lower case only.
  return { headers: new Headers({ [name]: beginningOf(headers, name)?.toLowerCase() ?? "" }) };
}
