import type { Effort } from "../canonical/generate.ts";
import type { ModelInfo, Task } from "../canonical/models.ts";
import { type OperationName, TASK_OF } from "../canonical/operations.ts";
import { GatewayError } from "../errors.ts";

/** A curated name, and where its model is. */
export interface Alias {
  task: Task;
  /** In order of preference. */
  targets: readonly { upstream: string; model: string }[];
  displayName?: string;
  ownedBy?: string;
  contextLength?: number;
  maxOutputTokens?: number;
  /** The levels of reasoning effort that the model knows; empty for none. */
  efforts?: readonly Effort[];
}

export interface LaneOptions {
  models: Readonly<Record<string, Alias>>;
  /** By task: the upstream that gets what the lane does not list, under the name that the client wrote. */
  upstreams: Readonly<Partial<Record<Task, string>>>;
  /** When the lane began to offer its models, in seconds since the epoch. */
  created: number;
}

/** What a model name means for one operation. */
export interface Resolution {
  targets: readonly { upstream: string; model: string }[];
  efforts?: readonly Effort[];
}

/** A path prefix with its own models. */
export interface Lane {
  name: string;
  list(): ModelInfo[];
  /** Throws `model_not_found`. */
  get(model: string): ModelInfo;
  /** Throws `model_not_found`, or `model_task_mismatch` for a model that does not do what is asked. */
  resolve(model: string, operation: OperationName): Resolution;
}

export function createLane(name: string, { models, upstreams, created }: LaneOptions): Lane {
  const aliases = new Map(Object.entries(models));
  const unknown = (model: string) =>
    new GatewayError("model_not_found", `Cannot find model "${model}" in lane "${name}"`, { param: "model" });

  return {
    name,
    list: () => [...aliases].map(([id, alias]) => describe(id, alias, created)),
    get(model) {
      const alias = aliases.get(model);
      if (alias) return describe(model, alias, created);
      // The upstream knows what it serves; the lane can only say that it would ask.
      if (!upstreams.chat) throw unknown(model);
      return { id: model, task: "chat", created, ownedBy: model.includes("/") ? model.split("/")[0]! : name };
    },
    resolve(model, operation) {
      const task = TASK_OF[operation];
      const alias = aliases.get(model);
      if (!alias) {
        const upstream = task && upstreams[task];
        if (!upstream) throw unknown(model);
        return { targets: [{ upstream, model }] };
      }
      if (task && alias.task !== task) {
        const message = `Model "${model}" is for ${alias.task}, and this endpoint needs a model for ${task}`;
        throw new GatewayError("model_task_mismatch", message, { param: "model" });
      }
      return { targets: alias.targets, efforts: alias.efforts };
    },
  };
}

function describe(id: string, alias: Alias, created: number): ModelInfo {
  const { task, ownedBy, displayName, contextLength, maxOutputTokens, targets } = alias;
  const owner = ownedBy ?? targets[0]?.model.split("/").at(-2) ?? targets[0]?.upstream ?? "";
  return { id, task, created, ownedBy: owner, displayName, contextLength, maxOutputTokens };
}
