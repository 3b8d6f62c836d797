import { BY_TOOL } from "../config/check_hosted.ts";
import type { Config } from "../config/schema.ts";
import { secretAt } from "../config/secrets.ts";
import { FETCHER_TOKEN, FETCHER_URL, INTERPRETER_TOKEN, INTERPRETER_URL } from "../config/permissions.ts";
import { maskerFor } from "../context/secrets.ts";
import { createInterpreter } from "../hosted/interpreter.ts";
import { createOpenPage } from "../hosted/fetch_page.ts";
import { type ConfiguredServer, createHostedRunner, type HostedRunner } from "../hosted/runner.ts";
import { permissionsBy } from "../hosted/mcp_permissions.ts";
import { RemoteServer } from "../hosted/mcp.ts";
import { findBy, type SearchOptions } from "../hosted/search.ts";
import { findByTool } from "../hosted/search_by_tool.ts";
import { mayReachHost } from "../platform/guarded_agent.ts";
import type { Callee } from "../upstream/send.ts";
import type { World } from "./world.ts";

/** Creates the runner of the configured hosted tools. */
export function createRunner(world: World): Omit<HostedRunner, "runs"> {
  const { config: { hostedTools, transport: by }, transports, clocks: { monotonic } } = world;
  const { webSearch, webFetch, codeExecution, mcp } = hostedTools;
  const configured = new Map(
    Object.entries(mcp.servers).map(([name, server]) => [name, serverOf(name, server, world)]),
  );
  const place = webSearch?.server === undefined ? undefined : configured.get(webSearch.server);
  const searchServer = place && new RemoteServer({ ...place, now: monotonic, maskerFor });
  return createHostedRunner({
    search: webSearch && searchOf(webSearch, searchServer, world),
    searchServer,
    openPage: webFetch && createOpenPage({
      service: fetcherOf(webFetch, world),
      timeoutMs: webFetch.timeoutMs,
      characters: webFetch.maxCharacters,
      now: monotonic,
    }),
    interpreter: codeExecution && createInterpreter({ ...codeExecution, service: interpreterOf(world) }),
    servers: configured,
    serverAt(url) {
      const place = URL.parse(url);
      if (!place || place.username + place.password !== "" || !mcp.allow.includes(place.origin)) return undefined;
      // An operator who lists an address knows the host. A name may resolve to any host by now, so it may reach public
      // addresses only.
      const isAddress = !mayReachHost(place.hostname, () => false);
      const transport = isAddress ? transports.get(by) : transports.outside();
      const service = { name: place.host, baseUrl: place.origin, headers: {}, resultsFrom: [], transport };
      return { service, path: pathOf(place) };
    },
    callMs: mcp.callMs,
    permissions: permissionsBy(mcp.servers),
    maskerFor,
    now: monotonic,
  });
}

/** The fetcher of the configuration, or the one that the launcher has started. `undefined` if there is neither. */
export function fetcherOf(
  { url, secret }: Pick<NonNullable<Config["hostedTools"]["webFetch"]>, "url" | "secret">,
  { env, transports, readText }: World,
): Callee | undefined {
  const baseUrl = url ?? env(FETCHER_URL);
  if (!baseUrl) return undefined;
  const token = url === undefined ? env(FETCHER_TOKEN) : secret && secretAt(secret, { env, readText });
  // The transport is `node`, which uses no proxy.
  return { name: "fetcher", baseUrl, secret: token, headers: {}, resultsFrom: [], transport: transports.get("node") };
}

/** The interpreter that the launcher has started. `undefined` if it has started none. */
function interpreterOf({ env, transports }: World): Callee | undefined {
  const baseUrl = env(INTERPRETER_URL);
  if (!baseUrl) return undefined;
  const service = { name: "interpreter", baseUrl, secret: env(INTERPRETER_TOKEN), headers: {}, resultsFrom: [] };
  return { ...service, transport: transports.get("node") };
}

function searchOf(
  { backend: name, baseUrl, secret, tool, timeoutMs }: NonNullable<Config["hostedTools"]["webSearch"]>,
  server: RemoteServer | undefined,
  { plugins: { searchBackends }, env, readText, transports, config }: World,
): SearchOptions {
  if (name === BY_TOOL && server && tool !== undefined) return { find: findByTool(server, tool), timeoutMs };
  const backend = searchBackends.find((one) => one.name === name);
  if (!backend) throw new Error(`Cannot find search backend "${name}"`);
  const value = backend.secret && secret && secretAt(secret, { env, readText });
  const access = { baseUrl, secret: value, secretPlace: backend.secret };
  const transport = transports.get(config.transport);
  const service = { name: `search ${name}`, ...access, headers: {}, resultsFrom: [], transport };
  return { find: findBy(backend, service), timeoutMs };
}

function serverOf(
  name: string,
  { url, secret, headers }: Config["hostedTools"]["mcp"]["servers"][string],
  { env, readText, transports, config }: World,
): ConfiguredServer {
  const place = new URL(url);
  const service = {
    name: `mcp ${name}`,
    baseUrl: place.origin,
    secret: secret && secretAt(secret, { env, readText }),
    headers,
    resultsFrom: [],
    transport: transports.get(config.transport),
  };
  return { service, path: pathOf(place) };
}

function pathOf({ pathname, search }: URL): string {
  return `${pathname.slice(1)}${search}`;
}
