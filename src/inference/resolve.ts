/** Finds the lane and the model of a request, and checks that its caller may use them. */
import type { ModelInfo } from "../canonical/models.ts";
import { type Input, type OperationName, TASK_OF } from "../canonical/operations.ts";
import type { Gateway } from "../context/gateway.ts";
import type { RequestContext } from "../context/request_context.ts";
import { GatewayError } from "../errors.ts";
import type { Caller } from "../http/auth.ts";
import type { LostPath } from "../http/lost_path.ts";
import type { Lane } from "../lanes/lane.ts";
import { matchesAny } from "../lanes/patterns.ts";
import type { Resolution } from "../lanes/resolution.ts";
import { orderByDraw, RANDOM_DRAWS } from "../routing/rendezvous.ts";
import { runExclusively, runSliced, yieldToEventLoop } from "../util/sliced_work.ts";
import { FACT } from "./facts.ts";
import type { Inference, Plan, Stage } from "./inference.ts";

/** The lane that a path names. Throws `not_found`, or `permission` if the caller may not use it. */
export function findLane(name: string | undefined, { caller, gateway: { lanes } }: RequestContext): Lane {
  const lane = lanes.get(name ?? "");
  if (!lane) {
    const known = [...lanes.keys()].map((one) => `"${one}"`).join(", ");
    throw new GatewayError("not_found", `Cannot find lane "${name}": this gateway has ${known}`);
  }
  if (caller.lanes && !caller.lanes.includes(lane.name)) {
    throw new GatewayError("permission", `This key is not allowed to use lane "${lane.name}"`);
  }
  return lane;
}

/**
 * The lane of a request whose path names none: the one that lists the model itself, or else one that takes any model. A
 * request without a model gets the first lane that its caller may use.
 */
export function laneFor<K extends OperationName>(
  operation: K,
  input: Input<K>,
  { caller, gateway }: RequestContext,
): Lane {
  const all = [...gateway.lanes.values()];
  const isOpen = ({ name }: Lane) => !caller.lanes || caller.lanes.includes(name);
  if (!("model" in input)) {
    return all.find(isOpen) ?? fail("This key opens no lane");
  }
  const { model } = input;
  const task = TASK_OF[operation] ?? "chat";
  const own = all.filter((lane) => lane.takes(model, task) === "own");
  const candidates = own.length > 0 ? own : all.filter((lane) => lane.takes(model, task) === "any");
  if (candidates.length === 0) {
    throw new GatewayError("model_not_found", `Cannot find model "${model}" in any lane`, { param: "model" });
  }
  return candidates.find(isOpen) ?? fail(`This key is not allowed to use any lane that may have model "${model}"`);
}

function fail(message: string): never {
  throw new GatewayError("permission", message);
}

/** The error for an unknown path. It suggests a path in a lane that the caller may use. */
export function notServed(
  request: Request,
  lost: LostPath | undefined,
  { lanes }: Caller,
  gateway: Gateway,
): GatewayError {
  const { pathname } = new URL(request.url);
  const known = [...gateway.lanes.keys()].filter((lane) => !lanes || lanes.includes(lane));
  const lane = known.find((one) => one === lost?.lane) ?? known[0];
  const hint = lost && lane !== undefined
    ? `: use "${lost.meant(lane)}". The lanes are ${known.map((one) => `"${one}"`).join(", ")}`
    : "";
  return new GatewayError("not_found", `Cannot find the path "${pathname}"${hint}`);
}

/** Finds the targets of the model. */
export const MODEL: Stage = {
  name: "model",
  operations: ["generate", "complete", "decide", "countTokens", "embed", "rerank", "speak", "transcribe", "draw"],
  request(inference) {
    const { operation, input: { model }, lane, context } = inference;
    return resolve(operation, model, lane, context).then((plan) => withPlan(inference, plan));
  },
};

function withPlan(inference: Inference, plan: Resolution): Inference {
  const { targets, efforts, inputModalities, contextLength, maxOutputTokens } = plan;
  let { facts } = inference;
  if (efforts) facts |= FACT.efforts;
  if (inputModalities) facts |= FACT.modalities;
  if (contextLength !== undefined || maxOutputTokens !== undefined) facts |= FACT.lengths;
  if (targets.length > 1) facts |= FACT.choice;
  const { upstreams } = inference.context.gateway;
  for (const { upstream } of targets) if (upstreams.get(upstream)?.providers?.policies) facts |= FACT.choice;
  return { ...inference, plan, facts };
}

/** The plan with other targets, or the same in another order. */
export function withTargets(plan: Plan, targets: Plan["targets"]): Plan {
  return targets === plan.targets ? plan : { ...plan, targets };
}

/**
 * The targets of a model, in a random order drawn by their weights. Throws if the caller may not use the model, or the
 * lane has no target for the operation.
 */
export async function resolve(
  operation: OperationName,
  model: string,
  lane: Lane,
  context: RequestContext,
): Promise<Resolution> {
  context.requestLog.entry.model = model;
  if (context.caller.models) await checkModel(model, lane, context.caller);
  const resolution = await lane.resolve(model, operation);
  const targets = orderByDraw(resolution.targets, RANDOM_DRAWS);
  return targets === resolution.targets ? resolution : { ...resolution, targets };
}

/** The lane's facts about a model. Throws if it has none of this name, or the caller may not use it. */
export async function findModel(model: string, lane: Lane, context: RequestContext): Promise<ModelInfo> {
  context.requestLog.entry.model = model;
  await checkModel(model, lane, context.caller);
  return await lane.get(model);
}

export function mayAsk(model: string, { models }: Caller): boolean {
  return models === undefined || matchesAny(model, models);
}

/**
 * Checks the name without a suffix such as the one for a long window, so that a suffix neither grants nor denies
 * access.
 */
async function checkModel(model: string, lane: Lane, caller: Caller): Promise<void> {
  if (caller.models === undefined || mayAsk(await lane.meant(model), caller)) return;
  throw new GatewayError("permission", `This key is not allowed to use model "${model}"`, { param: "model" });
}

/**
 * Adds what the lane knows about the model to an error. By now, a model that its upstream does not know may be listed
 * for another task, because requests do not wait for catalogs. A name that nobody knows may be misspelled.
 */
export async function explainError(
  error: GatewayError,
  { gateway, caller, signal, protocol: { operation }, requestLog: { entry } }: RequestContext,
): Promise<GatewayError> {
  const lane = gateway.lanes.get(entry.lane ?? "");
  const { model } = entry;
  if (!lane || model === undefined) return error;
  const { code, message, details } = error;
  const isRefused = code === "model_not_found" && details.upstreamStatus !== undefined;
  const reason = isRefused ? await lane.explainRefusal(model, operation) : undefined;
  if (reason) return reason;
  if (code !== "model_not_found" && !(code === "permission" && details.param === "model")) return error;
  const { similarNames } = await import("../lanes/similar.ts");
  // A catalog is long, and many requests at once may have misspelled names.
  await yieldToEventLoop();
  const all = await lane.list(() => {});
  const names = await runExclusively(caller.owner, () => {
    if (signal.aborted) return [];
    const task = TASK_OF[operation];
    const models = all.filter((one) => (!task || one.task === task) && mayAsk(one.id, caller));
    return runSliced(similarNames(model, models.map(({ id }) => id)));
  });
  if (names.length === 0) return error;
  const meant = names.map((name) => `"${name}"`).join(" or ");
  return new GatewayError(code, `${message.replace(/\.$/, "")}. Did you mean ${meant}?`, details);
}
