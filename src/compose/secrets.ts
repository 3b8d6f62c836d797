import { FETCHER_TOKEN, INTERPRETER_TOKEN } from "../config/permissions.ts";
import type { Config } from "../config/schema.ts";
import { secretAt, type SecretReference, type SecretSource } from "../config/secrets.ts";
import { SHORTEST_MASKED } from "../context/secrets.ts";
import { isSecretHeader, isSecretParameter, secretsInUrl, splitBaseUrl } from "../util/urls_and_headers.ts";

interface Secret {
  /** The variable or the file that holds it, or the path of the setting in the configuration. */
  name: string;
  value: string;
}

/**
 * All secrets: those that the configuration names, headers and URL parameters whose names say that they are secret, and
 * those in the addresses of MCP servers.
 */
export function secretsOf(
  {
    upstreams,
    catalogs,
    keys,
    sealing,
    store,
    oidc,
    documents,
    hostedTools: { webSearch, webFetch, codeExecution, mcp },
  }: Config,
  source: SecretSource,
): Secret[] {
  const beside = webFetch ? webFetch.url === undefined : documents !== undefined;
  const fetcher = beside ? { secret: { env: FETCHER_TOKEN } } : webFetch;
  const hosted = [...webSearch ? [webSearch] : [], ...fetcher ? [fetcher] : [], ...Object.values(mcp.servers)];
  const code = codeExecution ? [{ secret: { env: INTERPRETER_TOKEN } }] : [];
  const services = [...Object.values(upstreams), ...Object.values(catalogs), ...keys, ...hosted, ...code];
  const named = [
    ...services.map(({ secret }) => secret),
    sealing.key,
    store.url,
    store.sentinel?.password,
    oidc?.console?.secret,
  ]
    .flatMap((secret: SecretReference | "client" | undefined) =>
      secret && secret !== "client"
        ? [{ name: secret.file ?? secret.env ?? "", value: secretAt(secret, source) ?? "" }]
        : []
    );
  const given = [
    ...headersOf("upstreams", upstreams),
    ...headersOf("hostedTools.mcp.servers", mcp.servers),
    ...parametersOf("upstreams", upstreams),
    ...parametersOf("catalogs", catalogs),
  ];
  const inAddresses = Object.entries(mcp.servers).flatMap(([server, { url }]) =>
    secretsInUrl(url).map((value) => ({ name: `hostedTools.mcp.servers.${server}.url`, value }))
  );
  return [...named, ...given, ...inAddresses].filter(({ value }) => value !== "");
}

function headersOf(path: string, services: Record<string, { headers: Record<string, string> }>): Secret[] {
  return Object.entries(services).flatMap(([service, { headers }]) =>
    Object.entries(headers).filter(([header]) => isSecretHeader(header)).flatMap(([header, words]) =>
      words.split(/\s+/).map((value) => ({ name: `${path}.${service}.headers.${header}`, value }))
    )
  );
}

function parametersOf(path: string, services: Record<string, { baseUrl?: string }>): Secret[] {
  return Object.entries(services).flatMap(([service, { baseUrl = "" }]) =>
    [...new URLSearchParams(splitBaseUrl(baseUrl).query)].filter(([name]) => isSecretParameter(name))
      .map(([name, value]) => ({ name: `${path}.${service}.baseUrl?${name}`, value }))
  );
}

/** The names of secrets that are not masked in the answers of upstreams, because they are as short as plain words. */
export function unmaskedSecrets(config: Config, source: SecretSource): string[] {
  // Only the last word of a header counts, because the words before it name its scheme.
  const last = new Map(secretsOf(config, source).map(({ name, value }) => [name, value]));
  return [...last].filter(([, value]) => value.length < SHORTEST_MASKED).map(([name]) => name);
}
