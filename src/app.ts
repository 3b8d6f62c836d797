/**
 * A gateway as a function from a request to its answer. The outside world (`fetch`, clock, ids, environment, log) comes in here.
 *
 * ```ts
 * import { createApp, parseConfig } from "@laneway/gateway";
 *
 * const app = createApp({ config: parseConfig({ upstreams: { … }, lanes: { … } }) });
 * const response = await app.fetch(new Request("http://gateway/oss/v1/models"));
 * ```
 *
 * As a program of its own (`deno serve src/app.ts`, Deno Deploy) it serves by the configuration that its environment names.
 */
import { catalogs, drivers, fidelityTables, protocols, searchBackends } from "../plugins/mod.ts";
import { createGateway, PACE } from "./compose/gateway.ts";
import { optionsFor, stopInTime } from "./compose/on_deploy.ts";
import { createPartKeeper, type Parts } from "./compose/parts.ts";
import { metered, meterFor } from "./compose/meter.ts";
import { createShared } from "./compose/shared.ts";
import { createStore } from "./compose/store.ts";
import { pluginFacts as factsOf, type Plugins } from "./compose/plugins.ts";
import { rehearsalsFor } from "./compose/rehearsal.ts";
import { createTransports } from "./compose/transports.ts";
import { createUsageKeeper } from "./compose/usage.ts";
import { auditFor } from "./compose/audit.ts";
import { recordingFor, tracingFor } from "./compose/tracing.ts";
import type { World } from "./compose/world.ts";
import { ConfigError, loadConfig, parseConfig as parse } from "./config/load.ts";
import type { Config } from "./config/schema.ts";
import { handle } from "./handle.ts";
import type { Gateway, Pace } from "./context/gateway.ts";
import { shuttingDown } from "./context/request_context.ts";
import type { OtherWorker, WorkerReport, Workers } from "./context/workers.ts";
import { Feed } from "./observe/feed.ts";
import type { LogEntry, Warning } from "./observe/log.ts";
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
  /** A checked configuration: `parseConfig` and `readConfig` give one. */
  config: Config;
  /** The value of an environment variable, for the secrets that the configuration names. Those of the process by default. */
  env?(name: string): string | undefined;
  /** How upstreams are called, in place of the transports that are configured. */
  fetch?: Fetch;
  /** Milliseconds since the epoch. */
  now?(): number;
  /** Milliseconds by a clock that never steps, from any beginning. */
  monotonic?(): number;
  newId?(): string;
  /** Takes the entry of each request that is over. They go to stdout by default, a line of JSON each. */
  log?(entry: LogEntry): void;
  /** Takes what operators should look at. It is printed on stdout by default, as a line of JSON. */
  warn?(warning: Warning): void;
  pace?: Partial<Pace>;
  /** Whether few files and connections can be opened yet: then nothing more is let in. */
  areDescriptorsScarce?(): boolean;
  /** In place of the configured one. */
  store?: Store;
  /** Those that serve beside this process, where there are any. */
  workers?: Workers;
  /** The file of the configuration, for operators who change it at the console. */
  configuration?: World["configuration"];
  /** The app that this one takes the place of: it goes on with what that one has counted and holds. */
  after?: Pick<App, "parts">;
  /** Lists that stand in place of the built-in ones: `{ drivers: [...builtIn.drivers, mine] }` adds a driver. */
  plugins?: Partial<Plugins>;
  /** What the app runs on; Deno by default. */
  platform?: Platform;
}

export interface App {
  /** Answers a request. `info` says who calls; without it the call comes from this process and is trusted. */
  fetch(request: Request, info?: { remoteAddr: Peer }): Promise<Response>;
  /** The page that monitoring reads, whoever asks. */
  metrics(): Promise<Response>;
  /** A new server has taken the place of the one that brought the requests that run. */
  renewed(): void;
  /** From now on `/readyz` says 503; everything is still served. */
  drain(): void;
  /** Resolves once no answer is made in the background, and no WebSocket is open. */
  settled(): Promise<void>;
  /** Ends what still runs. */
  abort(): void;
  /** Lets go of what works beside and of the store, once nothing is served any more and the store knows what was used. */
  close(): Promise<void>;
  /** What this process reports to those that serve beside it. */
  report(workers: Workers): Promise<WorkerReport>;
  /** Who was given or refused a key, and what was changed; absent where the configuration wants no such log. */
  readonly audit?: Audit;
  /** What outlives a change of the configuration. */
  readonly parts: Parts;
}

/** The plugins that a gateway has where it is given none. */
export const builtIn: Plugins = { protocols, drivers, catalogs, searchBackends };

/** A gateway that serves by `config`. It makes no call before the first request. */
export function createApp(options: AppOptions): App {
  const world = createWorld(options);
  const { keep, store, pace: { storeMs, gatherMs } } = world;
  const ledger = keep("ledger", null, () => createLedger({ store, patienceMs: storeMs, gatherMs }));
  const gateway = createGateway(world, ledger);
  world.forgetEarlier();
  if (world.meter) world.meter.gauges = async () => (await import("./operations/worker_report.ts")).gaugesOf(gateway);
  // Those that are open go on by the configuration before this one.
  if (options.after) gateway.sockets.retire();
  return appOf(gateway, world, ledger);
}

function createWorld(options: AppOptions): World {
  const { config, platform = deno, env = platform.env, now = Date.now, workers, configuration } = options;
  const keeper = createPartKeeper(options.after?.parts);
  const { keep } = keeper;
  const monotonic = options.monotonic ?? (() => performance.now());
  const log = options.log ?? standardStreams(platform).log;
  const plugins = { ...builtIn, ...options.plugins };
  const meter = meterFor(config, platform, plugins, keep);
  const newStore = () => options.store ?? createStore(config, platform, env, now);
  const store = keep("store", null, () => meter ? metered(newStore(), meter) : newStore());
  const isShared = config.store.kind === "redis" && !options.store;
  const shared = isShared
    ? keep(
      "shared",
      null,
      () => createShared({ config, platform, env, monotonic, workers: workers?.count, meter }),
    )
    : undefined;
  const pace = { ...PACE, ...options.pace };
  const feed = config.console === false ? undefined : keep("feed", null, () => new Feed());
  const recording = recordingFor(config, keep, monotonic);
  const usage = createUsageKeeper({ config, plugins, keep, now, pace }, store);
  return {
    ...keeper,
    config,
    plugins,
    platform,
    env,
    transports: createTransports(options.fetch, platform, keep),
    now,
    monotonic,
    newId: options.newId ?? randomId,
    log(entry) {
      log(entry);
      meter?.count({ type: "request", entry });
      usage?.count(entry);
      feed?.end(entry);
      recording?.loaded?.end(entry);
    },
    warn: options.warn ?? standardStreams(platform).warn,
    meter,
    audit: auditFor({ config, platform, keep, now }),
    tracing: tracingFor(config, platform, plugins, keep),
    usage,
    feed,
    rehearsals: feed && rehearsalsFor(options, fidelityTables, createApp),
    recording,
    pace,
    store,
    shared,
    areDescriptorsScarce: options.areDescriptorsScarce ?? (() => false),
    workers,
    configuration,
    // What still runs by an earlier configuration ends with this one.
    stop: keep("stop", null, () => new AbortController()),
    draining: keep("draining", null, () => new AbortController()),
    renewals: keep("renewals", null, () => ({ count: 0 })),
  };
}

function appOf(
  gateway: Gateway,
  { stop, draining, renewals, store, shared, usage, transports, parts }: World,
  ledger: Ledger,
): App {
  return {
    fetch: (request, info) => handle(request, info?.remoteAddr, gateway),
    metrics: async () => (await import("./operations/metrics_page.ts")).metricsPage({ gateway }),
    renewed: () => void renewals.count++,
    drain: () => draining.abort(),
    settled: async () => void await Promise.all([gateway.runs.settled(), gateway.sockets.settled()]),
    abort: () => stop.abort(shuttingDown()),
    async close() {
      gateway.meter?.close();
      gateway.tokenizers.close();
      await Promise.all([
        gateway.audit?.flush(FLUSH_MS),
        ledger.close(),
        usage?.close(),
        gateway.budgets?.close(),
        shared?.close(),
      ]);
      store.close();
      transports.close();
    },
    report: async (workers) => (await import("./operations/worker_report.ts")).reportOf(gateway, workers),
    audit: gateway.audit,
    parts,
  };
}

/** What the configuration's checks need to know of the plugins. */
export function pluginFacts(plugins: Partial<Plugins> = {}): ReturnType<typeof factsOf> {
  return factsOf({ ...builtIn, ...plugins });
}

/** What a configuration is read with: the plugins and the environment that the gateway is going to have. */
export type ConfigOptions = Pick<AppOptions, "env" | "plugins" | "platform">;

/**
 * The configuration that `value` is, as it stands in `gateway.json`. Throws a `ConfigError` with all that is wrong with it.
 */
export function parseConfig(
  value: unknown,
  { plugins, platform = deno, env = platform.env }: ConfigOptions = {},
): Config {
  return parse(value, "the given object", { ...pluginFacts(plugins), env });
}

/**
 * The configuration in the file at `path`; without one, where the program itself looks for it: in the file that
 * `LANEWAY_CONFIG` names, in `./gateway.json`, or the built-in one. Throws a `ConfigError` with all that is wrong with it.
 */
export function readConfig(
  path?: string,
  { plugins, platform = deno, env = platform.env }: ConfigOptions = {},
): Config {
  return loadConfig({ path, ...pluginFacts(plugins), env, readText: platform.readText }).config;
}

/** A program that a host runs, such as `deno serve`. */
interface Hosted {
  app: App;
  /** Takes when an answer is over; absent where the host may end the process at any time. */
  count?(completed: Promise<void>): void;
}

let started: Hosted | undefined;

/** The app that the environment describes, made at the first need. */
function fromEnvironment(): Hosted {
  if (started) return started;
  const app = createApp({ config: readConfig(), ...optionsFor(deno.env) });
  return started = isOnDeploy(deno.env) ? { app, count: stopInTime(app, deno) } : { app };
}

/** How long the last output may take to be read before the process ends, in milliseconds. */
const FLUSH_MS = 1_000;

// Under `deno serve` a bad configuration is reported at the start, not at the first request.
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

/** What `deno serve` and Deno Deploy look for. */
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
