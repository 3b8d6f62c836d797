/** The second pass over what the configuration says of hosted tools. */
import { isJsonObject } from "../canonical/json.ts";
import { hint } from "./hint.ts";

export interface HostedSurroundings {
  /** By name: whether the service takes a secret. */
  searchBackends?: Readonly<Record<string, { needsSecret: boolean }>>;
  env(name: string): string | undefined;
}

/** A search by a tool of a configured server. */
export const BY_TOOL = "mcp";

export function* hostedProblems(
  hosted: unknown,
  { searchBackends = {}, env }: HostedSurroundings,
): Generator<{ path: string; message: string }, void> {
  const { webSearch, mcp } = fields(hosted);
  const servers = fields(fields(mcp).servers);
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
  const variable = fields(secret).env;
  if (searchBackends[backend]!.needsSecret && secret === undefined) {
    yield { path: `${path}.secret`, message: `Missing: backend "${backend}" needs a secret` };
  } else if (typeof variable === "string" && /^[A-Za-z_]\w*$/.test(variable) && !env(variable)) {
    yield {
      path: `${path}.secret.env`,
      message: `Environment variable "${variable}" is not set: export ${variable}=...`,
    };
  }
}

function fields(value: unknown): Record<string, unknown> {
  return isJsonObject(value) ? value : {};
}
