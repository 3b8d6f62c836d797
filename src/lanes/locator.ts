import type { ModelInfo, Task } from "../canonical/models.ts";
import type { PlannedTarget, Price } from "../contract/planned_target.ts";
import { GatewayError } from "../errors.ts";
import type { Alias } from "../config/lane_schema.ts";
import { quirksOf } from "./alias.ts";
import type { ModelFinder } from "./finder.ts";
import type { Resolution } from "./resolution.ts";
import type { Listing } from "./listing.ts";
import { isPurposeUnknown, type TaskCheck } from "./tasks.ts";

export interface LocatorOptions {
  lane: string;
  /** By task: the upstream that serves models that the lane does not list. */
  upstreams: Readonly<Partial<Record<Task, string>>>;
  /** By upstream: the finder that knows where its models are. */
  finders: ReadonlyMap<string, ModelFinder>;
  listing: Listing;
  checkTask: TaskCheck;
}

/** Finds the targets of models. */
export class Locator {
  readonly #options: LocatorOptions;
  /** The finder of an upstream that serves unlisted models. Any one of them can identify a model's purpose. */
  readonly #finder?: ModelFinder;
  readonly #placed = new WeakMap<Alias, Resolution>();

  constructor(options: LocatorOptions) {
    this.#options = options;
    const { upstreams, finders } = options;
    this.#finder = Object.values(upstreams).map((name) => finders.get(name)).find((one) => one !== undefined);
  }

  /** What the services behind the lane's upstreams know about a model. `undefined` if none of them can be asked. */
  async find(model: string): Promise<Awaited<ReturnType<ModelFinder["find"]>> | undefined> {
    return await this.#finder?.find(model);
  }

  /** The alias with its destinations, if no finder is needed. The result is cached. */
  placed(model: string, task: Task, alias: Alias): Resolution | undefined {
    const { targets } = alias;
    if (targets.some(({ upstream }) => this.#options.finders.has(upstream))) return undefined;
    this.#options.checkTask(model, { tasks: [alias.task] }, task);
    let known = this.#placed.get(alias);
    if (known) return known;
    const quirks = quirksOf(alias);
    known = {
      ...alias,
      targets: targets.map((target) => {
        const { upstream, model } = target;
        return { upstream, model, ...quirks, ...factsOf(target, alias) };
      }),
    };
    this.#placed.set(alias, known);
    return known;
  }

  /** The destinations of all targets, in order. Targets without one are skipped, unless no destination is left. */
  async locateAlias(model: string, task: Task, alias: Alias): Promise<PlannedTarget[]> {
    const { targets } = alias;
    const quirks = quirksOf(alias);
    const located = await Promise.allSettled(
      targets.map(async (target) => {
        const places = await this.#locate(model, task, target, () => Promise.resolve([alias.task]));
        return places.map((place): PlannedTarget => ({ ...place, ...factsOf(target, alias) }));
      }),
    );
    const destinations = located.flatMap((result) => result.status === "fulfilled" ? result.value : []);
    const failed = located.find((result) => result.status === "rejected");
    if (destinations.length === 0) throw failed?.reason ?? unserved(model, task);
    return destinations.map((destination) => ({ ...destination, ...quirks }));
  }

  /** Resolves a model that a catalog may know, for an upstream that accepts any name. */
  async locateOpen(model: string, task: Task): Promise<Resolution> {
    const { upstreams, finders, listing, checkTask } = this.#options;
    const upstream = upstreams[task];
    if (upstream !== undefined && finders.has(upstream)) {
      const targets = await this.#locate(model, task, { upstream, model }, () => this.#listedTasks(model));
      if (targets.length === 0) throw unserved(model, task);
      return { targets };
    }
    const listed = await listing.find(model);
    const known = typeof listed === "object" ? listed : undefined;
    checkTask(model, { tasks: known ? [known.task] : [] }, task);
    if (listed === "unknown") await this.checkUnlisted(model, task);
    if (upstream === undefined) throw this.unknown(model, Object.keys(upstreams).length > 0 ? task : undefined);
    return { targets: [{ upstream, model }], ...(known && limitsOf(known)) };
  }

  /** Checks a model that no catalog lists. It may be known for another task, or be too new for the list. */
  async checkUnlisted(model: string, task: Task): Promise<void> {
    const found = await this.find(model) ?? "unknown";
    if (found === "unknown") throw this.unknown(model);
    if (found === "unreachable" || isPurposeUnknown(found, task)) return;
    this.#options.checkTask(model, { tasks: found.tasks, other: found.otherTask }, task);
  }

  /** `task`: set if the lane serves unlisted models, but none for this task. */
  unknown(model: string, task?: Task): GatewayError {
    const purpose = task ? ` for ${task}` : "";
    const message = `Cannot find model "${model}"${purpose} in lane "${this.#options.lane}"`;
    return new GatewayError("model_not_found", message, { param: "model" });
  }

  /**
   * The providers of a model at an upstream. Its task is `configured` if the upstream's catalog does not report one. Throws if
   * the model is for another task or nobody serves it.
   */
  async #locate(
    model: string,
    task: Task,
    target: { upstream: string; model: string },
    configured: () => Promise<readonly Task[]>,
  ): Promise<PlannedTarget[]> {
    const { finders, checkTask } = this.#options;
    const { upstream, model: name } = target;
    const finder = finders.get(upstream);
    if (!finder) {
      checkTask(model, { tasks: await configured() }, task);
      return [{ upstream, model: name }];
    }
    const found = await finder.find(name);
    if (found === "unknown") throw this.unknown(model);
    const known = found === "unreachable" || isPurposeUnknown(found, task) ? undefined : found;
    checkTask(model, { tasks: known?.tasks ?? await configured(), other: known?.otherTask }, task);
    const places = known ? finder.choose(known, name, task) : finder.guess(name, task);
    const isGuessed = found === "unreachable";
    return places.map(({ task: _, ...place }) => ({ ...place, upstream, ...(isGuessed && { guessed: true }) }));
  }

  async #listedTasks(model: string): Promise<readonly Task[]> {
    const listed = await this.#options.listing.find(model);
    return typeof listed === "object" ? [listed.task] : [];
  }
}

function factsOf({ upstream, model, price, weight = 0 }: Alias["targets"][number], alias: Alias) {
  const hasShares = alias.targets.some(({ weight = 0 }) => weight > 0);
  return { ...pricedAt(price, alias), ...(hasShares && { share: { of: `${upstream}/${model}`, weight } }) };
}

function pricedAt(own: Price | undefined, alias: Alias): Pick<PlannedTarget, "price"> {
  const price = own ?? alias.price;
  return price ? { price } : {};
}

function limitsOf({ contextLength, maxOutputTokens, inputModalities }: ModelInfo): Omit<Resolution, "targets"> {
  return { contextLength, maxOutputTokens, inputModalities: inputModalities && [...inputModalities] };
}

function unserved(model: string, task: Task): GatewayError {
  const message = `Cannot find a provider that serves model "${model}" for ${task} now`;
  return new GatewayError("model_not_found", message, { param: "model" });
}
