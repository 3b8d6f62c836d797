/** The second pass: what the schema cannot see, such as names that refer to nothing. */
import { isJsonObject } from "../canonical/json.ts";
import { type Task, TASKS } from "../canonical/models.ts";
import { OWN_QUIRKS, type OwnQuirk } from "../contract/quirks.ts";
import { hint } from "./hint.ts";
import { type Config, isVariableName } from "./schema.ts";

/** What is shorter can be guessed by whoever has something that was sealed with it. */
const LEAST_SECRET = 16;

/** One thing that is wrong with a configuration. `path` is `lanes.oss.upstreams.chat`, or empty for the whole. */
export interface Problem {
  path: string;
  message: string;
}

/** What the check needs to know of a driver. */
export interface DriverFacts {
  tasks: readonly Task[];
  /** Whether it makes calls, and hence needs to know where to. */
  needsBaseUrl: boolean;
  /** The endpoints with which it can have tokens counted. */
  counters: readonly string[];
  /** Which quirks it reads of those that not every driver does. */
  reads: readonly OwnQuirk[];
}

/** What the check needs to know of a catalog plugin. */
export interface CatalogFacts {
  /** Whether it tells where a single model is. */
  finds: boolean;
  /** Whether it has the files of models' tokenizers. */
  tokenizes: boolean;
}

export interface Surroundings {
  drivers: Readonly<Record<string, DriverFacts>>;
  catalogs: Readonly<Record<string, CatalogFacts>>;
  /** An environment variable's value; an empty one counts as not set. */
  env(name: string): string | undefined;
}

/**
 * All problems of a configuration as it was written, before the schema has judged it: what has the wrong type is passed
 * over here, because the schema reports it.
 */
export function check(raw: unknown, { drivers, catalogs: plugins, env }: Surroundings): Problem[] {
  const problems: Problem[] = [];
  const report = (path: string, message: string) => problems.push({ path, message });
  const config = fields(raw);
  const upstreams = fields(config.upstreams);
  const catalogs = fields(config.catalogs);
  const lanes = fields(config.lanes);

  const checkUpstream = (path: string, name: unknown, task: unknown) => {
    if (typeof name !== "string") return;
    if (!Object.hasOwn(upstreams, name)) {
      report(path, `Cannot find upstream "${name}"${hint(name, Object.keys(upstreams))}`);
      return;
    }
    const { driver } = fields(upstreams[name]);
    if (typeof driver !== "string" || !Object.hasOwn(drivers, driver) || !isTask(task)) return;
    const { tasks } = drivers[driver]!;
    if (!tasks.includes(task)) {
      report(path, `Upstream "${name}" does not serve task "${task}": its driver "${driver}" serves ${quoted(tasks)}`);
    }
  };

  const checkCatalog = (path: string, name: unknown) => {
    if (typeof name !== "string" || Object.hasOwn(catalogs, name)) return;
    report(path, `Cannot find catalog "${name}"${hint(name, Object.keys(catalogs))}`);
  };

  const checkSecret = (path: string, variable: unknown) => {
    if (typeof variable !== "string" || !isVariableName(variable)) return;
    if (!/^[\x21-\x7e]*$/.test(env(variable) ?? "")) {
      report(path, `Environment variable "${variable}" holds a character that no header can carry`);
    }
  };

  const checkIsSet = (path: string, variable: unknown) => {
    if (typeof variable === "string" && isVariableName(variable) && !env(variable)) {
      report(path, `Environment variable "${variable}" is not set: export ${variable}=...`);
    }
  };

  const names = new Set<string>();
  for (const [index, key] of items(config.keys)) {
    const { name, secret, lanes: opened } = fields(key);
    if (typeof name === "string" && names.has(name)) report(`keys[${index}].name`, `Two keys have the name "${name}"`);
    if (typeof name === "string") names.add(name);
    const variable = fields(secret).env;
    checkSecret(`keys[${index}].secret.env`, variable);
    checkIsSet(`keys[${index}].secret.env`, variable);
    for (const [position, lane] of items(opened)) {
      if (typeof lane !== "string" || Object.hasOwn(lanes, lane)) continue;
      report(`keys[${index}].lanes[${position}]`, `Cannot find lane "${lane}"${hint(lane, Object.keys(lanes))}`);
    }
  }

  const sealing = fields(fields(config.sealing).key).env;
  checkIsSet("sealing.key.env", sealing);
  const sealingKey = typeof sealing === "string" && isVariableName(sealing) ? env(sealing) : undefined;
  if (sealingKey && sealingKey.length < LEAST_SECRET) {
    report("sealing.key.env", `Environment variable "${sealing}" holds less than ${LEAST_SECRET} characters`);
  }

  const { hostname } = fields(config.listen);
  const isOpen = items(config.keys).length === 0 && config.storedKeys !== true && !takesTokens(config);
  if (typeof hostname === "string" && !isLoopback(hostname) && isOpen) {
    report(
      "listen.hostname",
      `Cannot listen on "${hostname}" without keys, because others could use your upstreams: export LANEWAY_KEY=... ` +
        `and add "keys": [{ "name": "me", "secret": { "env": "LANEWAY_KEY" } }]`,
    );
  }

  if (config.storedKeys === true && fields(config.store).kind === "memory") {
    report("storedKeys", 'Cannot keep keys in a store of kind "memory": other processes make them');
  }

  for (const [name, upstream] of Object.entries(upstreams)) {
    const { driver, baseUrl, secret, catalog, counter, tokenizers } = fields(upstream);
    checkCatalog(`upstreams.${name}.catalog`, catalog);
    checkCatalog(`upstreams.${name}.tokenizers`, tokenizers);
    const { plugin: kept } = fields(typeof tokenizers === "string" ? catalogs[tokenizers] : undefined);
    if (typeof kept === "string" && Object.hasOwn(plugins, kept) && !plugins[kept]!.tokenizes) {
      const having = Object.keys(plugins).filter((one) => plugins[one]!.tokenizes);
      report(
        `upstreams.${name}.tokenizers`,
        `Catalog "${tokenizers}" has no files: here its plugin must be one that has, such as ${quoted(having)}`,
      );
    }
    const { plugin } = fields(typeof catalog === "string" ? catalogs[catalog] : undefined);
    if (typeof plugin === "string" && Object.hasOwn(plugins, plugin) && !plugins[plugin]!.finds) {
      const finding = Object.keys(plugins).filter((one) => plugins[one]!.finds);
      report(
        `upstreams.${name}.catalog`,
        `Catalog "${catalog}" only lists models: here its plugin must be one that finds them, such as ${
          quoted(finding)
        }`,
      );
    }
    checkSecret(`upstreams.${name}.secret.env`, fields(secret).env);
    if (typeof driver !== "string") continue;
    const { counters } = Object.hasOwn(drivers, driver) ? drivers[driver]! : {};
    if (typeof counter === "string" && counters && !counters.includes(counter)) {
      report(
        `upstreams.${name}.counter`,
        `Driver "${driver}" cannot have tokens counted by "${counter}": it knows ${quoted(counters)}`,
      );
    }
    const { reads } = Object.hasOwn(drivers, driver) ? drivers[driver]! : {};
    for (const quirk of OWN_QUIRKS) {
      if (!reads || reads.includes(quirk) || fields(upstream)[quirk] === undefined) continue;
      report(`upstreams.${name}.${quirk}`, `Driver "${driver}" does not know this: leave it out`);
    }
    if (!Object.hasOwn(drivers, driver)) {
      report(`upstreams.${name}.driver`, `Cannot find driver "${driver}"${hint(driver, Object.keys(drivers))}`);
    } else if (drivers[driver]!.needsBaseUrl && baseUrl === undefined) {
      report(`upstreams.${name}.baseUrl`, `Missing: driver "${driver}" needs the URL that its calls go to`);
    }
  }

  for (const [name, catalog] of Object.entries(catalogs)) {
    const { plugin } = fields(catalog);
    if (typeof plugin !== "string" || Object.hasOwn(plugins, plugin)) continue;
    report(`catalogs.${name}.plugin`, `Cannot find catalog plugin "${plugin}"${hint(plugin, Object.keys(plugins))}`);
  }

  if (
    isJsonObject(raw) && Object.keys(lanes).length === 0 && (config.lanes === undefined || isJsonObject(config.lanes))
  ) {
    report(
      "lanes",
      'A gateway without lanes serves nothing: add one, or start from the default with "extends": "default"',
    );
  }
  for (const [laneName, lane] of Object.entries(lanes)) {
    const { models, upstreams: open, catalog } = fields(lane);
    for (const [modelName, model] of Object.entries(fields(models))) {
      const { task, targets } = fields(model);
      for (const [index, target] of items(targets)) {
        checkUpstream(
          `lanes.${laneName}.models.${modelName}.targets[${index}].upstream`,
          fields(target).upstream,
          task,
        );
      }
    }
    const named = Array.isArray(catalog) ? items(catalog) : [[undefined, catalog] as const];
    for (const [index, one] of named) {
      checkCatalog(`lanes.${laneName}.catalog${index === undefined ? "" : `[${index}]`}`, one);
      if (typeof one !== "string" || !Object.hasOwn(catalogs, one) || Object.keys(fields(open)).length > 0) continue;
      report(
        `lanes.${laneName}.upstreams`,
        `Missing: nothing serves the models of catalog "${one}"; say by task where they go`,
      );
    }
    for (const [task, upstream] of Object.entries(fields(open))) {
      checkUpstream(`lanes.${laneName}.upstreams.${task}`, upstream, task);
    }
  }
  return problems;
}

/** The upstreams whose secret's variable is not set: requests to them are answered 503. */
export function upstreamsWithoutSecret(
  config: Config,
  env: Surroundings["env"],
): { upstream: string; variable: string }[] {
  return Object.entries(config.upstreams)
    .flatMap(([upstream, { secret }]) =>
      secret && secret !== "client" && !env(secret.env) ? [{ upstream, variable: secret.env }] : []
    );
}

/** Whether there is an upstream to which callers bring a token of their own. */
export function takesTokens(config: { upstreams?: unknown }): boolean {
  return Object.values(fields(config.upstreams)).some((upstream) => fields(upstream).secret === "client");
}

/** Whether only this machine can reach a server that listens there. */
function isLoopback(hostname: string): boolean {
  return /^(localhost|127(\.\d{1,3}){3}|\[?::1\]?)$/i.test(hostname);
}

function fields(value: unknown): Record<string, unknown> {
  return isJsonObject(value) ? value : {};
}

function items(value: unknown): [number, unknown][] {
  return Array.isArray(value) ? [...value.entries()] : [];
}

function isTask(value: unknown): value is Task {
  return TASKS.some((task) => task === value);
}

function quoted(names: readonly string[]): string {
  return names.map((name) => `"${name}"`).join(", ") || "none";
}
