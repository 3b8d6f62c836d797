/**
 * A gateway as a function from a request to its answer. Everything external (`fetch`, clock, ids, environment, log) is
 * injected here.
 *
 * ```ts
 * import { createApp, parseConfig } from "@laneway/gateway";
 *
 * const app = createApp({ config: parseConfig({ upstreams: { … }, lanes: { … } }) });
 * const response = await app.fetch(new Request("http://gateway/oss/v1/models"));
 * ```
 *
 * As a program of its own (`deno serve src/app.ts`, Deno Deploy) it uses the configuration that its environment names.
 */
import {
  catalogs,
  drivers,
  fidelityTables,
  hub,
  protocols,
  providers,
  searchBackends,
  stages,
} from "../plugins/mod.ts";
import { createGateway, PACE } from "./compose/gateway.ts";
import { announced, optionsFor, stopInTime } from "./compose/on_deploy.ts";
import { createPartKeeper, type Parts } from "./compose/kept_parts.ts";
import { createShared, isStoreShared } from "./compose/shared.ts";
import { keepStore } from "./compose/store.ts";
import { pluginFacts as factsOf, type Plugins } from "./compose/plugins.ts";
import { dryRunsFor } from "./compose/dry_run.ts";
import { createTransports } from "./compose/transports.ts";
import { createUsageKeeper } from "./compose/usage.ts";
import { createObservers, meterFor } from "./compose/observers.ts";
import type { World } from "./compose/world.ts";
import { ConfigError, loadConfig, parseConfig as parse } from "./config/load.ts";
import type { Config } from "./config/schema.ts";
import { handle } from "./handle.ts";
import type { Gateway, Pace } from "./context/gateway.ts";
import { shuttingDown } from "./context/request_context.ts";
import type { OtherWorker, WorkerReport, Workers } from "./context/workers.ts";
import type { LogEntry, StoreWarning, Warning } from "./observe/log.ts";
import type { Audit } from "./observe/audit.ts";
import { standardStreams } from "./observe/standard.ts";
import { deno } from "./platform/deno.ts";
import type { Fetch } from "./platform/fetch_transport.ts";
import type { Peer, Platform } from "./platform/platform.ts";
import { isOnDeploy } from "./state/kv_file.ts";
import { randomId } from "./util/digest.ts";
import { createLedger, type Ledger } from "./state/ledger.ts";
import type { Store } from "./state/store.ts";

export { ConfigError };
export type { Catalog } from "./contract/catalog.ts";
export type { Driver } from "./contract/driver.ts";
export type { Protocol } from "./contract/protocol.ts";
export type { StagePlugin } from "./contract/stage.ts";
export type {
  Config,
  Fetch,
  LogEntry,
  OtherWorker,
  Pace,
  Peer,
  Platform,
  Plugins,
  Store,
  Warning,
  WorkerReport,
  Workers,
};

export interface AppOptions {
  /** A checked configuration, from `parseConfig` or `readConfig`. */
  config: Config;
  /** Looks up environment variables for the secrets that the configuration names. Defaults to the process environment. */
  env?(name: string): string | undefined;
  /** Reads the text of a file that holds a secret. By default, as the platform does. */
  readSecret?(path: string): string;
  /** Makes the calls to upstreams, instead of the configured transports. */
  fetch?: Fetch;
  /** Milliseconds since the epoch. */
  now?(): number;
  /** Milliseconds by a monotonic clock with any starting point. */
  monotonic?(): number;
  newId?(): string;
  /** Receives the log entry of each finished request. By default entries are printed on stdout, one line of JSON each. */
  log?(entry: LogEntry): void;
  /** Receives warnings for operators. By default they are printed on stdout as lines of JSON. */
  warn?(warning: Warning | StoreWarning): void;
  pace?: Partial<Pace>;
  /** Whether file descriptors are running out. If so, no new requests are admitted. */
  areDescriptorsScarce?(): boolean;
  /** Replaces the configured store. */
  store?: Store;
  /** The processes that serve beside this one, if any. */
  workers?: Workers;
  /** The configuration file, for operators who change it in the console. */
  configuration?: World["configuration"];
  /** The launcher, which runs commands for the console's guide. */
  setup?: World["setup"];
  /** The app that this one replaces. Its counts and its state are carried over. */
  after?: Pick<App, "parts">;
  /** Lists that replace the built-in ones: `{ drivers: [...builtIn.drivers, mine] }` adds a driver. */
  plugins?: Partial<Plugins>;
  /** The runtime. Defaults to Deno. */
  platform?: Platform;
}

export interface App {
  /** Answers a request. `info` is given by a server, whose chunks may share memory. Without it the caller is this process: trusted. */
  fetch(request: Request, info?: { remoteAddr: Peer }): Promise<Response>;
  /** The metrics page for monitoring, without authentication. */
  metrics(): Promise<Response>;
  /** Reports that a new server has replaced the one that received the running requests. */
  renewed(): void;
  /** Makes `/readyz` return 503 from now on. Requests are still served. */
  drain(): void;
  /** Resolves once no background answer is being made and no WebSocket is open. */
  settled(): Promise<void>;
  /** Ends everything that still runs. */
  abort(): void;
  /** How many requests run a model. */
  running(): number;
  /** Writes the last usage to the store, and releases it and other resources. Call it once all requests have ended. */
  close(): Promise<void>;
  /** This process's report for the processes beside it. */
  report(workers: Workers): Promise<WorkerReport>;
  /** Records which keys were issued or refused, and what was changed. Absent if the configuration has no audit log. */
  readonly audit?: Audit;
  /** The parts that survive a change of the configuration. */
  readonly parts: Parts;
}

/** The default plugins of a gateway. */
export const builtIn: Plugins = { protocols, drivers, providers, hub, catalogs, searchBackends, stages };

/** A gateway for this configuration. It makes no calls before the first request. */
export function createApp(options: AppOptions): App {
  const world = createWorld(options);
  const { keep, store, pace: { storeMs, gatherMs } } = world;
  const ledger = keep("ledger", null, () => createLedger({ store, patienceMs: storeMs, gatherMs }));
  const gateway = createGateway(world, ledger);
  world.forgetEarlier();
  const { meter } = world.observe;
  if (meter) meter.gauges = async () => (await import("./pages/worker_report.ts")).gaugesOf(gateway);
  // Open sockets keep the configuration before this one.
  if (options.after) gateway.sockets.loaded?.retire();
  return appOf(gateway, world, ledger);
}

function createWorld(options: AppOptions): World {
  const { config, platform = deno, env = platform.env, now = Date.now, workers, configuration, setup } = options;
  const keeper = createPartKeeper(options.after?.parts);
  const { keep } = keeper;
  const monotonic = options.monotonic ?? (() => performance.now());
  const log = options.log ?? standardStreams(platform).log;
  const plugins = { ...builtIn, ...options.plugins };
  const meter = meterFor(config, platform, plugins, keep);
  const warn = options.warn ?? standardStreams(platform).warn;
  const kept = keepStore(options.store, { config, platform, env, now, keeper: workers?.keeper, keep, meter, warn });
  const isShared = !options.store && isStoreShared(config, workers);
  const shared = isShared
    ? keep("shared", null, () => createShared({ config, platform, env, monotonic, workers, meter }))
    : undefined;
  const clocks = { now, monotonic };
  const pace = { ...PACE, ...options.pace };
  const usage = createUsageKeeper({ config, plugins, keep, now, pace }, kept.store);
  return {
    ...keeper,
    config,
    plugins,
    platform,
    env,
    readText: options.readSecret ?? platform.readText,
    transports: createTransports(options.fetch, platform, keep),
    clocks,
    newId: options.newId ?? randomId,
    observe: createObservers({ config, plugins, platform, keep, clocks, log, warn, meter, usage }),
    dryRuns: config.console === false ? undefined : dryRunsFor(options, fidelityTables, createApp),
    pace,
    ...kept,
    process: {
      shared,
      workers,
      areDescriptorsScarce: options.areDescriptorsScarce,
      // Aborts whatever still runs under an earlier configuration as well.
      stop: keep("stop", null, () => new AbortController()),
      draining: keep("draining", null, () => new AbortController()),
      renewals: keep("renewals", null, () => ({ count: 0 })),
    },
    configuration,
    setup,
  };
}

function appOf(
  gateway: Gateway,
  { process: { stop, draining, renewals, shared }, store, observe: { usage }, transports, parts }: World,
  ledger: Ledger,
): App {
  return {
    fetch: (request, info) => handle(request, info?.remoteAddr, gateway),
    metrics: async () => (await import("./pages/metrics_page.ts")).metricsPage({ gateway }),
    renewed: () => void renewals.count++,
    drain: () => draining.abort(),
    settled: async () => void await Promise.all([gateway.state.runs.settled(), gateway.sockets.loaded?.settled()]),
    abort: () => stop.abort(shuttingDown()),
    running: () => gateway.guards.loadShedder.running(),
    async close() {
      gateway.observe.meter?.close();
      gateway.counting.tokenizers.close();
      await Promise.all([
        gateway.observe.audit?.flush(FLUSH_MS),
        ledger.close(),
        usage?.close(),
        gateway.guards.budgets?.close(),
        gateway.hosted.runner.close(),
        shared?.close(),
      ]);
      store.close();
      transports.close();
    },
    report: async (workers) => (await import("./pages/worker_report.ts")).reportOf(gateway, workers),
    audit: gateway.observe.audit,
    parts,
  };
}

/** The facts about plugins that the checks of a configuration need. */
export function pluginFacts(plugins: Partial<Plugins> = {}): ReturnType<typeof factsOf> {
  return factsOf({ ...builtIn, ...plugins });
}

/** The plugins and the environment that the gateway will have, with which its configuration is read. */
export type ConfigOptions = Pick<AppOptions, "env" | "plugins" | "platform">;

/** Parses a configuration in the form of `gateway.json`. Throws a `ConfigError` that lists every problem. */
export function parseConfig(
  value: unknown,
  { plugins, platform = deno, env = platform.env }: ConfigOptions = {},
): Config {
  return parse(value, "the given object", { ...pluginFacts(plugins), env, secretText: platform.readText });
}

/**
 * Reads the configuration file at `path`. Without a path it searches like the program itself: the file named by
 * `LANEWAY_CONFIG`, then `./gateway.json`, then the built-in one. Throws a `ConfigError` that lists every problem.
 */
export function readConfig(
  path?: string,
  { plugins, platform = deno, env = platform.env }: ConfigOptions = {},
): Config {
  return loadConfig({ path, ...pluginFacts(plugins), env, readText: platform.readText, secretText: platform.readText })
    .config;
}

/** An app that a host runs, such as `deno serve`. */
interface Hosted {
  app: App;
  /** Receives when an answer is complete. Absent if the host may end the process at any time. */
  count?(completed: Promise<void>): void;
}

let started: Hosted | undefined;

/** The app that the environment describes, created on first use. */
function fromEnvironment(): Hosted {
  if (started) return started;
  const app = createApp({ config: announced(readConfig(), deno), ...optionsFor(deno.env) });
  return started = isOnDeploy(deno.env) ? { app, count: stopInTime(app, deno) } : { app };
}

/** Milliseconds that the last output has to be read before the process ends. */
const FLUSH_MS = 1_000;

// Under `deno serve`, an invalid configuration is reported at startup instead of at the first request.
if (import.meta.main) {
  try {
    fromEnvironment();
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    const streams = standardStreams(deno);
    streams.say(error.message);
    await streams.flush(FLUSH_MS);
    deno.exit(1);
  }
}

/** The interface that `deno serve` and Deno Deploy expect. */
const server: {
  fetch(request: Request, info: { remoteAddr: Peer; completed?: Promise<void> }): Promise<Response>;
} = {
  fetch(request, info) {
    const { app, count } = fromEnvironment();
    if (info?.completed) count?.(info.completed);
    return app.fetch(request, info);
  },
};
export default server;
