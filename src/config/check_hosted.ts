/** The second pass over what the configuration says of hosted tools. */
import { asObject, isJsonObject } from "../canonical/json.ts";
import { isPattern } from "../canonical/models.ts";
import { hint } from "./hint.ts";
import { takesTokens } from "./secrets.ts";

export interface HostedSurroundings {
  /** By name: whether the service takes a secret. */
  searchBackends?: Readonly<Record<string, { needsSecret: boolean }>>;
  env(name: string): string | undefined;
}

/** A search by a tool of a configured server. */
export const BY_TOOL = "mcp";

export function* hostedProblems(
  config: Readonly<Record<string, unknown>>,
  { searchBackends = {}, env }: HostedSurroundings,
): Generator<{ path: string; message: string }, void> {
  const { webSearch, webFetch, mcp } = asObject(config.hostedTools);
  yield* fetchProblems(asObject(webFetch), env);
  const servers = asObject(asObject(mcp).servers);
  yield* ruleProblems(servers, config);
  if (!isJsonObject(webSearch)) return;
  const path = "hostedTools.webSearch";
  const { backend, baseUrl, secret, server, tool } = webSearch;
  if (typeof backend !== "string") return;
  if (backend === BY_TOOL) {
    if (typeof server !== "string") yield { path: `${path}.server`, message: 'Missing: backend "mcp" needs a server' };
    else if (!Object.hasOwn(servers, server)) {
      yield { path: `${path}.server`, message: `Cannot find server "${server}"${hint(server, Object.keys(servers))}` };
    }
    if (typeof tool !== "string") yield { path: `${path}.tool`, message: 'Missing: backend "mcp" needs a tool' };
    return;
  }
  if (!Object.hasOwn(searchBackends, backend)) {
    const known = [...Object.keys(searchBackends), BY_TOOL];
    yield { path: `${path}.backend`, message: `Cannot find search backend "${backend}"${hint(backend, known)}` };
    return;
  }
  if (baseUrl === undefined) {
    yield { path: `${path}.baseUrl`, message: `Missing: backend "${backend}" needs a base URL` };
  }
  const variable = asObject(secret).env;
  if (searchBackends[backend]!.needsSecret && secret === undefined) {
    yield { path: `${path}.secret`, message: `Missing: backend "${backend}" needs a secret` };
  } else if (typeof variable === "string" && /^[A-Za-z_]\w*$/.test(variable) && !env(variable)) {
    yield {
      path: `${path}.secret.env`,
      message: `Environment variable "${variable}" is not set: export ${variable}=...`,
    };
  }
}

/** Keys that rules for tools name and nobody can have. Names of stored keys and of callers with tokens are not known here. */
function* ruleProblems(servers: Record<string, unknown>, config: Readonly<Record<string, unknown>>) {
  const { keys, storedKeys, oidc } = config;
  if (!Array.isArray(keys) || keys.length === 0 || storedKeys || oidc || takesTokens(config)) return;
  const names = keys.map((key) => asObject(key).name).filter((name) => typeof name === "string");
  for (const [server, { tools }] of Object.entries(servers).map(([name, value]) => [name, asObject(value)] as const)) {
    for (const [tool, rule] of Object.entries(asObject(tools))) {
      const { keys: named } = asObject(rule);
      for (const [index, name] of Array.isArray(named) ? named.entries() : []) {
        if (typeof name !== "string" || isPattern(name) || names.includes(name)) continue;
        const path = `hostedTools.mcp.servers.${server}.tools.${tool}.keys[${index}]`;
        yield { path, message: `Cannot find key "${name}"${hint(name, names)}` };
      }
    }
  }
}

const LEAST_TOKEN = 16;

/** A fetcher for whoever knows its address would be a way into the network that it is in. */
function* fetchProblems({ url, secret }: Record<string, unknown>, env: HostedSurroundings["env"]) {
  const path = "hostedTools.webFetch.secret";
  if (url === undefined) {
    if (secret !== undefined) yield { path, message: "Only a fetcher with a url has a secret in the configuration" };
    return;
  }
  if (secret === undefined) {
    yield { path, message: "Missing: a fetcher with a url needs a secret" };
    return;
  }
  const variable = asObject(secret).env;
  if (typeof variable !== "string" || !/^[A-Za-z_]\w*$/.test(variable)) return;
  const { length } = env(variable) ?? "";
  if (length === 0) {
    yield {
      path: `${path}.env`,
      message: `Environment variable "${variable}" is not set: export ${variable}=...`,
    };
  } else if (length < LEAST_TOKEN) {
    yield {
      path: `${path}.env`,
      message: `Environment variable "${variable}" needs at least ${LEAST_TOKEN} characters`,
    };
  }
}
