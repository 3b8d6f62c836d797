/** The second pass over the configuration of hosted tools. */
import { asObject, isJsonObject } from "../canonical/json.ts";
import { isPattern } from "../canonical/models.ts";
import { hint } from "./hint.ts";
import { missingProblems, namedSecret, type SecretLookup, takesTokens } from "./secrets.ts";

export interface HostedSurroundings extends SecretLookup {
  /** The search services by name, with whether each needs a secret. */
  searchBackends?: Readonly<Record<string, { needsSecret: boolean }>>;
}

/** The name of the search backend that uses a tool of a configured server. */
export const BY_TOOL = "mcp";

export function* hostedProblems(
  config: Readonly<Record<string, unknown>>,
  { searchBackends = {}, ...lookup }: HostedSurroundings,
): Generator<{ path: string; message: string }, void> {
  const { webSearch, webFetch, mcp } = asObject(config.hostedTools);
  yield* fetchProblems(asObject(webFetch), lookup);
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
  if (searchBackends[backend]!.needsSecret && secret === undefined) {
    yield { path: `${path}.secret`, message: `Missing: backend "${backend}" needs a secret` };
  } else yield* missingProblems(`${path}.secret`, secret, lookup);
}

/** Names of keys in rules for tools that match no key. Names of stored keys and of callers with tokens are not known here. */
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

/** A fetcher without a secret would let anybody who can reach it into its network. */
function* fetchProblems({ url, secret }: Record<string, unknown>, lookup: SecretLookup) {
  const path = "hostedTools.webFetch.secret";
  if (url === undefined) {
    if (secret !== undefined) yield { path, message: "Only a fetcher with a url has a secret in the configuration" };
    return;
  }
  if (secret === undefined) {
    yield { path, message: "Missing: a fetcher with a url needs a secret" };
    return;
  }
  yield* missingProblems(path, secret, lookup);
  const { at, subject, value } = namedSecret(secret, lookup) ?? {};
  if (value !== undefined && value.length < LEAST_TOKEN) {
    yield { path: `${path}${at}`, message: `${subject} needs at least ${LEAST_TOKEN} characters` };
  }
}
