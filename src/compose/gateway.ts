import manifest from "../../deno.json" with { type: "json" };
import type { Config } from "../config/schema.ts";
import { storeKind } from "../config/store_kinds.ts";
import { hasSeveralCallers, secretAt, takesTokens } from "../config/secrets.ts";
import { createRegistry } from "../contract/registry.ts";
import { createAuth, type createKeyLookup, type TokenReader, type Tokens } from "../http/auth.ts";
import { createLoadShedder, defaultMemoryBytes, type LoadShedder } from "../http/load_shedding.ts";
import { collectGarbage } from "../util/collect_garbage.ts";
import { createAdmission } from "../http/quota.ts";
import { createSharedAdmission } from "../http/shared_quota.ts";
import { createOperatorEndpoints } from "../http/operator_endpoints.ts";
import { KeptTexts, Room, uploadBytesOf } from "../http/body_memory.ts";
import { createUploads } from "../http/uploads.ts";
import type { ConsoleParts } from "../context/console.ts";
import type { ConsolePart, Gateway, Pace, Process, Routing, StoredState } from "../context/gateway.ts";
import type { Guards } from "../context/guards.ts";
import { hiderFor } from "../context/secrets.ts";
import { handle } from "../handle.ts";
import { Breaker } from "../routing/circuit_breaker.ts";
import { HedgeBudget } from "../routing/hedging.ts";
import { SessionAffinity } from "../routing/session_affinity.ts";
import { createContinuity } from "../state/continuity.ts";
import { createKeyReader } from "../state/key_reader.ts";
import { createKeyring } from "../state/keyring.ts";
import type { Ledger } from "../state/ledger.ts";
import { createConversations } from "../state/conversations.ts";
import type { Files } from "../state/files.ts";
import type { StorageQuota } from "../state/retention.ts";
import type { Threads } from "../state/threads.ts";
import { createRuns } from "../state/runs.ts";
import { createSealing } from "../state/seal.ts";
import { Dependents } from "../util/abort.ts";
import { digestOf } from "../util/digest.ts";
import { createBudgetBook } from "./budgets.ts";
import { reportingFirstUse } from "./audit.ts";
import type { ConsoleHeld } from "./console.ts";
import { catalogSecrets, createCatalogs } from "./catalogs.ts";
import { createCounting } from "./counting.ts";
import { createDocuments, createHosted } from "./hosted.ts";
import { createLanes } from "./lanes.ts";
import { createListedPrices } from "./prices.ts";
import { secretsOf } from "./secrets.ts";
import { createSockets } from "./sockets.ts";
import { createStages } from "./stages.ts";
import { bytesPerKey } from "./store.ts";
import { createUpstreams, jsonLimitsOf, mayContinue } from "./upstreams.ts";
import type { World } from "./world.ts";

const DAY_MS = 86_400_000;
/** The wait before a request's second round, in milliseconds. */
const RETRY_BASE_MS = 300;

/** Proxies and clients give up on a silent connection after 15 s to 100 s. */
export const PACE: Pace = {
  headAfterMs: 10_000,
  keepAliveMs: 10_000,
  storeMs: 5_000,
  gatherMs: 1_000,
  socketMs: 3_600_000,
};

/** Creates everything that requests need from the configuration. */
export function createGateway(world: World, ledger: Ledger): Gateway {
  const { config, plugins, keep, env, readText, transports, clocks, observe, pace, newId } = world;
  const { draining, stop } = world.process;
  const sources = keep(
    "catalogs",
    [config.catalogs, config.transport, catalogSecrets(world)],
    () =>
      createCatalogs(config, plugins.catalogs, {
        env,
        readText,
        transport: transports.get(config.transport),
        now: clocks.monotonic,
        signal: stop.signal,
      }),
  );
  const upstreams = createUpstreams(world);
  const keys = keysOf(world);
  const guards = createGuards(world, ledger, keys);
  const secrets = [...new Set(secretsOf(config, world).map(({ value }) => value))];
  return {
    answer: handle,
    operatorEndpoints: createOperatorEndpoints({
      name: "laneway",
      version: manifest.version,
      lanes: Object.keys(config.lanes),
      isReady: () => !draining.signal.aborted,
      warning: () => world.storeLosses.last && "store-file-removed",
    }),
    registry: createRegistry(plugins.protocols),
    lanes: createLanes(world, sources, upstreams),
    upstreams,
    drivers: new Map(plugins.drivers.map((driver) => [driver.name, driver])),
    catalogs: sources,
    prices: createListedPrices(world, sources),
    secrets,
    hide: hiderFor(secrets),
    guards,
    routing: createRouting(world, upstreams),
    hosted: {
      runner: createHosted(world),
      searchService: config.hostedTools.webSearch?.server ?? config.hostedTools.webSearch?.backend,
      limits: config.hostedTools,
      drawer: config.hostedTools.imageGeneration,
    },
    documents: createDocuments(world),
    stages: createStages(world),
    state: createStoredState(world),
    counting: createCounting(world, sources),
    sockets: createSockets(world, guards.loadShedder),
    observe,
    console: createConsole(world, keys),
    process: createProcess(world),
    clocks,
    pace,
    newId,
  };
}

/** No key has an empty digest, so nobody is admitted by a secret that is missing. */
function digestIn(secret: string | undefined): string {
  return secret === undefined ? "" : digestOf(secret);
}

type Keys = Parameters<typeof createKeyLookup>[0];

function keysOf({ config, keep, store, clocks: { now, monotonic }, pace, ...source }: World): Keys {
  return {
    keys: config.keys.map(({ secret, ...key }) => ({ ...key, digest: digestIn(secretAt(secret, source)) })),
    ...(config.storedKeys && {
      storedKey: keep(
        "stored keys",
        null,
        () => createKeyReader(createKeyring(store, now), { now: monotonic, patienceMs: pace.storeMs }),
      ),
    }),
    now,
  };
}

function createGuards(world: World, ledger: Ledger, keys: Keys): Guards {
  const { config, keep, env, process: { shared, workers, areDescriptorsScarce }, clocks, platform } = world;
  const texts = keep("kept texts", null, () => new KeptTexts());
  const loadShedder = keep("load", null, () =>
    createLoadShedder({
      memory: () => platform.memory(),
      limit: () => platform.memoryLimit ?? defaultMemoryBytes(Number(env("LANEWAY_MEMORY_LIMIT") ?? 0), workers?.count),
      collect: () => (texts.releaseAll(), collectGarbage()),
      areDescriptorsScarce,
      now: clocks.monotonic,
      onShed: () => world.observe.meter?.count({ type: "shed" }),
    }));
  const room = keep("room for uploads", null, () => new Room());
  return {
    authenticate: reportingFirstUse(
      createAuth({ ...keys, tokens: createTokens(world), takesTokens: takesTokens(config) }),
      world,
    ),
    admission: keep(
      "admission",
      null,
      () => shared ? createSharedAdmission(clocks, shared) : createAdmission(clocks, ledger),
    ),
    budgets: createBudgetBook(world),
    loadShedder,
    uploads: createUploads(uploadLimitsOf(config, loadShedder, clocks.monotonic), room),
    kept: texts,
    limits: { ...config.limits, json: jsonLimitsOf(config) },
    hasSeveralCallers: hasSeveralCallers(config),
  };
}

function createProcess({ keep, platform, process }: World): Process {
  const { workers, shared, renewals, draining, stop } = process;
  return {
    memory: () => platform.memory(),
    workers,
    shared,
    renewals,
    draining: draining.signal,
    signal: stop.signal,
    running: keep("running", null, () => new Dependents(stop.signal)),
  };
}

/** `undefined` if the configuration wants no console. It is loaded for the first operator. */
function createConsole(world: World, keys: Keys): ConsolePart | undefined {
  const { keep, dryRuns } = world;
  if (!dryRuns) return undefined;
  const held = keep("console", null, (): ConsoleHeld => ({}));
  let loading: Promise<ConsoleParts> | undefined;
  const load = async () => (await import("./console.ts")).createConsoleParts(world, keys, held);
  return { dryRuns, parts: () => loading ??= load() };
}

/** Identifies callers by tokens of the configured issuer. The code that checks tokens is loaded with the first one. */
function createTokens(world: World): Tokens | undefined {
  const { config: { oidc, transport }, keep } = world;
  return oidc && keep("tokens", [oidc, transport], () => {
    const load = async () => (await import("./oidc.ts")).openTokenReader(oidc, world);
    let loading: Promise<TokenReader> | undefined;
    return { issuer: oidc.issuer, identify: async (...call) => await (await (loading ??= load())).identify(...call) };
  });
}

/** Whether other gateways answer the same clients, as far as this one knows. */
function hasReplicas({ config: { replicas, store }, process: { workers } }: World): boolean {
  return replicas > 1 || storeKind(store.kind).isShared || workers !== undefined;
}

function createRouting(world: World, upstreams: Gateway["upstreams"]): Routing {
  const { config, plugins, keep, clocks: { monotonic }, process: { shared } } = world;
  return {
    affinity: keep(
      "affinity",
      [hasReplicas(world)],
      () => new SessionAffinity(monotonic, { hasReplicas: hasReplicas(world) }),
    ),
    sessionHeaders: [...new Set(plugins.protocols.flatMap(({ sessionHeaders = [] }) => sessionHeaders))],
    breaker: keep("breaker", null, () => {
      const breaker = new Breaker(monotonic, {}, shared && ((target, ms) => shared.rest(target, ms)));
      if (shared) shared.onRest = (target, ms) => breaker.rest(target, ms);
      return breaker;
    }),
    retry: { ...config.retry, baseMs: RETRY_BASE_MS },
    hedges: keep("hedges", null, () => new HedgeBudget()),
    continues: mayContinue(config, upstreams),
  };
}

function createStoredState(world: World): StoredState {
  const { config, keep, store, clocks: { now, monotonic }, pace, platform, newId } = world;
  const retentionMs = config.store.retentionDays * DAY_MS;
  const storageQuota = keep("storage quota", null, () => {
    const options = { store, now, bytesPerKey: bytesPerKey(config.store, platform.database) };
    let loading: Promise<StorageQuota> | undefined;
    const load = async () => (await import("../state/storage_quota.ts")).createStorageQuota(options);
    return { reserve: async (...args) => await (await (loading ??= load())).reserve(...args) } satisfies StorageQuota;
  });
  const sealingSecret = config.sealing.key && secretAt(config.sealing.key, world);
  const waitMs = Math.min(pace.storeMs, storeKind(config.store.kind).waitMs);
  const waits = { patienceMs: pace.storeMs, writeMs: waitMs };
  // A message has more values in the canonical form than on its wire.
  const limits = { characters: config.limits.bodyBytes, values: 2 * config.limits.jsonValues };
  const answers = { store, storageQuota, now, retentionMs, ...waits, limits };
  let threads: Promise<Threads> | undefined;
  return {
    threads: () => threads ??= import("../state/threads.ts").then((room) => room.createThreads({ ...answers, newId })),
    conversations: createConversations({
      store,
      storageQuota,
      now,
      retentionMs,
      patienceMs: pace.storeMs,
      longest: config.limits.bodyBytes,
    }),
    runs: keep("runs", null, () => {
      const patienceMs = pace.storeMs;
      return createRuns({ store, storageQuota, now, retentionMs, patienceMs, hasReplicas: hasReplicas(world) });
    }),
    files: keep("files", [config.files, config.store, config.sealing, sealingSecret], () => {
      const { files } = config;
      if (!files) return undefined;
      let loading: Promise<Files> | undefined;
      const load = async () => (await import("./files.ts")).openFiles(files, { ...world, sealingSecret, waitMs });
      return () => loading ??= load();
    }),
    continuity: createContinuity(answers),
    sealer: keep("sealer", [config.sealing, sealingSecret], () =>
      createSealing({
        secret: sealingSecret,
        store,
        patienceMs: waitMs,
        now: monotonic,
      })),
  };
}

function uploadLimitsOf(
  config: Config,
  loadShedder: LoadShedder,
  now: () => number,
): Parameters<typeof createUploads>[0] {
  const { bodyBytes, stallMs, uploadMs, bodyMs } = config.limits;
  const limits = { limitBytes: bodyBytes, stallMs };
  return {
    form: { ...limits, timeoutMs: uploadMs },
    json: { ...limits, timeoutMs: bodyMs, json: jsonLimitsOf(config) },
    get totalBytes() {
      return uploadBytesOf(config.limits, loadShedder.limitBytes(config.limits));
    },
    isShared: hasSeveralCallers(config),
    now,
  };
}
