/** The readers of callers' tokens and the operators' login, loaded at the first need. */
import type { TokenReader } from "../http/auth.ts";
import { IssuerKeys } from "../http/issuer_keys.ts";
import type { OidcClient, OidcLogin, ProviderFetch } from "../http/oidc_login.ts";
import { createTokenReader } from "../http/oidc.ts";
import type { Transport } from "../platform/transport.ts";
import { secretAt } from "../config/secrets.ts";
import type { Config } from "../config/schema.ts";
import { readBytes } from "../upstream/send.ts";
import type { World } from "./world.ts";

/** The longest document of an issuer that is read, in bytes. */
const LONGEST_DOCUMENT = 256 * 1024;

const HEADERS = { accept: "application/json", "user-agent": "laneway" };

type Oidc = NonNullable<Config["oidc"]>;

export function openTokenReader(
  oidc: Oidc,
  { config, transports, clocks: { now, monotonic }, process: { stop } }: World,
): TokenReader {
  const fetchJson = jsonFetcher(transports.get(config.transport));
  return createTokenReader({ oidc, fetchJson, now, monotonic, signal: stop.signal });
}

/** The login of operators. Its library is loaded with it. */
export async function openLogin(
  oidc: Oidc,
  client: OidcClient,
  world: World,
): Promise<OidcLogin> {
  const { config, transports, clocks: { now, monotonic }, process: { stop } } = world;
  const { OidcLogin } = await import("../http/oidc_login.ts");
  const transport = transports.get(config.transport);
  const secret = client.secret && (secretAt(client.secret, world) ?? "");
  const [fetch, fetchJson] = [providerFetch(transport), jsonFetcher(transport)];
  return new OidcLogin({ oidc, client, secret, fetch, fetchJson, now, monotonic, signal: stop.signal });
}

/** Resolves to the reason why the issuer's keys cannot be read, or to `undefined` if they can. */
export function whyNoKeys({ issuer, jwksUrl }: Oidc, transport: Transport, signal: AbortSignal): Promise<unknown> {
  const options = { issuer, jwksUrl, fetchJson: jsonFetcher(transport), now: () => performance.now(), signal };
  return new IssuerKeys(options).open();
}

function jsonFetcher(transport: Transport): (url: string, signal: AbortSignal) => Promise<unknown> {
  const fetch = providerFetch(transport);
  return async (url, signal) => {
    const response = await fetch(url, { method: "GET", headers: {}, redirect: "manual", body: undefined, signal });
    return await response.json();
  };
}

function providerFetch(transport: Transport): ProviderFetch {
  return async (url, { method, headers: { "content-type": type, ...headers }, body, signal }) => {
    const response = await transport.send({
      url,
      method: method === "POST" ? "POST" : "GET",
      headers: { ...headers, ...HEADERS },
      body: body instanceof URLSearchParams ? new Blob([body.toString()], { type }) : undefined,
      signal: signal!,
    });
    const { ok, status, headers: given } = response;
    if (ok) return new Response(await readBytes(response, LONGEST_DOCUMENT), { headers: given });
    await response.body?.cancel();
    throw new Error(`${url} answered ${status}`);
  };
}
