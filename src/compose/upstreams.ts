import type { Config } from "../config/schema.ts";
import { hasSeveralCallers, secretAt } from "../config/secrets.ts";
import type { SecretPlace } from "../contract/call.ts";
import type { Driver } from "../contract/driver.ts";
import { type Concurrency, ConcurrencyLimit, type ConcurrencyLimits } from "../routing/concurrency.ts";
import { SharedConcurrencyLimit } from "../routing/shared_concurrency.ts";
import type { Upstream } from "../upstream/send.ts";
import { LearntRelaxations } from "../relaxations/learnt.ts";
import { splitBaseUrl } from "../util/urls_and_headers.ts";
import type { World } from "./world.ts";

type Limits = Pick<
  Upstream,
  "answerBytes" | "answerText" | "streamBytes" | "frameBytes" | "json" | "concurrency" | "completionConcurrency"
>;

/** The configured upstreams by name. An unchanged upstream keeps what it has learned. */
export function createUpstreams(world: World): Map<string, Upstream> {
  const { config, keep, transports } = world;
  const { answerBytes, answerText, streamBytes, frameBytes } = config.limits;
  const read = { answerBytes, answerText, streamBytes, frameBytes, json: jsonLimitsOf(config) };
  return new Map(
    Object.entries(config.upstreams).map(([name, upstream]) => {
      const limits = upstream.concurrency;
      const transport = transports.get(upstream.transport ?? config.transport);
      const concurrency = limits && concurrencyOf(name, limits, world);
      const completionConcurrency = limits &&
        concurrencyOf(name, { ...limits, running: limits.completions ?? limits.running, kind: "completions" }, world);
      const make = () => createUpstream(name, upstream, { ...read, concurrency, completionConcurrency }, world);
      const kept = keep(`upstream ${name}`, [upstream, read], make);
      return [name, { ...kept, ...secretFor(upstream, world), transport }];
    }),
  );
}

/** Running calls stay counted even if other settings of the upstream, or the keys, have changed. */
function concurrencyOf(
  name: string,
  from: ConcurrencyLimits,
  { config, keep, process: { shared } }: World,
): Concurrency {
  const limits = { ...from };
  const concurrency = keep(
    limits.kind ? `concurrency ${name} ${limits.kind}` : `concurrency ${name}`,
    from,
    () => shared ? new SharedConcurrencyLimit(name, limits, shared) : new ConcurrencyLimit(name, limits),
  );
  concurrency.limits.isShared = hasSeveralCallers(config);
  return concurrency;
}

/** The limits for the JSON of a body or an answer. */
export function jsonLimitsOf({ limits: { jsonDepth, jsonValues, jsonNumbers, jsonNames } }: Config): Upstream["json"] {
  return { depth: jsonDepth, values: jsonValues, numbers: jsonNumbers, names: jsonNames };
}

function createUpstream(
  name: string,
  upstream: Config["upstreams"][string],
  limits: Limits,
  { plugins: { drivers }, store, clocks: { now } }: World,
): Omit<Upstream, "transport"> {
  const {
    driver: driverName,
    secret,
    catalog: _,
    prices: _prices,
    baseUrl,
    headers,
    refuses,
    relax,
    continuation,
    fileIds = secret === "client",
    ...others
  } = upstream;
  const { propagateTrace, provider: _provider, ...rest } = others;
  const { resultsFrom, timeouts, providers, tokenizers, concurrency: _limits, transport: _transport, ...quirks } = rest;
  const driver = drivers.find((candidate: Driver) => candidate.name === driverName);
  if (!driver) throw new Error(`Cannot find driver "${driverName}" of upstream "${name}"`);
  const access = {
    ...baseUrl !== undefined && splitBaseUrl(baseUrl),
    secretPlace: secretPlaceOf(secret === "client" ? undefined : secret, driver),
    takesTokens: secret === "client",
  };
  const service = { name, driver, headers, propagateTrace, ...access, resultsFrom, timeouts, ...limits };
  const record = ["refusals", name, driverName, access.baseUrl ?? ""];
  const refusals = new LearntRelaxations(now, relax === "trusted", {
    get: () => store.get(record),
    update: (change) => store.update(record, change),
  });
  return { ...service, refuses, relax, continuation, fileIds, refusals, providers, tokenizers, quirks };
}

/** The secret of an upstream, which may be another one whenever the configuration is read. */
function secretFor(
  { secret }: Config["upstreams"][string],
  world: World,
): Pick<Upstream, "secret" | "missingSecret" | "hasSecretFile"> {
  if (!secret || secret === "client") return {};
  const value = secretAt(secret, world);
  const hasSecretFile = secret.file !== undefined;
  return { secret: value, missingSecret: value === undefined ? secret.file ?? secret.env : undefined, hasSecretFile };
}

/** The place for a service's secret, from the configuration or else the driver. Absent for a bearer token. */
export function secretPlaceOf(
  secret: { header?: string; query?: string } | undefined,
  driver?: Driver,
): SecretPlace | undefined {
  if (secret?.query !== undefined) return { query: secret.query };
  const header = secret?.header?.toLowerCase();
  if (header === undefined) return driver?.secret;
  return header === "authorization" ? undefined : { header };
}

/** Whether an answer may go on that breaks off: where an upstream is known to do it, or wherever the configuration says so. */
export function mayContinue(
  { lanes, keys, oidc, storedKeys }: Config,
  upstreams: ReadonlyMap<string, Upstream>,
): boolean {
  if (Object.values(lanes).some(({ toolCalls }) => toolCalls)) return true;
  const ofLanes = Object.values(lanes).flatMap((lane) => [lane, ...Object.values(lane.models)]);
  const settings = [...ofLanes, ...keys, ...oidc?.groups ?? []];
  // Nobody knows yet what a stored key will say.
  if (storedKeys || settings.some(({ continuation }) => continuation === "same" || continuation === "any")) return true;
  return [...upstreams.values()].some(({ continuation, quirks, driver }) =>
    continuation === "prefill" || continuation === "instruction" ||
    (continuation === "auto" && (quirks.prefill !== undefined || driver.prefills === true))
  );
}
