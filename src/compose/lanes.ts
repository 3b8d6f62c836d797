import { type ModelInfo, type Task, TASKS } from "../canonical/models.ts";
import type { CatalogCache } from "../lanes/catalog.ts";
import { createLane, type Lane, rankUpstreams } from "../lanes/lane.ts";
import type { Upstream } from "../upstream/send.ts";
import { createServerList, type Source } from "./catalogs.ts";
import { endpointsByTask } from "./plugins.ts";
import type { World } from "./world.ts";

/** The configured lanes by name. */
export function createLanes(
  world: World,
  sources: ReadonlyMap<string, Source>,
  upstreams: ReadonlyMap<string, Upstream>,
): Map<string, Lane> {
  const { config, plugins, clocks: { now } } = world;
  const finders = new Map(
    Object.entries(config.upstreams).flatMap(([name, { catalog = "" }]) => {
      const finder = sources.get(catalog)?.finder;
      return finder ? [[name, finder] as const] : [];
    }),
  );
  const lacking = new Set(
    Array.from(upstreams.values()).flatMap(({ name, missingSecret }) => missingSecret ? [name] : []),
  );
  const rankOf = rankUpstreams(config.upstreams, lacking);
  const endpoints = endpointsByTask(plugins.protocols);
  const created = Math.floor(now() / 1000);
  return new Map(
    Object.entries(config.lanes).map(([name, { catalog = [], ...lane }]) => {
      const catalogs = [catalog].flat().flatMap((one) => sources.get(one)?.list ?? []);
      const offers = catalogs.length > 0 ? [] : offersOf(lane.upstreams, upstreams, world);
      return [name, createLane(name, { ...lane, catalogs, offers, finders, endpoints, rankOf, created })];
    }),
  );
}

/**
 * The models that the upstreams of a lane list themselves, for a lane without a catalog. Each model gets a task that
 * its upstream has in the lane.
 */
function offersOf(
  lane: Partial<Record<Task, string>>,
  upstreams: ReadonlyMap<string, Upstream>,
  { config, keep, clocks: { monotonic }, process: { stop } }: World,
): CatalogCache[] {
  return [...new Set(Object.values(lane))].flatMap((name) => {
    const upstream = upstreams.get(name);
    const make = () => upstream && createServerList(upstream, { now: monotonic, signal: stop.signal });
    const from = [config.upstreams[name], upstream?.hasSecretFile ? upstream.secret : undefined];
    const list = keep(`models of ${name}`, from, make);
    return list ? [withTasks(list, TASKS.filter((task) => lane[task] === name))] : [];
  });
}

/** Adds the tasks, because servers do not state a model's task. The lane states the tasks of its upstreams. */
function withTasks(list: CatalogCache, tasks: readonly Task[]): CatalogCache {
  const [first = "chat"] = tasks;
  const withTask = (model: ModelInfo) => tasks.includes(model.task) ? model : { ...model, task: first };
  return { models: async () => new Map([...await list.models()].map(([id, model]) => [id, withTask(model)])) };
}
