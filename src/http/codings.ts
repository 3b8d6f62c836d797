/** The content-encodings of bodies, as headers name them and as their first bytes show them. */
import { GatewayError } from "../errors.ts";
import type { Coding } from "./decompress.ts";

const CODINGS: ReadonlySet<string> = new Set<Coding>(["gzip", "x-gzip", "br", "zstd", "deflate"]);
const MAX_CODINGS = 3;

/** The encodings of the body, in the order in which they were applied. */
export function parseCodings(header: string): Coding[] {
  const codings = header.toLowerCase().split(",").map((coding) => coding.trim())
    .filter((coding) => coding !== "" && coding !== "identity");
  const unknown = codings.find((coding) => !CODINGS.has(coding));
  if (unknown !== undefined) {
    throw new GatewayError(
      "unsupported_media_type",
      `Cannot read content-encoding "${unknown.slice(0, 32)}": send gzip, br, zstd, deflate or identity`,
    );
  }
  if (codings.length > MAX_CODINGS) {
    throw new GatewayError("unsupported_media_type", `Cannot decode more than ${MAX_CODINGS} content-encodings`);
  }
  return codings as Coding[];
}

/** The first bytes of what some coding made. JSON never starts with one of them. */
export const FIRST_BYTES: ReadonlySet<number> = new Set([0x1f, 0x28]);

/** Some proxies drop the header. JSON never starts with these bytes. */
export function sniffCodings([first, second, third, fourth]: Uint8Array): Coding[] {
  if (first === 0x1f && second === 0x8b) return ["gzip"];
  return first === 0x28 && second === 0xb5 && third === 0x2f && fourth === 0xfd ? ["zstd"] : [];
}
