import type { HostedWork } from "../canonical/hosted.ts";
import { FETCHER_URL, INTERPRETER_URL } from "../config/permissions.ts";
import type { Config } from "../config/schema.ts";
import { secretAt } from "../config/secrets.ts";
import type { ReadDocument } from "../hosted/read_document.ts";
import type { HostedRunner } from "../hosted/runner.ts";
import type { Platform } from "../platform/platform.ts";
import type { World } from "./world.ts";

/** Runs the configured hosted tools. Its modules are loaded with the first call. */
export function createHosted(world: World): HostedRunner {
  const { hostedTools } = world.config;
  const secrets = [hostedTools.webSearch, hostedTools.webFetch, ...Object.values(hostedTools.mcp.servers)]
    .map((service) => service?.secret?.file === undefined ? undefined : secretAt(service.secret, world));
  const earlier = world.earlier("hosted tools") as HostedRunner | undefined;
  const runner = world.keep("hosted tools", [hostedTools, secrets], (): HostedRunner => {
    let loading: Promise<Omit<HostedRunner, "runs">> | undefined;
    // A request that began before may load it only then.
    let isClosed = false;
    const load = () =>
      loading ??= import("./hosted_runner.ts").then(async ({ createRunner }) => {
        const runner = createRunner(world);
        if (isClosed) await runner.close();
        return runner;
      });
    return {
      runs: (work) => isConfigured(work, world),
      expiryOf: async (...args) => await (await load()).expiryOf(...args),
      permissions: async (...args) => await (await load()).permissions(...args),
      async run(call, work, facts) {
        const result = await (await load()).run(call, work, facts);
        const error = result.kind === "error" ? result.code : undefined;
        world.observe.meter?.count({ type: "hosted call", tool: call.kind, error });
        return result;
      },
      async close() {
        isClosed = true;
        await (await loading)?.close();
      },
    };
  });
  if (earlier !== runner) void earlier?.close();
  return runner;
}

function isConfigured(
  work: HostedWork,
  { config: { hostedTools: { webSearch, webFetch, codeExecution, mcp, imageGeneration } }, env }: World,
): boolean {
  switch (work.kind) {
    case "tool-search":
      return true;
    case "web-search":
      return webSearch !== undefined;
    case "web-fetch":
      return webFetch !== undefined && (webFetch.url ?? env(FETCHER_URL)) !== undefined;
    case "code":
      return codeExecution !== undefined && Boolean(env(INTERPRETER_URL));
    case "image":
      return imageGeneration !== undefined;
    case "mcp":
      return work.url === undefined ? Object.hasOwn(mcp.servers, work.server) : isAllowed(work.url, mcp.allow);
    default:
      return work satisfies never;
  }
}

function isAllowed(url: string, allowed: readonly string[]): boolean {
  const place = URL.parse(url);
  return place !== null && place.username + place.password === "" && allowed.includes(place.origin);
}

/** For operators, where documents are wanted and nothing reads them. */
export const NO_READER = {
  message: "PDFs and office documents get 400, and other files are text, because no fetcher runs beside the gateway",
  cure: 'Start it with the launcher from its sources, or name a fetcher in "hostedTools.webFetch"',
};

/** Whether documents are wanted and neither the configuration names a fetcher nor the launcher has started one. */
export function lacksReader({ documents, hostedTools: { webFetch } }: Config, env: Platform["env"]): boolean {
  return documents !== undefined && webFetch?.url === undefined && env(FETCHER_URL) === undefined;
}

/** For operators, where code is to run and nothing runs it. */
export const NO_INTERPRETER = {
  message: "Code execution is off, because no interpreter runs beside the gateway",
  cure: "Start it with the launcher from its sources",
};

/** Whether code is to run and the launcher has started no interpreter. The address is empty if the launcher has given the reason. */
export function lacksInterpreter({ hostedTools: { codeExecution } }: Config, env: Platform["env"]): boolean {
  return codeExecution !== undefined && !env(INTERPRETER_URL);
}

/** The lines of the start about what is wanted and does not run beside the gateway, unless the launcher has given the reason. */
export function linesOfLacking(config: Config, env: Platform["env"]): string[] {
  return [
    ...lacksReader(config, env) ? [`Documents: ${NO_READER.message}. ${NO_READER.cure}`] : [],
    ...lacksInterpreter(config, env) && env(INTERPRETER_URL) === undefined
      ? [`${NO_INTERPRETER.message}. ${NO_INTERPRETER.cure}`]
      : [],
  ];
}

/** Reads documents. Its modules are loaded with the first one. */
export function createDocuments(world: World): (() => Promise<ReadDocument>) | undefined {
  const { config: { documents, hostedTools: { webFetch } }, keep } = world;
  return documents && keep("documents", [documents, webFetch], () => {
    let loading: Promise<ReadDocument> | undefined;
    const load = async () => (await import("./documents.ts")).openDocuments(documents, world);
    return () => loading ??= load();
  });
}
