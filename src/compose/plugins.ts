import { type Task, TASKS } from "../canonical/models.ts";
import { type ModelOperation, TASK_OF } from "../canonical/operations.ts";
import type { Surroundings } from "../config/check.ts";
import type { Catalog } from "../contract/catalog.ts";
import type { Driver } from "../contract/driver.ts";
import type { Providers } from "../contract/provider.ts";
import type { SearchBackend } from "../contract/search.ts";
import type { AnyProtocol } from "../contract/protocol.ts";
import type { StagePlugin } from "../contract/stage.ts";

/** The plugins of a gateway. Each list replaces the built-in one. */
export interface Plugins {
  /** The endpoints for clients. If two accept a request, the first serves it. */
  protocols: readonly AnyProtocol[];
  /** The ways of calling upstreams. The configuration names one for each upstream. */
  drivers: readonly Driver[];
  /** The services whose settings are known. A configuration may name one for an upstream. */
  providers: Providers;
  /** The hub of the built-in configuration: its name for people, and the page on which they create a token. */
  hub?: { title: string; keysAt: string };
  /** The sources of lists of models. The configuration names one for each catalog. */
  catalogs: readonly Catalog[];
  /** Services that search the web. The configuration names one. */
  searchBackends: readonly SearchBackend[];
  /** The stages that requests pass at their target, in this order. Each exists if the configuration has its section. */
  stages: readonly StagePlugin[];
}

/** The facts about plugins that the checks of a configuration need. */
export function pluginFacts(
  { drivers, providers, catalogs, searchBackends, stages }: Plugins,
): Pick<Surroundings, "drivers" | "providers" | "catalogs" | "searchBackends" | "stages"> {
  const facts = drivers.map(({ name, operations, counters = [], reads = [] }) => {
    const served = Object.keys(operations).map((operation) => TASK_OF[operation as ModelOperation]);
    const tasks = TASKS.filter((task: Task) => served.includes(task));
    return [name, { tasks, needsBaseUrl: Object.values(operations).some((way) => "request" in way), counters, reads }];
  });
  const finding = catalogs.map(({ name, finder, tokenizerFiles, hasPrices = false }) => [
    name,
    { finds: finder !== undefined, tokenizes: tokenizerFiles !== undefined, hasPrices },
  ]);
  const searching = searchBackends.map(({ name, secret }) => [name, { needsSecret: secret !== undefined }]);
  return {
    drivers: Object.fromEntries(facts),
    providers,
    catalogs: Object.fromEntries(finding),
    searchBackends: Object.fromEntries(searching),
    stages: Object.fromEntries(stages.map(({ name, description, options }) => [name, { description, options }])),
  };
}

const LANE = "/:lane";

/**
 * The paths below a lane that run a model, by the task that the model needs. Paths that contain the model's name are
 * left out, because error messages suggest these paths.
 */
export function endpointsByTask(protocols: readonly AnyProtocol[]): Partial<Record<Task, string[]>> {
  const paths = protocols
    .filter(({ operation, pattern }) =>
      operation !== "countTokens" && TASK_OF[operation] && pattern.pathname.startsWith(LANE)
    )
    .map(({ operation, pattern }) => ({ task: TASK_OF[operation], path: pattern.pathname.slice(LANE.length) }))
    .filter(({ path }) => !path.includes(":"));
  return Object.fromEntries(
    TASKS.map((task) => [task, [...new Set(paths.filter((one) => one.task === task).map(({ path }) => path))]]),
  );
}
