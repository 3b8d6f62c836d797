/** How servers of this wire take a conversation. */
import type { GenerateRequest, Thinking } from "../../src/canonical/generate.ts";
import type { Target } from "../../src/contract/driver.ts";
import type { Intake } from "../../src/contract/intake.ts";
import { fitThinking } from "../shared/families.ts";
import { MESSAGES_SAMPLING } from "../shared/sampling.ts";
import { signatureOf } from "./serialize_content.ts";
import { isVendors } from "./families.ts";
import { WIRE } from "./wire.ts";

/** The ids of calls that the wire has. */
const CALL_IDS = { taken: /^[\w-]{1,64}$/, length: 64 };

export function intakeOf(target: Target): Intake {
  return {
    wire: WIRE,
    takesCacheHints: true,
    results: "after-calls",
    callIds: CALL_IDS,
    namesAllowedTools: false,
    knowsDeferredTools: true,
    knowsSteps: true,
    compacts: isVendors(target.model),
    searchesTools: isVendors(target.model),
    holdThinking: (request, note) => withFittingEffort(request, target, note),
    ...(isVendors(target.model) && { isUnsigned: ({ opaque }) => signatureOf(opaque) === "" }),
    lacks: {
      ...MESSAGES_SAMPLING.lacks,
      seed: "seed",
      verbosity: "verbosity",
      cacheKey: "prompt_cache_key",
      metadata: "metadata",
    },
  };
}

/** A level is held to those of the model's family. A budget, and no thinking at all, every server takes as it can. */
function withFittingEffort(
  request: GenerateRequest,
  target: Target,
  note: (text: string) => void,
): Thinking | undefined {
  const { thinking } = request;
  const { effort, enabled } = thinking ?? {};
  if (!effort || effort === "none" || enabled === false) return thinking;
  const fitted = fitThinking(request, target, note);
  return fitted === thinking ? thinking : { ...thinking, effort: fitted?.effort };
}
