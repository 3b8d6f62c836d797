import type { Found } from "../contract/catalog.ts";
import { isPattern, type ModelInfo, type Task } from "../canonical/models.ts";
import { type OperationName, TASK_OF } from "../canonical/operations.ts";
import { type GatewayError, toGatewayError } from "../errors.ts";
import type { Alias, ContinuationSettings } from "../config/lane_schema.ts";
import { describe, withoutWindow } from "./alias.ts";
import type { CatalogCache } from "./catalog.ts";
import type { ModelFinder } from "./finder.ts";
import { Listing } from "./listing.ts";
import { Locator } from "./locator.ts";
import { createFinder } from "./patterns.ts";
import type { Resolution } from "./resolution.ts";
import { createTaskCheck, type TaskCheck } from "./tasks.ts";

export interface LaneOptions extends ContinuationSettings {
  /** By name or pattern. `*` in a pattern matches any text. */
  models: Readonly<Record<string, Alias>>;
  /** By task: the upstream that serves models that the lane does not list, under the name that the client wrote. */
  upstreams: Readonly<Partial<Record<Task, string>>>;
  /** The models that those upstreams offer. Without catalogs, the upstreams are asked for any name. */
  catalogs?: readonly CatalogCache[];
  /**
   * The models that those upstreams list themselves, for clients that list models. Other models may still be served, because many
   * servers accept more names than they list.
   */
  offers?: readonly CatalogCache[];
  /** By upstream: the finder that knows where its models are. */
  finders?: ReadonlyMap<string, ModelFinder>;
  /** By task: the paths below the lane that accept models for it. */
  endpoints?: Readonly<Partial<Record<Task, readonly string[]>>>;
  /** The place of an upstream's models in lists. By default all are equal. */
  rankOf?: (upstream: string) => number;
  /** When the lane started to offer its models, in seconds since the epoch. */
  created: number;
}

/** A path prefix with its own models. */
export interface Lane {
  name: string;
  /** How answers go on that break off, where a model does not say it. */
  readonly continuing: ContinuationSettings;
  /**
   * The lane's own models, the built-in ones last, then those of the catalogs. Models that no upstream can serve come after all
   * others, because many clients propose the first one. `note` receives the reason if a catalog cannot be read.
   */
  list(note: (text: string) => void): Promise<ModelInfo[]>;
  /** Throws `model_not_found`. */
  get(model: string): Promise<ModelInfo>;
  /** Throws `model_not_found`, or `model_task_mismatch` if the model does not support the operation. */
  resolve(model: string, operation: OperationName): Promise<Resolution>;
  /**
   * Explains an upstream's refusal of a model: `model_task_mismatch` if the catalogs now know that the model is for another
   * task.
   */
  explainRefusal(model: string, operation: OperationName): Promise<GatewayError | undefined>;
  /** The name without the suffix that agents add for a long window, unless it is part of a model's name. */
  meant(model: string): Promise<string>;
  /**
   * Whether a request without a lane belongs here: because the model is the lane's own, or because the lane accepts any model
   * for the task.
   */
  takes(model: string, task: Task): "own" | "any" | undefined;
}

export function createLane(name: string, options: LaneOptions): Lane {
  return new ConfiguredLane(name, options);
}

/** Ranks upstreams: those that are called, then the one that is built in, then those without their secret. */
export function rankUpstreams(
  upstreams: Readonly<Record<string, { baseUrl?: string }>>,
  lacking: ReadonlySet<string>,
): (name: string) => number {
  return (name) => lacking.has(name) ? 2 : upstreams[name]?.baseUrl === undefined ? 1 : 0;
}

/** The place of a model in lists: many clients propose the first one. */
export function bestRank({ targets }: Pick<Alias, "targets">, rankOf: (upstream: string) => number): number {
  return Math.min(...targets.map(({ upstream }) => rankOf(upstream)));
}

class ConfiguredLane implements Lane {
  readonly #options: LaneOptions;
  readonly #findAlias: (name: string) => Alias | undefined;
  /** Finds aliases whose own names end like the suffix for a long window. */
  readonly #findLong: (name: string) => Alias | undefined;
  readonly #own: readonly ModelInfo[];
  readonly #listing: Listing;
  readonly #locator: Locator;
  readonly #checkTask: TaskCheck;
  /**
   * The resolutions of the lane's own names, by operation, if no finder is needed. Names that match a pattern are not kept, because
   * clients choose them.
   */
  readonly #resolved = new Map<OperationName, Map<string, Promise<Resolution>>>();

  readonly name: string;
  readonly continuing: ContinuationSettings;

  constructor(name: string, options: LaneOptions) {
    this.name = name;
    this.continuing = options;
    const { models, upstreams, catalogs = [], offers = [], finders = new Map(), endpoints = {}, created } = options;
    this.#options = options;
    this.#findAlias = createFinder(models);
    this.#findLong = createFinder(
      Object.fromEntries(Object.entries(models).filter(([id]) => withoutWindow(id) !== id)),
    );
    this.#own = Object.entries(models)
      .filter(([id]) => !isPattern(id))
      .map(([id, alias]) => describe(id, alias, created));
    this.#listing = new Listing(catalogs, offers);
    this.#checkTask = createTaskCheck(name, endpoints);
    const { checkTask, listing } = { checkTask: this.#checkTask, listing: this.#listing };
    this.#locator = new Locator({ lane: name, upstreams, finders, listing, checkTask });
  }

  async list(note: (text: string) => void): Promise<ModelInfo[]> {
    const listed = await this.#listing.models(note);
    const own = new Set(this.#own.map(({ id }) => id));
    const all = [...this.#own, ...listed.filter(({ id }) => !own.has(id))];
    const { models, upstreams, rankOf } = this.#options;
    if (!rankOf) return all;
    const rank = ({ id, task }: ModelInfo) =>
      Object.hasOwn(models, id) ? bestRank(models[id]!, rankOf) : Math.max(1, rankOf(upstreams[task] ?? ""));
    return all.toSorted((one, other) => rank(one) - rank(other));
  }

  async get(id: string): Promise<ModelInfo> {
    const { created, upstreams } = this.#options;
    const model = await this.meant(id);
    const alias = this.#findAlias(model);
    if (alias) return describe(id, alias, created);
    const listed = await this.#listing.find(model);
    if (typeof listed === "object") return { ...listed, id };
    const offered = await this.#listing.findOffered(model);
    if (offered) return { ...offered, id };
    const found = await this.#locator.find(model) ?? listed;
    const isKnown = typeof found === "object";
    // Only the upstream knows what it serves. The lane can only say that it would ask it.
    const isUnknown = isKnown ? isOfOtherTask(found) : found === "unknown" || !upstreams.chat;
    if (isUnknown) throw this.#locator.unknown(model);
    const task = isKnown ? found.tasks[0] ?? "chat" : "chat";
    return { id, task, created, ownedBy: model.includes("/") ? model.split("/")[0]! : this.name };
  }

  resolve(id: string, operation: OperationName): Promise<Resolution> {
    return this.#resolved.get(operation)?.get(id) ?? this.#resolve(id, operation);
  }

  async #resolve(id: string, operation: OperationName): Promise<Resolution> {
    const task = TASK_OF[operation];
    if (!task) throw new Error(`Operation "${operation}" runs no model`);
    const model = withoutWindow(id) === id ? id : await this.meant(id);
    const alias = this.#findAlias(model);
    if (!alias) return await this.#locator.locateOpen(model, task);
    const placed = this.#locator.placed(model, task, alias);
    if (!placed) return { ...alias, targets: await this.#locator.locateAlias(model, task, alias) };
    if (Object.hasOwn(this.#options.models, id)) this.#keep(id, operation, placed);
    return placed;
  }

  #keep(id: string, operation: OperationName, resolution: Resolution): void {
    let known = this.#resolved.get(operation);
    if (!known) this.#resolved.set(operation, known = new Map());
    known.set(id, Promise.resolve(resolution));
  }

  async explainRefusal(id: string, operation: OperationName): Promise<GatewayError | undefined> {
    const task = TASK_OF[operation];
    const model = await this.meant(id);
    if (!task || this.#findAlias(model)) return undefined;
    try {
      const listed = await this.#listing.find(model);
      if (typeof listed === "object") this.#checkTask(model, { tasks: [listed.task] }, task);
      else await this.#locator.checkUnlisted(model, task);
    } catch (thrown) {
      const error = toGatewayError(thrown);
      if (error.code === "model_task_mismatch") return error;
    }
    return undefined;
  }

  async meant(model: string): Promise<string> {
    const plain = withoutWindow(model);
    const isName = plain === model || this.#findLong(model) || typeof await this.#listing.find(model) === "object";
    return isName ? model : plain;
  }

  takes(model: string, task: Task): "own" | "any" | undefined {
    if (this.#findAlias(model) ?? this.#findAlias(withoutWindow(model))) return "own";
    return this.#options.upstreams[task] === undefined ? undefined : "any";
  }
}

/** Whether the model is known to be for none of our tasks. */
function isOfOtherTask({ tasks, otherTask, possibleTasks }: Found): boolean {
  return tasks.length === 0 && otherTask !== undefined && !possibleTasks;
}
