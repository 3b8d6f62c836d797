import { type Destination, withoutPolicy } from "../contract/destination.ts";
import type { Effort } from "../canonical/generate.ts";
import { withoutNulls } from "../canonical/json.ts";
import { INPUT_OF, isPattern, type Modality, type ModelInfo, type Task } from "../canonical/models.ts";
import { type OperationName, TASK_OF } from "../canonical/operations.ts";
import type { Found } from "../contract/catalog.ts";
import type { Quirks } from "../contract/quirks.ts";
import { GatewayError, toGatewayError } from "../errors.ts";
import { createFinder } from "./patterns.ts";
import type { CatalogCache } from "./catalog.ts";
import type { ModelFinder } from "./finder.ts";
import { drawFirst } from "./weights.ts";

/** What a model can take; nothing where it is not known. */
export interface Limits {
  /** The levels of reasoning effort that the model knows; empty for none. */
  efforts?: Effort[];
  /** Tokens of input and output together. */
  contextLength?: number;
  maxOutputTokens?: number;
  inputModalities?: readonly Modality[];
}

/** What a model name means for one operation. */
export interface Resolution extends Limits {
  /** In order of preference. */
  targets: readonly Destination[];
  /** After what silence of a streamed answer's target the next one is asked too, in milliseconds. */
  hedgeAfterMs?: number;
}

interface WeightedTarget {
  upstream: string;
  model: string;
  /** How large a share of new conversations begins here. */
  weight?: number;
}

/** A curated name, and where its model is. */
export interface Alias extends Limits {
  task: Task;
  /** In order of preference, but where they have weights. */
  targets: readonly WeightedTarget[];
  hedgeAfterMs?: number;
  displayName?: string;
  ownedBy?: string;
  voices?: Quirks["voices"];
  textForms?: Quirks["textForms"];
  structuredOutput?: Quirks["structuredOutput"];
  repairArguments?: boolean;
  defaultMaxTokens?: number;
}

export interface LaneOptions {
  /** By name, or by pattern: `*` in it is any text. */
  models: Readonly<Record<string, Alias>>;
  /** By task: the upstream that gets what the lane does not list, under the name that the client wrote. */
  upstreams: Readonly<Partial<Record<Task, string>>>;
  /** What those upstreams offer. Without any they are asked for any name. */
  catalogs?: readonly CatalogCache[];
  /**
   * What those upstreams list themselves: for clients that want to see what there is. What is not there may be served all the
   * same, because many servers take more names than they list.
   */
  offers?: readonly CatalogCache[];
  /** By upstream: who knows where its models are. */
  finders?: ReadonlyMap<string, ModelFinder>;
  /** By task: the paths below the lane that take a model of it. */
  endpoints?: Readonly<Partial<Record<Task, readonly string[]>>>;
  /** When the lane began to offer its models, in seconds since the epoch. */
  created: number;
}

/** A path prefix with its own models. */
export interface Lane {
  name: string;
  /** The lane's own models, then the catalogs'. `note` hears of a catalog that gives none. */
  list(note: (text: string) => void): Promise<ModelInfo[]>;
  /** Throws `model_not_found`. */
  get(model: string): Promise<ModelInfo>;
  /** Throws `model_not_found`, or `model_task_mismatch` for a model that does not do what is asked. */
  resolve(model: string, operation: OperationName): Promise<Resolution>;
  /**
   * Why an upstream that was asked for a model refused it, where the catalogs know by now that it is for another task:
   * `model_task_mismatch`.
   */
  explainRefusal(model: string, operation: OperationName): Promise<GatewayError | undefined>;
  /** The name without an agent's wish for a long window, unless a model is called so. */
  meant(model: string): Promise<string>;
  /** Whether a request that names no lane belongs here: because the model is the lane's own, or may be any for the task. */
  takes(model: string, task: Task): "own" | "any" | undefined;
}

/** What the catalogs have to say of a name. */
type Listed = ModelInfo | "unknown" | "unreachable";

export function createLane(name: string, options: LaneOptions): Lane {
  const {
    models,
    upstreams,
    catalogs = [],
    offers = [],
    finders = new Map<string, ModelFinder>(),
    endpoints = {},
    created,
  } = options;
  const findAlias = createFinder(models);
  const findLong = createFinder(Object.fromEntries(Object.entries(models).filter(([id]) => withoutWindow(id) !== id)));
  const own = Object.entries(models)
    .filter(([id]) => !isPattern(id))
    .map(([id, alias]) => describe(id, alias, created));
  // Where the lane sends what it does not list; any of them can tell what a model is for.
  const finder = Object.values(upstreams).map((upstream) => finders.get(upstream)).find((one) => one !== undefined);

  const unknown = (model: string) =>
    new GatewayError("model_not_found", `Cannot find model "${model}" in lane "${name}"`, { param: "model" });
  const unserved = (model: string, task: Task) => {
    const message = `Cannot find anybody who serves model "${model}" for ${task} now`;
    return new GatewayError("model_not_found", message, { param: "model" });
  };
  const pathsOf = (task: Task) => endpoints[task]?.map((path) => `/${name}${path}`).join(" or ");

  /** Does nothing where nobody knows what the model is for. */
  function checkTask(model: string, tasks: readonly Task[], wanted: Task, otherTask?: string): void {
    if (tasks.includes(wanted) || (tasks.length === 0 && !otherTask)) return;
    const paths = tasks.map(pathsOf).filter((path) => path !== undefined).join(" or ");
    const where = paths === "" ? "" : `, at ${paths}`;
    const purpose = tasks.join(" and ") || otherTask;
    const message = `Model "${model}" is for ${purpose}${where}; this endpoint needs a model for ${wanted}`;
    throw new GatewayError("model_task_mismatch", message, { param: "model" });
  }

  async function meant(model: string): Promise<string> {
    const plain = withoutWindow(model);
    return plain === model || findLong(model) || typeof await look(model) === "object" ? model : plain;
  }

  /** Catalogs that cannot be reached know no more than the lane: then the upstream decides. */
  async function look(model: string): Promise<Listed> {
    let all = catalogs.length > 0;
    for (const loading of catalogs.map((catalog) => catalog.models().catch(() => undefined))) {
      const listed = await loading;
      const known = listed?.get(model) ?? listed?.get(withoutPolicy(model));
      if (known) return known;
      all &&= listed !== undefined;
    }
    return all ? "unknown" : "unreachable";
  }

  async function offeredAs(model: string): Promise<ModelInfo | undefined> {
    for (const loading of offers.map((offer) => offer.models().catch(() => undefined))) {
      const known = (await loading)?.get(model);
      if (known) return known;
    }
    return undefined;
  }

  /**
   * Where an upstream has the model, whose task is `configured` where the upstream's catalog does not tell. Throws for a model
   * of another task, or one that nobody serves.
   */
  async function locate(
    model: string,
    task: Task,
    target: { upstream: string; model: string },
    configured: () => Promise<readonly Task[]>,
  ): Promise<Destination[]> {
    const finder = finders.get(target.upstream);
    if (!finder) {
      checkTask(model, await configured(), task);
      return [target];
    }
    const found = await finder.find(target.model);
    if (found === "unknown") throw unknown(model);
    const told = found === "unreachable" || isUntold(found, task) ? undefined : found;
    checkTask(model, told?.tasks ?? await configured(), task, told?.otherTask);
    const places = told ? finder.choose(told, target.model, task) : finder.guess(target.model, task);
    const isGuessed = found === "unreachable";
    return places.map(({ task: _, ...place }) => ({
      ...place,
      upstream: target.upstream,
      ...(isGuessed && { guessed: true }),
    }));
  }

  /** The destinations of all targets. One that has none is passed over, unless it is the last that is left. */
  async function locateAll(model: string, task: Task, alias: Alias): Promise<Destination[]> {
    const { task: own } = alias;
    const targets = drawFirst(alias.targets, Math.random);
    const located = await Promise.allSettled(
      targets.map(({ upstream, model: name }) =>
        locate(model, task, { upstream, model: name }, () => Promise.resolve([own]))
      ),
    );
    const destinations = located.flatMap((result) => result.status === "fulfilled" ? result.value : []);
    const failed = located.find((result) => result.status === "rejected");
    if (destinations.length === 0) throw failed?.reason ?? unserved(model, task);
    const quirks = quirksOf(alias);
    return destinations.map((destination) => ({ ...destination, ...quirks }));
  }

  /** A model that a catalog may know, for an upstream that takes any name. */
  async function resolveOpen(model: string, task: Task): Promise<Resolution> {
    const upstream = upstreams[task];
    if (upstream !== undefined && finders.has(upstream)) {
      const tasks = async () => {
        const listed = await look(model);
        return typeof listed === "object" ? [listed.task] : [];
      };
      const targets = await locate(model, task, { upstream, model }, tasks);
      if (targets.length === 0) throw unserved(model, task);
      return { targets };
    }
    const listed = await look(model);
    const known = typeof listed === "object" ? listed : undefined;
    checkTask(model, known ? [known.task] : [], task);
    if (listed === "unknown") await explainUnlisted(model, task);
    if (upstream === undefined) throw unknown(model);
    const { contextLength, maxOutputTokens, inputModalities } = known ?? {};
    return { targets: [{ upstream, model }], ...(known && { contextLength, maxOutputTokens, inputModalities }) };
  }

  /** A model that no catalog lists may be known for another task, or be too new for the list. */
  async function explainUnlisted(model: string, task: Task): Promise<void> {
    const found = await finder?.find(model) ?? "unknown";
    if (found === "unknown") throw unknown(model);
    if (found !== "unreachable" && !isUntold(found, task)) checkTask(model, found.tasks, task, found.otherTask);
  }

  return {
    name,
    meant,
    async list(note) {
      const listed = await Promise.all([...catalogs, ...offers].map((catalog) =>
        catalog.models().catch((thrown) => {
          note(`left out the catalog: ${toGatewayError(thrown).message}`);
          return new Map<string, ModelInfo>();
        })
      ));
      const all = new Map(own.map((model) => [model.id, model]));
      for (const [id, model] of listed.flatMap((models) => [...models])) if (!all.has(id)) all.set(id, model);
      return [...all.values()];
    },
    async get(id) {
      const model = await meant(id);
      const alias = findAlias(model);
      if (alias) return describe(id, alias, created);
      const listed = await look(model);
      if (typeof listed === "object") return { ...listed, id };
      const offered = await offeredAs(model);
      if (offered) return { ...offered, id };
      const found = await finder?.find(model) ?? listed;
      const isKnown = typeof found === "object";
      const isOfOtherTask = isKnown && found.tasks.length === 0 && found.otherTask !== undefined &&
        !found.possibleTasks;
      // The upstream knows what it serves; the lane can only say that it would ask.
      if (found === "unknown" || isOfOtherTask || (!isKnown && !upstreams.chat)) throw unknown(model);
      const task = isKnown ? found.tasks[0] ?? "chat" : "chat";
      return { id, task, created, ownedBy: model.includes("/") ? model.split("/")[0]! : name };
    },
    async resolve(id, operation) {
      const task = TASK_OF[operation];
      if (!task) throw new Error(`Operation "${operation}" runs no model`);
      const model = await meant(id);
      const alias = findAlias(model);
      return alias ? { ...alias, targets: await locateAll(model, task, alias) } : await resolveOpen(model, task);
    },
    async explainRefusal(id, operation) {
      const task = TASK_OF[operation];
      const model = await meant(id);
      if (!task || findAlias(model)) return undefined;
      try {
        const listed = await look(model);
        if (typeof listed === "object") checkTask(model, [listed.task], task);
        else await explainUnlisted(model, task);
      } catch (thrown) {
        const error = toGatewayError(thrown);
        if (error.code === "model_task_mismatch") return error;
      }
      return undefined;
    },
    takes(model, task) {
      if (findAlias(model) ?? findAlias(withoutWindow(model))) return "own";
      return upstreams[task] === undefined ? undefined : "any";
    },
  };
}

/** Whether nobody says what the model is for, as far as the task is concerned. */
function isUntold({ tasks, otherTask, possibleTasks }: Found, task: Task): boolean {
  return tasks.length === 0 && (!otherTask || possibleTasks?.includes(task) === true);
}

/** What the alias says of its model goes before what its upstream says. */
function quirksOf(alias: Alias): Quirks {
  const { voices, efforts, textForms, structuredOutput, repairArguments, defaultMaxTokens } = alias;
  return withoutNulls({ voices, efforts, textForms, structuredOutput, repairArguments, defaultMaxTokens });
}

/** Agents write `[1m]` after a model's name to ask for a window of a million tokens, and some leave it there. */
function withoutWindow(model: string): string {
  return model.replace(/(?<=.)\[1m\]$/i, "");
}

function describe(id: string, alias: Alias, created: number): ModelInfo {
  const { task, ownedBy, displayName, contextLength, maxOutputTokens, inputModalities, efforts, targets } = alias;
  const owner = ownedBy ?? targets[0]?.model.split("/").at(-2) ?? targets[0]?.upstream ?? "";
  const info = { id, task, created, ownedBy: owner, displayName, contextLength, maxOutputTokens, efforts };
  return { ...info, inputModalities: inputModalities ?? INPUT_OF[task] };
}
