import type { GenerateRequest } from "../../src/canonical/generate.ts";
import type { Context } from "../../src/contract/context.ts";
import type { Driver, Target } from "../../src/contract/driver.ts";
import { factsOf } from "../../src/inference/facts.ts";
import { prepareForTarget } from "../../src/inference/target_stages.ts";
import { targetName } from "../../src/contract/planned_target.ts";
import { numberHits } from "../../src/transforms/hosted_sealing.ts";

/** The request as the core hands it to the driver, for an upstream that is not known to refuse anything. */
export function prepareFor(
  { intake }: Driver,
  request: GenerateRequest,
  target: Target,
  { clientWire, note }: Context,
): GenerateRequest {
  const messages = numberHits(request.messages);
  const numbered = messages === request.messages ? request : { ...request, messages };
  const facts = {
    facts: factsOf(numbered),
    target: targetName(target),
    clientWire,
    systemMessages: target.systemMessages,
    refusedTools: [],
    refusesCacheHints: false,
    refusesReasoning: false,
    intake: intake?.(target),
  };
  return prepareForTarget(numbered, facts, note);
}
