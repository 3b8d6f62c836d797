import type { Task } from "../canonical/models.ts";
import type { Found } from "../contract/catalog.ts";
import { GatewayError } from "../errors.ts";

/** The known purpose of a model. `other`: something that no endpoint serves. */
export interface Purpose {
  tasks: readonly Task[];
  other?: string;
}

/** Throws `model_task_mismatch` if the model is for another task. Does nothing if the model's purpose is unknown. */
export type TaskCheck = (model: string, purpose: Purpose, wanted: Task) => void;

/** `endpoints`: by task, the paths below the lane `name` that accept models for it. */
export function createTaskCheck(
  name: string,
  endpoints: Readonly<Partial<Record<Task, readonly string[]>>>,
): TaskCheck {
  return (model, { tasks, other }, wanted) => {
    if (tasks.includes(wanted) || (tasks.length === 0 && !other)) return;
    const paths = tasks.flatMap((task) => endpoints[task] ?? []).map((path) => `/${name}${path}`);
    const where = paths.length === 0 ? "" : ` (${paths.join(", ")})`;
    const purpose = tasks.join(" and ") || other;
    const message = `Model "${model}" is for ${purpose}${where}; this endpoint needs a model for ${wanted}`;
    throw new GatewayError("model_task_mismatch", message, { param: "model" });
  };
}

/** Whether the model's purpose is unknown, as far as this task is concerned. */
export function isPurposeUnknown({ tasks, otherTask, possibleTasks }: Found, task: Task): boolean {
  return tasks.length === 0 && (!otherTask || possibleTasks?.includes(task) === true);
}
