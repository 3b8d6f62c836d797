/** Whether models can fill a gap in a text, for clients that ask for what a model can do. */
import type { CompleteRequest } from "../canonical/complete.ts";
import type { RequestContext } from "../context/request_context.ts";
import type { PlannedTarget } from "../contract/planned_target.ts";
import { GatewayError } from "../errors.ts";
import type { Lane } from "../lanes/lane.ts";
import { upstreamOf } from "./attempt.ts";

const GAP: CompleteRequest = { model: "", prompts: ["a"], suffix: "b", stream: false };

/** Whether one of the model's targets can be asked for it. Nothing is called. */
export async function canFill(model: string, lane: Lane, context: RequestContext): Promise<boolean> {
  try {
    const { targets } = await lane.resolve(model, "complete");
    const answers = await Promise.all(targets.map((target) => describesGap(target, context)));
    return answers.includes(true);
  } catch (error) {
    if (error instanceof GatewayError) return false;
    throw error;
  }
}

async function describesGap(where: PlannedTarget, context: RequestContext): Promise<boolean> {
  const { quirks, driver: { operations: { complete } } } = upstreamOf(where, context);
  if (!complete || "local" in complete) return complete !== undefined;
  await complete.load?.();
  try {
    complete.request(GAP, { ...quirks, ...where }, { clientWire: context.clientWire, note() {} });
    return true;
  } catch (error) {
    if (error instanceof GatewayError) return false;
    throw error;
  }
}
