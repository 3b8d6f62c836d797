/** Where the parts are put together. The outside world (`fetch`, clock, ids, environment, log) comes in here. */
import { dirname, join } from "node:path";
import manifest from "../deno.json" with { type: "json" };
import { catalogs, drivers, protocols } from "../plugins/mod.ts";
import { createCatalogs, createServerList } from "./catalogs.ts";
import { type ModelInfo, type Task, TASKS } from "./canonical/models.ts";
import { type ModelOperation, TASK_OF } from "./canonical/operations.ts";
import { digestOf } from "./util/digest.ts";
import type { Surroundings } from "./config/check.ts";
import { takesTokens } from "./config/secrets.ts";
import { ConfigError, loadConfig } from "./config/load.ts";
import type { Config } from "./config/schema.ts";
import type { Catalog } from "./contract/catalog.ts";
import type { Driver } from "./contract/driver.ts";
import type { AnyProtocol } from "./contract/protocol.ts";
import { createRegistry } from "./contract/registry.ts";
import { handle } from "./handle.ts";
import { createAdmission } from "./http/quota.ts";
import { createAuth } from "./http/auth.ts";
import { collectGarbage, createLoad, defaultMemoryBytes } from "./http/load_shedding.ts";
import { createService } from "./http/service.ts";
import { createUploads } from "./http/uploads.ts";
import type { Gateway, Pace } from "./journey/gateway.ts";
import { shuttingDown } from "./journey/journey.ts";
import { SHORTEST_MASKED } from "./journey/secrets.ts";
import { Homes } from "./routing/session_affinity.ts";
import type { CatalogCache } from "./lanes/catalog.ts";
import { createLane } from "./lanes/lane.ts";
import { createLog, type LogEntry } from "./observe/log.ts";
import { createOutput } from "./observe/output.ts";
import { createContinuity } from "./state/continuity.ts";
import { defaultStorePath, isOnDeploy, openKvFile } from "./state/kv_file.ts";
import { createKvStore } from "./state/kv_store.ts";
import { createKeyReader, createKeyring } from "./state/keyring.ts";
import { createLedger } from "./state/ledger.ts";
import { createMemoryStore } from "./state/memory_store.ts";
import { createSealing } from "./state/seal.ts";
import type { Store } from "./state/store.ts";
import { Calibration } from "./tokens/calibration.ts";
import { ExactCounts } from "./tokens/exact.ts";
import { createTokenizerFolder } from "./tokens/tokenizer_files.ts";
import { Tokenizers } from "./tokens/tokenizers.ts";
import { Breaker } from "./routing/circuit_breaker.ts";
import { isSecretHeader } from "./upstream/explain.ts";
import { HedgeBudget } from "./routing/hedging.ts";
import { Refusals } from "./upstream/unsupported_fields.ts";
import type { Fetch, Upstream } from "./upstream/send.ts";
import { Slots } from "./routing/concurrency.ts";

export interface AppOptions {
  config: Config;
  env(name: string): string | undefined;
  fetch?: Fetch;
  /** Milliseconds since the epoch. */
  now?(): number;
  /** Milliseconds by a clock that never steps, from any beginning. */
  monotonic?(): number;
  newId?(): string;
  log?(entry: LogEntry): void;
  pace?: Partial<Pace>;
  /** Whether few files and connections can be opened yet: then nothing more is let in. */
  areDescriptorsScarce?(): boolean;
  /** In place of the configured one. */
  store?: Store;
  /** The app that this one takes the place of: it goes on with what that one has counted and holds. */
  after?: Pick<App, "parts">;
  /** In place of the built-in ones. */
  plugins?: { protocols?: readonly AnyProtocol[]; drivers?: readonly Driver[]; catalogs?: readonly Catalog[] };
}

export interface App {
  /** `info` tells who calls; without it the call comes from this process and is trusted. */
  fetch(request: Request, info?: { remoteAddr: Deno.Addr }): Promise<Response>;
  /** A new server has taken the place of the one that brought the requests that run. */
  renewed(): void;
  /** From now on `/readyz` says 503; everything is still served. */
  drain(): void;
  /** Ends what still runs. */
  abort(): void;
  /** Lets go of what works beside and of the store, once nothing is served any more and the store knows what was used. */
  close(): Promise<void>;
  /** What outlives a change of the configuration. */
  readonly parts: Parts;
}

/** The parts of an app by name, each with what it was made from, as JSON. */
type Parts = ReadonlyMap<string, { from: string; part: unknown }>;

/** Proxies and clients give up on a silent connection after 15 s to 100 s. */
const PACE: Pace = { headAfterMs: 10_000, keepAliveMs: 10_000, storeMs: 5_000 };

export function createApp(options: AppOptions): App {
  const { config, env, store: given } = options;
  const plugins = { protocols, drivers, catalogs, ...options.plugins };
  const now = options.now ?? Date.now;
  const monotonic = options.monotonic ?? (() => performance.now());
  const fetch = options.fetch ?? globalThis.fetch;
  const created = Math.floor(now() / 1000);
  const parts = new Map<string, { from: string; part: unknown }>();
  let earlier = options.after?.parts;
  /** The part of the app before this one, where it was made from the same; else a new one. */
  const keep = <T>(name: string, from: unknown, make: () => T): T => {
    const known = earlier?.get(name);
    const json = JSON.stringify(from) ?? "";
    const part = known?.from === json ? known.part as T : make();
    parts.set(name, { from: json, part });
    return part;
  };
  // What still runs by an earlier configuration ends with this one.
  const stop = keep("stop", null, () => new AbortController());
  const renewals = keep("renewals", null, () => ({ count: 0 }));
  const draining = keep("draining", null, () => new AbortController());
  const sources = keep(
    "catalogs",
    config.catalogs,
    () => createCatalogs(config, plugins.catalogs, { env, fetch, now: monotonic, signal: stop.signal }),
  );
  const finders = new Map(
    Object.entries(config.upstreams).flatMap(([name, { catalog = "" }]) => {
      const finder = sources.get(catalog)?.finder;
      return finder ? [[name, finder] as const] : [];
    }),
  );
  const endpoints = endpointsByTask(plugins.protocols);
  const { answerBytes, streamBytes, frameBytes, jsonDepth, jsonValues, jsonNames } = config.limits;
  const json = { depth: jsonDepth, values: jsonValues, names: jsonNames };
  const bodyLimits = { limitBytes: config.limits.bodyBytes, stallMs: config.limits.stallMs };
  const read = { answerBytes, streamBytes, frameBytes, json };
  const store = keep("store", null, () => given ?? createStore(config, env, now));
  const pace = { ...PACE, ...options.pace };
  const ledger = keep("ledger", null, () => createLedger({ store, patienceMs: pace.storeMs }));
  const place = placeOfStore(config.store, env);
  const tokenizers = keep("tokenizers", config.catalogs, () =>
    new Tokenizers({
      download: (catalog, model) => sources.get(catalog)!.tokenizerFiles(model),
      folder: typeof place === "object"
        ? createTokenizerFolder({ path: join(dirname(place.path), "tokenizers"), now })
        : undefined,
      now: monotonic,
    }));
  const before = earlier?.get("tokenizers")?.part as Tokenizers | undefined;
  if (before !== tokenizers) before?.close();
  const upstreams = new Map(
    Object.entries(config.upstreams).map(([name, upstream]) => {
      const { concurrency } = upstream;
      // What runs there goes on, whatever else of the upstream has changed.
      const slots = concurrency && keep(`slots ${name}`, concurrency, () => new Slots(name, concurrency));
      const make = () => createUpstream(name, upstream, { ...read, slots }, plugins.drivers, env, monotonic);
      return [name, keep(`upstream ${name}`, [upstream, read], make)];
    }),
  );
  /** What the upstreams of a lane list themselves, where the lane has no catalog: each under a task that it has there. */
  const offersOf = (lane: Partial<Record<Task, string>>): CatalogCache[] =>
    [...new Set(Object.values(lane))].flatMap((name) => {
      const upstream = upstreams.get(name);
      const make = () => upstream && createServerList(upstream, { fetch, now: monotonic, signal: stop.signal });
      const list = keep(`models of ${name}`, config.upstreams[name], make);
      return list ? [withTasks(list, TASKS.filter((task) => lane[task] === name))] : [];
    });
  const gateway: Gateway = {
    service: createService({
      name: "laneway",
      version: manifest.version,
      lanes: Object.keys(config.lanes),
      isReady: () => !draining.signal.aborted,
    }),
    registry: createRegistry(plugins.protocols),
    lanes: new Map(
      Object.entries(config.lanes).map(([name, { catalog = [], ...lane }]) => {
        const catalogs = [catalog].flat().flatMap((one) => sources.get(one)?.list ?? []);
        const offers = catalogs.length > 0 ? [] : offersOf(lane.upstreams);
        return [name, createLane(name, { ...lane, catalogs, offers, finders, endpoints, created })];
      }),
    ),
    homes: keep("homes", null, () => new Homes(monotonic)),
    sessionHeaders: [...new Set(plugins.protocols.flatMap(({ sessionHeaders = [] }) => sessionHeaders))],
    upstreams,
    secrets: [...new Set(secretsOf(config, env).map(({ value }) => value))],
    drivers: new Map(plugins.drivers.map((driver) => [driver.name, driver])),
    authenticate: createAuth({
      keys: config.keys.map(({ secret, ...key }) => ({ ...key, digest: digestOf(env(secret.env) ?? "") })),
      ...(config.storedKeys && {
        storedKeys: keep(
          "stored keys",
          null,
          () => createKeyReader(createKeyring(store, now), { now: monotonic, patienceMs: pace.storeMs }),
        ),
      }),
      takesTokens: takesTokens(config),
      now,
    }),
    admission: keep("admission", null, () => createAdmission({ now, monotonic }, ledger)),
    load: keep("load", null, () =>
      createLoad({
        memory: () => Deno.memoryUsage().rss,
        collect: collectGarbage,
        areDescriptorsScarce: options.areDescriptorsScarce ?? (() => false),
        now: monotonic,
      })),
    breaker: keep("breaker", null, () => new Breaker(monotonic)),
    limits: { ...config.limits, json, memoryBytes: config.limits.memoryBytes ?? defaultMemoryBytes() },
    retry: { ...config.retry, baseMs: RETRY_BASE_MS },
    hedges: keep("hedges", null, () => new HedgeBudget()),
    continuity: createContinuity({
      store,
      now,
      retentionMs: config.store.retentionDays * DAY_MS,
      patienceMs: pace.storeMs,
    }),
    sealer: keep("sealer", config.sealing, () =>
      createSealing({
        secret: config.sealing.key && env(config.sealing.key.env),
        store,
        patienceMs: pace.storeMs,
      })),
    calibration: keep("calibration", null, () => new Calibration()),
    upstreamCounts: keep("upstream counts", config.upstreams, () => new ExactCounts({ now: monotonic })),
    tokenizerCounts: keep(
      "tokenizer counts",
      config.catalogs,
      () => new ExactCounts({ now: monotonic, pace: { patienceMs: 1_000, restMs: 0 } }),
    ),
    tokenizers,
    uploads: createUploads({
      form: { ...bodyLimits, timeoutMs: config.limits.uploadMs },
      json: { ...bodyLimits, timeoutMs: config.limits.bodyMs, json },
      totalBytes: config.limits.uploadBytes,
    }, keep("room for uploads", null, () => ({ taken: 0 }))),
    pace,
    fetch,
    now,
    monotonic,
    newId: options.newId ?? (() => crypto.randomUUID().replaceAll("-", "")),
    log: options.log ?? printEntry,
    renewals: () => renewals.count,
    draining: draining.signal,
    signal: stop.signal,
  };
  earlier = undefined; // Else every app would hold all those before it.
  return {
    fetch: (request, info) => handle(request, info?.remoteAddr, gateway),
    renewed: () => void renewals.count++,
    drain: () => draining.abort(),
    abort: () => stop.abort(shuttingDown()),
    async close() {
      tokenizers.close();
      await ledger.close();
      store.close();
    },
    parts,
  };
}

/** Servers do not say what a model is for; the lane says what it asks them for. */
function withTasks(list: CatalogCache, tasks: readonly Task[]): CatalogCache {
  const [first = "chat"] = tasks;
  const tell = (model: ModelInfo) => tasks.includes(model.task) ? model : { ...model, task: first };
  return { models: async () => new Map([...await list.models()].map(([id, model]) => [id, tell(model)])) };
}

const DAY_MS = 86_400_000;
/** The wait before a request's second round. */
const RETRY_BASE_MS = 300;
/** What a store in memory may hold, in bytes. */
const MEMORY_STORE_BYTES = 256 * 1024 * 1024;

/** The configured store. It opens when the first conversation is to be stored. */
export function createStore({ store }: Config, env: AppOptions["env"], now: () => number): Store {
  const place = placeOfStore(store, env);
  return place === "memory"
    ? createMemoryStore({ now, limitBytes: MEMORY_STORE_BYTES })
    : createKvStore({ open: () => place === "hosted" ? Deno.openKv() : openKvFile(place.path), now });
}

/** Where conversations are stored: what hosts the gateway has a place of its own, and without a home there is no file. */
export function placeOfStore({ kind, path }: Config["store"], env: AppOptions["env"]): StorePlace {
  if (kind === "memory") return "memory";
  if (isOnDeploy(env)) return "hosted";
  const file = path ?? defaultStorePath(Deno.build.os, env);
  return file === undefined ? "memory" : { path: file };
}

export type StorePlace = "memory" | "hosted" | { path: string };

function createUpstream(
  name: string,
  upstream: Config["upstreams"][string],
  limits: Pick<Upstream, "answerBytes" | "streamBytes" | "frameBytes" | "json" | "slots">,
  drivers: readonly Driver[],
  env: AppOptions["env"],
  now: () => number,
): Upstream {
  const { driver: driverName, secret, catalog: _, baseUrl, headers, refuses, ...rest } = upstream;
  const { resultsFrom, timeouts, providers, tokenizers, concurrency: _limits, ...quirks } = rest;
  const driver = drivers.find((candidate) => candidate.name === driverName);
  if (!driver) throw new Error(`Cannot find driver "${driverName}" of upstream "${name}"`);
  const own = secret === "client" ? undefined : secret;
  const value = own && env(own.env);
  const access = {
    secret: value,
    missingSecret: own && !value ? own.env : undefined,
    takesTokens: secret === "client",
  };
  const service = { name, driver, baseUrl, headers, ...access, resultsFrom, timeouts, ...limits };
  return { ...service, refuses, refusals: new Refusals(now), providers, tokenizers, quirks };
}

interface Secret {
  /** The variable that holds it, or the header's place in the configuration. */
  name: string;
  value: string;
}

/** All that is secret: what the configuration names, and each word of the headers that an upstream is given. */
function secretsOf({ upstreams, catalogs, keys, sealing }: Config, env: AppOptions["env"]): Secret[] {
  const services = [...Object.values(upstreams), ...Object.values(catalogs), ...keys];
  const named = [...services.map(({ secret }) => secret), sealing.key]
    .flatMap((secret) => secret && secret !== "client" ? [{ name: secret.env, value: env(secret.env) ?? "" }] : []);
  const given = Object.entries(upstreams).flatMap(([upstream, { headers }]) =>
    Object.entries(headers).filter(([header]) => isSecretHeader(header)).flatMap(([header, words]) =>
      words.split(/\s+/).map((value) => ({ name: `upstreams.${upstream}.headers.${header}`, value }))
    )
  );
  return [...named, ...given].filter(({ value }) => value !== "");
}

/** The names of secrets that are not masked where somebody tells them, because they are as short as plain words. */
export function unmaskedSecrets(config: Config, env: AppOptions["env"]): string[] {
  // Of a header the last word counts: the others say what kind it is.
  const last = new Map(secretsOf(config, env).map(({ name, value }) => [name, value]));
  return [...last].filter(([, value]) => value.length < SHORTEST_MASKED).map(([name]) => name);
}

/** The paths below a lane that run a model, by the task that it must have. */
function endpointsByTask(protocols: readonly AnyProtocol[]): Partial<Record<Task, string[]>> {
  const paths = protocols
    .filter(({ operation, pattern }) =>
      operation !== "countTokens" && TASK_OF[operation] && pattern.pathname.startsWith("/:lane")
    )
    .map(({ operation, pattern }) => ({ task: TASK_OF[operation], path: pattern.pathname.slice("/:lane".length) }));
  return Object.fromEntries(
    TASKS.map((task) => [task, [...new Set(paths.filter((one) => one.task === task).map(({ path }) => path))]]),
  );
}

/** What the configuration's checks need to know of the plugins. */
export function pluginFacts(): Pick<Surroundings, "drivers" | "catalogs"> {
  const facts = drivers.map(({ name, operations, counters = [], reads = [] }) => {
    const served = Object.keys(operations).map((operation) => TASK_OF[operation as ModelOperation]);
    const tasks = TASKS.filter((task: Task) => served.includes(task));
    return [name, { tasks, needsBaseUrl: Object.values(operations).some((way) => "request" in way), counters, reads }];
  });
  const finding = catalogs.map(({ name, finder, tokenizerFiles }) => [
    name,
    { finds: finder !== undefined, tokenizes: tokenizerFiles !== undefined },
  ]);
  return { drivers: Object.fromEntries(facts), catalogs: Object.fromEntries(finding) };
}

/** The log of requests, a line of JSON each. */
const stdout = createOutput({
  write: (bytes) => Deno.stdout.write(bytes),
  dropped: (count) => JSON.stringify({ time: new Date().toISOString(), dropped: count, cause: "Nobody read the log" }),
  failed: (thrown) => say(`Cannot write the log, and serves on without: ${(thrown as Error).message}`),
});
const printEntry = createLog(stdout.print);

/** For people. Where nobody can be told, as in a terminal that was closed, the gateway goes on all the same. */
const stderr = createOutput({
  write: (bytes) => Deno.stderr.write(bytes),
  dropped: (count) => `${count} lines were dropped here, because nobody read them`,
});

/** To the person who runs it. */
export function say(text: string): void {
  stderr.print(text);
}

/** How long what is said last may take to be read before the process ends. */
export const FLUSH_MS = 1_000;

/** Writes what is still due, of the log and of what was said; for `ms` at most, because nobody may read it. */
export async function flushOutput(ms: number): Promise<void> {
  printEntry.flush();
  await Promise.all([stdout.flush(ms), stderr.flush(ms)]);
}

let started: App | undefined;

/** The app that the environment describes, made at the first need. */
function fromEnvironment(): App {
  if (started) return started;
  const env = (name: string) => Deno.env.get(name);
  const { config } = loadConfig({ ...pluginFacts(), env });
  return started = createApp({ config, env });
}

// Under `deno serve` a bad configuration must be told at the start, not at the first request.
if (import.meta.main) {
  try {
    fromEnvironment();
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    say(error.message);
    await flushOutput(FLUSH_MS);
    Deno.exit(1);
  }
}

export default {
  fetch: (request: Request, info: Deno.ServeHandlerInfo): Promise<Response> => fromEnvironment().fetch(request, info),
};
