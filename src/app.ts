/** Where the parts are put together. The outside world (`fetch`, clock, ids, environment, log) comes in here. */
import manifest from "../deno.json" with { type: "json" };
import { drivers, protocols } from "../plugins/mod.ts";
import { type Task, TASKS } from "./canonical/models.ts";
import { type ModelOperation, TASK_OF } from "./canonical/operations.ts";
import type { DriverFacts } from "./config/check.ts";
import { loadConfig } from "./config/load.ts";
import type { Config } from "./config/schema.ts";
import type { Driver } from "./contract/driver.ts";
import type { AnyProtocol } from "./contract/protocol.ts";
import { createRegistry } from "./contract/registry.ts";
import { GatewayError } from "./errors.ts";
import { type Gateway, handle, type Pace } from "./handle.ts";
import { createAuth } from "./http/auth.ts";
import { createLane } from "./lanes/lane.ts";
import { formatLogLine, type LogEntry } from "./observe/log.ts";
import type { Fetch, Upstream } from "./upstream/send.ts";

export interface AppOptions {
  config: Config;
  env(name: string): string | undefined;
  fetch?: Fetch;
  /** Milliseconds since the epoch. */
  now?(): number;
  newId?(): string;
  log?(entry: LogEntry): void;
  pace?: Pace;
  plugins?: { protocols: readonly AnyProtocol[]; drivers: readonly Driver[] };
}

export interface App {
  /** `info` tells who calls; without it the call comes from this process and is trusted. */
  fetch(request: Request, info?: { remoteAddr: Deno.Addr }): Promise<Response>;
  /** From now on `/readyz` says 503; everything is still served. */
  drain(): void;
  /** Ends what still runs. */
  abort(): void;
}

const BODY_TIMEOUT_MS = 60_000;
/** Proxies and clients give up on a silent connection after 15 s to 100 s. */
const PACE: Pace = { headAfterMs: 10_000, keepAliveMs: 10_000 };

export function createApp(options: AppOptions): App {
  const { config, env, plugins = { protocols, drivers } } = options;
  const now = options.now ?? Date.now;
  const created = Math.floor(now() / 1000);
  const stop = new AbortController();
  let ready = true;
  const gateway: Gateway = {
    name: "laneway",
    version: manifest.version,
    registry: createRegistry(plugins.protocols),
    lanes: new Map(
      Object.entries(config.lanes).map(([name, lane]) => [name, createLane(name, { ...lane, created })]),
    ),
    upstreams: createUpstreams(config, plugins.drivers, env),
    authenticate: createAuth(
      config.keys.map(({ name, secret, lanes }) => ({ name, lanes, secret: env(secret.env) ?? "" })),
    ),
    bodyLimits: { limitBytes: config.limits.bodyBytes, timeoutMs: BODY_TIMEOUT_MS },
    pace: options.pace ?? PACE,
    fetch: options.fetch ?? fetch,
    now,
    newId: options.newId ?? (() => crypto.randomUUID().replaceAll("-", "")),
    log: options.log ?? printLine,
    isReady: () => ready,
    signal: stop.signal,
  };
  return {
    fetch: (request, info) => handle(request, info?.remoteAddr, gateway),
    drain: () => void (ready = false),
    abort: () => stop.abort(new GatewayError("unavailable", "The gateway is shutting down")),
  };
}

function createUpstreams(
  config: Config,
  drivers: readonly Driver[],
  env: AppOptions["env"],
): Map<string, Upstream> {
  return new Map(
    Object.entries(config.upstreams).map(([name, { driver: driverName, secret, ...rest }]) => {
      const driver = drivers.find((candidate) => candidate.name === driverName);
      if (!driver) throw new Error(`Cannot find driver "${driverName}" of upstream "${name}"`);
      const value = secret && env(secret.env);
      const missingSecret = secret && !value ? secret.env : undefined;
      return [name, { name, driver, ...rest, secret: value, missingSecret }];
    }),
  );
}

/** What the configuration's checks need to know of each driver. */
export function driverFacts(): Record<string, DriverFacts> {
  return Object.fromEntries(drivers.map(({ name, operations }) => {
    const served = Object.keys(operations).map((operation) => TASK_OF[operation as ModelOperation]);
    const tasks = TASKS.filter((task: Task) => served.includes(task));
    return [name, { tasks, needsBaseUrl: Object.values(operations).some((way) => "request" in way) }];
  }));
}

function printLine(entry: LogEntry): void {
  // deno-lint-ignore no-console -- the log of requests
  console.log(formatLogLine(entry));
}

let started: App | undefined;

/** The app that the environment describes, made at the first need. */
function fromEnvironment(): App {
  if (started) return started;
  const env = (name: string) => Deno.env.get(name);
  const { config } = loadConfig({ drivers: driverFacts(), env });
  return started = createApp({ config, env });
}

// Under `deno serve` a bad configuration must be told at the start, not at the first request.
if (import.meta.main) fromEnvironment();

export default {
  fetch: (request: Request, info: Deno.ServeHandlerInfo): Promise<Response> => fromEnvironment().fetch(request, info),
};
