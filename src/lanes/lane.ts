import type { Effort } from "../canonical/generate.ts";
import { isPattern, type Modality, type ModelInfo, type Task } from "../canonical/models.ts";
import { type OperationName, TASK_OF } from "../canonical/operations.ts";
import { GatewayError, toGatewayError } from "../errors.ts";
import { createFinder } from "./aliases.ts";
import type { CatalogCache } from "./catalog.ts";

/** What a model can take; nothing where it is not known. */
export interface Limits {
  /** The levels of reasoning effort that the model knows; empty for none. */
  efforts?: readonly Effort[];
  /** Tokens of input and output together. */
  contextLength?: number;
  maxOutputTokens?: number;
  inputModalities?: readonly Modality[];
}

/** What a model name means for one operation. */
export interface Resolution extends Limits {
  /** In order of preference. */
  targets: readonly { upstream: string; model: string }[];
}

/** A curated name, and where its model is. */
export interface Alias extends Resolution {
  task: Task;
  displayName?: string;
  ownedBy?: string;
}

export interface LaneOptions {
  /** By name, or by pattern: `*` in it is any text. */
  models: Readonly<Record<string, Alias>>;
  /** By task: the upstream that gets what the lane does not list, under the name that the client wrote. */
  upstreams: Readonly<Partial<Record<Task, string>>>;
  /** What those upstreams offer. Without it they are asked for any name. */
  catalog?: CatalogCache;
  /** When the lane began to offer its models, in seconds since the epoch. */
  created: number;
}

/** A path prefix with its own models. */
export interface Lane {
  name: string;
  /** The lane's own models, then the catalog's. `note` hears of a catalog that gives none. */
  list(note: (text: string) => void): Promise<ModelInfo[]>;
  /** Throws `model_not_found`. */
  get(model: string): Promise<ModelInfo>;
  /** Throws `model_not_found`, or `model_task_mismatch` for a model that does not do what is asked. */
  resolve(model: string, operation: OperationName): Promise<Resolution>;
}

/** What the catalog has to say of a name. */
type Found = { model: ModelInfo } | "unknown" | "unreachable";

export function createLane(name: string, { models, upstreams, catalog, created }: LaneOptions): Lane {
  const findAlias = createFinder(models);
  const own = Object.entries(models)
    .filter(([id]) => !isPattern(id))
    .map(([id, alias]) => describe(id, alias, created));
  const unknown = (model: string) =>
    new GatewayError("model_not_found", `Cannot find model "${model}" in lane "${name}"`, { param: "model" });

  /** A catalog that cannot be reached knows no more than the lane: then the upstream decides. */
  async function look(model: string): Promise<Found> {
    if (!catalog) return "unreachable";
    let listed;
    try {
      listed = await catalog.models();
    } catch {
      return "unreachable";
    }
    const known = listed.get(model) ?? listed.get(withoutPolicy(model));
    return known ? { model: known } : "unknown";
  }

  return {
    name,
    async list(note) {
      if (!catalog) return own;
      try {
        const listed = await catalog.models();
        return [...own, ...[...listed.values()].filter(({ id }) => !Object.hasOwn(models, id))];
      } catch (thrown) {
        note(`left out the catalog: ${toGatewayError(thrown).message}`);
        return own;
      }
    },
    async get(model) {
      const alias = findAlias(model);
      if (alias) return describe(model, alias, created);
      const found = await look(model);
      if (typeof found === "object") return { ...found.model, id: model };
      // The upstream knows what it serves; the lane can only say that it would ask.
      if (found === "unknown" || !upstreams.chat) throw unknown(model);
      return { id: model, task: "chat", created, ownedBy: model.includes("/") ? model.split("/")[0]! : name };
    },
    async resolve(model, operation) {
      const task = TASK_OF[operation];
      const alias = findAlias(model);
      if (alias) {
        checkTask(model, alias.task, task);
        return alias;
      }
      const found = await look(model);
      if (found === "unknown") throw unknown(model);
      if (typeof found === "object") checkTask(model, found.model.task, task);
      const upstream = task && upstreams[task];
      if (!upstream) throw unknown(model);
      const targets = [{ upstream, model }];
      if (found === "unreachable") return { targets };
      const { contextLength, maxOutputTokens, inputModalities } = found.model;
      return { targets, contextLength, maxOutputTokens, inputModalities };
    },
  };
}

function checkTask(model: string, task: Task, wanted: Task | undefined): void {
  if (!wanted || task === wanted) return;
  const message = `Model "${model}" is for ${task}, and this endpoint needs a model for ${wanted}`;
  throw new GatewayError("model_task_mismatch", message, { param: "model" });
}

/** `org/model:policy` as `org/model`: a policy follows the last colon after the last slash, and is the upstream's affair. */
function withoutPolicy(model: string): string {
  const colon = model.lastIndexOf(":");
  return colon > model.lastIndexOf("/") && colon < model.length - 1 ? model.slice(0, colon) : model;
}

function describe(id: string, alias: Alias, created: number): ModelInfo {
  const { task, ownedBy, displayName, contextLength, maxOutputTokens, inputModalities, efforts, targets } = alias;
  const owner = ownedBy ?? targets[0]?.model.split("/").at(-2) ?? targets[0]?.upstream ?? "";
  return { id, task, created, ownedBy: owner, displayName, contextLength, maxOutputTokens, inputModalities, efforts };
}
