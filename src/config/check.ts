/** The second pass: problems that the schema cannot find, such as names that refer to nothing. */
import { asList, asObject, isJsonObject } from "../canonical/json.ts";
import { type Task, TASKS } from "../canonical/models.ts";
import type { Providers } from "../contract/provider.ts";
import { OWN_QUIRKS, type OwnQuirk } from "../contract/quirks.ts";
import { storeProblems } from "./check_store.ts";
import { oidcProblems } from "./oidc_schema.ts";
import { hostedProblems, type HostedSurroundings } from "./check_hosted.ts";
import { driverHint, missingUrl, providerProblems } from "./check_provider.ts";
import { hint, quoted } from "./hint.ts";
import type { StageSections } from "./stage_sections.ts";
import { isLoopback } from "../util/urls_and_headers.ts";
import { missingProblems, namedSecret, type SecretLookup, takesTokens } from "./secrets.ts";

/** The fewest characters of a secret. A shorter one can be guessed from data that was sealed with it. */
const LEAST_SECRET = 16;

/** One mistake in a configuration. `path` is like `lanes.oss.upstreams.chat`, or empty for the whole. */
export interface Problem {
  path: string;
  message: string;
}

/** The facts about a driver that the check needs. */
export interface DriverFacts {
  tasks: readonly Task[];
  /** Whether it makes calls, and so needs a base URL. */
  needsBaseUrl: boolean;
  /** The endpoints by which it can count tokens. */
  counters: readonly string[];
  /** The quirks that it reads, among those that not every driver reads. */
  reads: readonly OwnQuirk[];
}

/** The facts about a catalog plugin that the check needs. */
export interface CatalogFacts {
  /** Whether it can locate a single model. */
  finds: boolean;
  /** Whether it has the files of models' tokenizers. */
  tokenizes: boolean;
  /** Whether its list has the prices of models. */
  hasPrices: boolean;
}

export interface Surroundings extends SecretLookup {
  drivers: Readonly<Record<string, DriverFacts>>;
  catalogs: Readonly<Record<string, CatalogFacts>>;
  /** Absent if there are none. */
  providers?: Providers;
  /** Absent if there are none. */
  searchBackends?: HostedSurroundings["searchBackends"];
  /** The sections of stages. Absent if there are none. */
  stages?: StageSections;
}

/**
 * All problems of a configuration as it was written, before it is validated by the schema. Values of the wrong type are ignored
 * here, because the schema reports them.
 */
export function check(raw: unknown, surroundings: Surroundings): Problem[] {
  const config = asObject(raw);
  const checker: Checker = {
    drivers: surroundings.drivers,
    providers: surroundings.providers ?? {},
    plugins: surroundings.catalogs,
    lookup: surroundings,
    config,
    upstreams: asObject(config.upstreams),
    catalogs: asObject(config.catalogs),
    lanes: asObject(config.lanes),
    upstreamHints: new Map(),
  };
  return [
    ...keyProblems(checker),
    ...oidcProblems(config),
    ...sealingProblems(checker),
    ...listenProblems(checker),
    ...storeProblems(config, surroundings),
    ...upstreamProblems(checker),
    ...catalogProblems(checker),
    ...laneProblems(raw, checker),
    ...hostedProblems(config, surroundings),
  ];
}

/** The configuration's sections, and the facts that they are checked against. */
interface Checker {
  config: Fields;
  upstreams: Fields;
  catalogs: Fields;
  lanes: Fields;
  /** The hints by an unknown upstream's name: thousands of models may have the same one. */
  upstreamHints: Map<string, string>;
  drivers: Surroundings["drivers"];
  providers: Providers;
  /** The catalog plugins. */
  plugins: Surroundings["catalogs"];
  lookup: SecretLookup;
}

type Fields = Readonly<Record<string, unknown>>;
type Problems = Generator<Problem, void>;

function* keyProblems({ config, lanes, lookup }: Checker): Problems {
  const names = new Set<string>();
  for (const [index, key] of items(config.keys)) {
    const path = `keys[${index}]`;
    const { name, secret, lanes: opened, team } = asObject(key);
    const teams = asObject(config.teams);
    if (typeof team === "string" && !Object.hasOwn(teams, team)) {
      yield { path: `${path}.team`, message: `Cannot find team "${team}"${hint(team, Object.keys(teams))}` };
    }
    if (typeof name === "string" && names.has(name)) {
      yield { path: `${path}.name`, message: `Two keys have the name "${name}"` };
    }
    if (typeof name === "string") names.add(name);
    yield* secretProblems(`${path}.secret`, secret, lookup);
    yield* missingProblems(`${path}.secret`, secret, lookup);
    for (const [position, lane] of items(opened)) {
      if (typeof lane !== "string" || Object.hasOwn(lanes, lane)) continue;
      const message = `Cannot find lane "${lane}"${hint(lane, Object.keys(lanes))}`;
      yield { path: `${path}.lanes[${position}]`, message };
    }
  }
}

function* sealingProblems({ config, lookup }: Checker): Problems {
  const { key } = asObject(config.sealing);
  yield* missingProblems("sealing.key", key, lookup);
  const { at, subject, value } = namedSecret(key, lookup) ?? {};
  if (!value || value.length >= LEAST_SECRET) return;
  yield { path: `sealing.key${at}`, message: `${subject} must have at least ${LEAST_SECRET} characters` };
}

function* listenProblems({ config }: Checker): Problems {
  const { hostname } = asObject(config.listen);
  const isOpen = items(config.keys).length === 0 && config.storedKeys !== true && !config.oidc && !takesTokens(config);
  if (typeof hostname !== "string" || isLoopback(hostname) || !isOpen) return;
  yield {
    path: "listen.hostname",
    message:
      `Cannot listen on "${hostname}" without keys, because others could use your upstreams: export LANEWAY_KEY=... ` +
      `and add "keys": [{ "name": "me", "secret": { "env": "LANEWAY_KEY" } }]`,
  };
}

function* upstreamProblems(checker: Checker): Problems {
  for (const [name, upstream] of Object.entries(checker.upstreams)) {
    const path = `upstreams.${name}`;
    yield* upstreamCatalogProblems(path, asObject(upstream), checker);
    yield* secretProblems(`${path}.secret`, asObject(upstream).secret, checker.lookup);
    yield* providerProblems(path, asObject(upstream), checker.providers, checker.config);
    yield* driverProblems(path, asObject(upstream), checker);
  }
}

/** The settings of an upstream that name a catalog, with the ability that the catalog needs and the words if it lacks that. */
const CATALOG_SETTINGS = [
  ["catalog", "finds", "lists models but cannot locate them"],
  ["tokenizers", "tokenizes", "cannot provide tokenizer files"],
  ["prices", "hasPrices", "does not say what models cost"],
] as const;

function* upstreamCatalogProblems(path: string, upstream: Fields, checker: Checker): Problems {
  const { plugins } = checker;
  for (const [setting, can, lacking] of CATALOG_SETTINGS) {
    const name = upstream[setting];
    yield* missingCatalog(`${path}.${setting}`, name, checker);
    const { plugin } = asObject(typeof name === "string" ? checker.catalogs[name] : undefined);
    if (typeof plugin !== "string" || !Object.hasOwn(plugins, plugin) || plugins[plugin]![can]) continue;
    const able = quoted(Object.keys(plugins).filter((one) => plugins[one]![can]));
    yield {
      path: `${path}.${setting}`,
      message: `Catalog "${name}" ${lacking}: use a plugin that can, such as ${able}`,
    };
  }
}

function* driverProblems(path: string, upstream: Fields, checker: Checker): Problems {
  const { driver: name, provider, baseUrl, counter } = upstream;
  const { drivers, providers } = checker;
  if (typeof name !== "string") return;
  if (!Object.hasOwn(drivers, name)) {
    yield { path: `${path}.driver`, message: `Cannot find driver "${name}"${driverHint(name, checker)}` };
    return;
  }
  const { counters, reads, needsBaseUrl } = drivers[name]!;
  if (typeof counter === "string" && !counters.includes(counter)) {
    const message = `Driver "${name}" does not support counter "${counter}": it supports ${quoted(counters)}`;
    yield { path: `${path}.counter`, message };
  }
  for (const quirk of OWN_QUIRKS) {
    if (reads.includes(quirk) || upstream[quirk] === undefined) continue;
    yield { path: `${path}.${quirk}`, message: `Driver "${name}" does not support this setting: remove it` };
  }
  if (!needsBaseUrl || baseUrl !== undefined) return;
  yield { path: `${path}.baseUrl`, message: missingUrl(name, provider, providers) };
}

function* catalogProblems({ catalogs, plugins }: Checker): Problems {
  for (const [name, catalog] of Object.entries(catalogs)) {
    const { plugin } = asObject(catalog);
    if (typeof plugin !== "string" || Object.hasOwn(plugins, plugin)) continue;
    const message = `Cannot find catalog plugin "${plugin}"${hint(plugin, Object.keys(plugins))}`;
    yield { path: `catalogs.${name}.plugin`, message };
  }
}

function* laneProblems(raw: unknown, checker: Checker): Problems {
  const { config, lanes } = checker;
  const isNone = Object.keys(lanes).length === 0 && (config.lanes === undefined || isJsonObject(config.lanes));
  if (isJsonObject(raw) && isNone) {
    const message =
      'A gateway without lanes serves nothing: add one, or start from the default with "extends": "default"';
    yield { path: "lanes", message };
  }
  for (const [name, lane] of Object.entries(lanes)) {
    const path = `lanes.${name}`;
    const { models, upstreams } = asObject(lane);
    for (const [model, alias] of Object.entries(asObject(models))) {
      const { task, targets } = asObject(alias);
      for (const [index, target] of items(targets)) {
        yield* servingProblems(
          `${path}.models.${model}.targets[${index}].upstream`,
          asObject(target).upstream,
          task,
          checker,
        );
      }
    }
    yield* laneCatalogProblems(path, asObject(lane), checker);
    for (const [task, upstream] of Object.entries(asObject(upstreams))) {
      yield* servingProblems(`${path}.upstreams.${task}`, upstream, task, checker);
    }
  }
}

function* laneCatalogProblems(path: string, { catalog, upstreams }: Fields, checker: Checker): Problems {
  const named = Array.isArray(catalog) ? items(catalog) : [[undefined, catalog] as const];
  for (const [index, name] of named) {
    yield* missingCatalog(`${path}.catalog${index === undefined ? "" : `[${index}]`}`, name, checker);
    const isKnown = typeof name === "string" && Object.hasOwn(checker.catalogs, name);
    if (!isKnown || Object.keys(asObject(upstreams)).length > 0) continue;
    const message = `Missing: no upstream serves the models of catalog "${name}"; name one for each task`;
    yield { path: `${path}.upstreams`, message };
  }
}

/** Problems with an upstream that a lane names: it must exist and serve the task. */
function* servingProblems(path: string, name: unknown, task: unknown, checker: Checker): Problems {
  if (typeof name !== "string") return;
  const { upstreams, drivers, upstreamHints: hints } = checker;
  if (!Object.hasOwn(upstreams, name)) {
    if (!hints.has(name)) hints.set(name, hint(name, Object.keys(upstreams)));
    yield { path, message: `Cannot find upstream "${name}"${hints.get(name)}` };
    return;
  }
  const { driver } = asObject(upstreams[name]);
  if (typeof driver !== "string" || !Object.hasOwn(drivers, driver) || !isTask(task)) return;
  const { tasks } = drivers[driver]!;
  if (tasks.includes(task)) return;
  const message = `Upstream "${name}" does not serve task "${task}": its driver "${driver}" serves ${quoted(tasks)}`;
  yield { path, message };
}

function* missingCatalog(path: string, name: unknown, { catalogs }: Checker): Problems {
  if (typeof name !== "string" || Object.hasOwn(catalogs, name)) return;
  yield { path, message: `Cannot find catalog "${name}"${hint(name, Object.keys(catalogs))}` };
}

/** A file with such a character counts as one without a secret. */
function* secretProblems(path: string, reference: unknown, lookup: SecretLookup): Problems {
  const { at, subject, value } = namedSecret(reference, lookup) ?? {};
  if (at !== ".env" || value === undefined || /^[\x21-\x7e]*$/.test(value)) return;
  yield { path: `${path}${at}`, message: `${subject} contains a character that is not allowed in a header` };
}

function items(value: unknown): [number, unknown][] {
  return [...asList(value).entries()];
}

function isTask(value: unknown): value is Task {
  return TASKS.some((task) => task === value);
}
