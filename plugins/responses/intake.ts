/** How servers of this wire take a conversation. */
import type { Target } from "../../src/contract/driver.ts";
import type { Intake } from "../../src/contract/intake.ts";
import { fitThinking, isOpenAi } from "../shared/families.ts";
import { RESPONSES_SAMPLING } from "../shared/sampling.ts";
import { idRuleOf } from "./families.ts";
import { isWholeSearch } from "./tool_search.ts";
import { WIRE } from "./wire.ts";

export function intakeOf(target: Target): Intake {
  return {
    wire: WIRE,
    takesCacheHints: false,
    results: "anywhere",
    callIds: idRuleOf(target.model),
    namesAllowedTools: true,
    // Only the vendor's models know of such tools.
    knowsDeferredTools: isOpenAi(target.model),
    compacts: isOpenAi(target.model),
    searchesTools: isOpenAi(target.model),
    knowsSteps: isOpenAi(target.model),
    leastOutputTokens: 1,
    lacks: { ...RESPONSES_SAMPLING.lacks, stopSequences: "stop", seed: "seed" },
    // Its vendor's own models come in new levels faster than anybody writes them down, and only they know whole searches.
    ...(isOpenAi(target.model)
      ? { isWhole: isWholeSearch }
      : { holdThinking: (request, note) => fitThinking(request, target, note) }),
  };
}
