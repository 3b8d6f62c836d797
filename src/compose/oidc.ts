/** The readers of callers' tokens and the operators' login, loaded at the first need. */
import type { TokenReader } from "../http/auth.ts";
import { IssuerKeys } from "../http/issuer_keys.ts";
import { type OidcClient, OidcLogin } from "../http/oidc_login.ts";
import { createTokenReader } from "../http/oidc.ts";
import type { Transport } from "../platform/transport.ts";
import type { Config } from "../config/schema.ts";
import { readBytes } from "../upstream/send.ts";
import type { World } from "./world.ts";

/** The longest document of an issuer that is read, in bytes. */
const LONGEST_DOCUMENT = 256 * 1024;

const HEADERS = { accept: "application/json", "user-agent": "laneway" };

type Oidc = NonNullable<Config["oidc"]>;

export function openTokenReader(oidc: Oidc, { config, transports, now, monotonic, stop }: World): TokenReader {
  const fetchJson = jsonFetcher(transports.get(config.transport));
  return createTokenReader({ oidc, fetchJson, now, monotonic, signal: stop.signal });
}

/** The login of operators. It is loaded with the console. */
export function openLogin(
  oidc: Oidc,
  client: OidcClient,
  { config, transports, env, now, monotonic, stop }: World,
): OidcLogin {
  const transport = transports.get(config.transport);
  const secret = client.secret && env(client.secret.env);
  const fetchJson = jsonFetcher(transport);
  return new OidcLogin({
    oidc,
    client,
    secret,
    fetchJson,
    postForm: formPoster(transport),
    now,
    monotonic,
    signal: stop.signal,
  });
}

/** Resolves to the reason why the issuer's keys cannot be read, or to `undefined` if they can. */
export function whyNoKeys({ issuer, jwksUrl }: Oidc, transport: Transport, signal: AbortSignal): Promise<unknown> {
  const options = { issuer, jwksUrl, fetchJson: jsonFetcher(transport), now: () => performance.now(), signal };
  return new IssuerKeys(options).open();
}

function formPoster(transport: Transport) {
  return async (
    url: string,
    form: URLSearchParams,
    more: Record<string, string>,
    signal: AbortSignal,
  ): Promise<unknown> => {
    const headers = { ...HEADERS, ...more };
    const body = new Blob([form.toString()], { type: "application/x-www-form-urlencoded" });
    const response = await transport.send({ url, method: "POST", headers, body, signal });
    if (response.ok) return JSON.parse(new TextDecoder().decode(await readBytes(response, LONGEST_DOCUMENT)));
    await response.body?.cancel();
    throw new Error(`${url} answered ${response.status}`);
  };
}

function jsonFetcher(transport: Transport): (url: string, signal: AbortSignal) => Promise<unknown> {
  return async (url, signal) => {
    const response = await transport.send({ url, method: "GET", headers: HEADERS, signal });
    if (response.ok) return JSON.parse(new TextDecoder().decode(await readBytes(response, LONGEST_DOCUMENT)));
    await response.body?.cancel();
    throw new Error(`${url} answered ${response.status}`);
  };
}
