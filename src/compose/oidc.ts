/** What checks callers' tokens, made when the first one comes. */
import type { TokenReader } from "../http/auth.ts";
import { createTokenReader } from "../http/oidc.ts";
import type { Config } from "../config/schema.ts";
import { readBytes } from "../upstream/send.ts";
import type { World } from "./world.ts";

/** The longest document of an issuer's that is read, in bytes. */
const LONGEST_DOCUMENT = 256 * 1024;

const HEADERS = { accept: "application/json", "user-agent": "laneway" };

export function openTokenReader(
  oidc: NonNullable<Config["oidc"]>,
  { config, transports, now, monotonic, stop }: World,
): TokenReader {
  const transport = transports.get(config.transport);
  const fetchJson = async (url: string, signal: AbortSignal): Promise<unknown> => {
    const response = await transport.send({ url, method: "GET", headers: HEADERS, signal });
    if (response.ok) return JSON.parse(new TextDecoder().decode(await readBytes(response, LONGEST_DOCUMENT)));
    await response.body?.cancel();
    throw new Error(`${url} answered ${response.status}`);
  };
  return createTokenReader({ oidc, fetchJson, now, monotonic, signal: stop.signal });
}
