/** How long the paths of requests may be, and what those who need no keys, budgets, prices and secrets must not pay for. */
import type { Counts } from "./paths.ts";
import type { Name } from "./requests.ts";

/** They only ever go down. What a new stage adds to them, everybody pays for. */
export const LIMITS: Partial<Record<Name, Partial<Counts>>> = {
  "whole chat": { functions: 235, files: 73, promises: 70 },
  "stream chat": { callsPerChunk: 35, promisesPerChunk: 7 },
  "stream messages": { callsPerChunk: 35, promisesPerChunk: 7 },
};

/** Where a request of a gateway with a key, a budget, a price and an upstream's secret runs more than a plain one. */
export const METERED: Readonly<Record<string, readonly string[]>> = {
  keys: ["src/http/auth.ts", "src/http/quota.ts", "src/util/builtin.ts", "src/util/digest.ts"],
  budgets: [
    "src/compose/budgets.ts",
    "src/inference/admission.ts",
    "src/inference/billing.ts",
    "src/inference/target_stages.ts",
    "src/inference/reserving.ts",
    "src/state/budget/",
    "src/transforms/controls.ts",
  ],
  prices: ["src/observe/cost.ts", "src/util/dollars.ts"],
  secrets: [
    "src/context/secrets.ts",
    "src/inference/mask_secrets.ts",
    "src/inference/outputs.ts",
    "src/util/sliced_work.ts",
    "src/util/word_finder.ts",
  ],
  "how they are reported to clients and operators": [
    "plugins/shared/errors.ts",
    "src/context/finalize_response.ts",
    "src/context/request_log.ts",
    "src/http/notes.ts",
    "src/inference/attempt.ts",
    "src/observe/exposition.ts",
    "src/observe/metrics.ts",
  ],
};
