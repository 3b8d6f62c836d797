/** What checks callers' tokens, made when the first one comes. */
import type { TokenReader } from "../http/auth.ts";
import { IssuerKeys } from "../http/issuer_keys.ts";
import { createTokenReader } from "../http/oidc.ts";
import type { Transport } from "../platform/transport.ts";
import type { Config } from "../config/schema.ts";
import { readBytes } from "../upstream/send.ts";
import type { World } from "./world.ts";

/** The longest document of an issuer's that is read, in bytes. */
const LONGEST_DOCUMENT = 256 * 1024;

const HEADERS = { accept: "application/json", "user-agent": "laneway" };

type Oidc = NonNullable<Config["oidc"]>;

export function openTokenReader(oidc: Oidc, { config, transports, now, monotonic, stop }: World): TokenReader {
  const fetchJson = jsonFetcher(transports.get(config.transport));
  return createTokenReader({ oidc, fetchJson, now, monotonic, signal: stop.signal });
}

/** Why the issuer's keys cannot be read; nothing where they can. */
export function whyNoKeys({ issuer, jwksUrl }: Oidc, transport: Transport, signal: AbortSignal): Promise<unknown> {
  const options = { issuer, jwksUrl, fetchJson: jsonFetcher(transport), now: () => performance.now(), signal };
  return new IssuerKeys(options).open();
}

function jsonFetcher(transport: Transport): (url: string, signal: AbortSignal) => Promise<unknown> {
  return async (url, signal) => {
    const response = await transport.send({ url, method: "GET", headers: HEADERS, signal });
    if (response.ok) return JSON.parse(new TextDecoder().decode(await readBytes(response, LONGEST_DOCUMENT)));
    await response.body?.cancel();
    throw new Error(`${url} answered ${response.status}`);
  };
}
