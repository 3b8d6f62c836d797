import { reportedTotals, type ReportedUsage, type Usage } from "../../src/canonical/usage.ts";
import { extraOf } from "../../src/canonical/extra.ts";
import { isNumber, isRawNumber } from "../../src/canonical/raw_number.ts";
import { asObject, isJsonObject, type JsonObject, type JsonValue } from "../../src/canonical/json.ts";
import { type ChatUsage, WIRE } from "./wire.ts";

/** The upstream's own counts. */
export function parseUsage(usage: ChatUsage): ReportedUsage {
  const { prompt_tokens, completion_tokens, total_tokens, prompt_tokens_details, completion_tokens_details } = usage;
  const cached = prompt_tokens_details?.cached_tokens ?? usage.prompt_cache_hit_tokens ?? usage.cached_tokens;
  const written = prompt_tokens_details?.cache_write_tokens ?? prompt_tokens_details?.cache_creation_input_tokens;
  const reasoning = completion_tokens_details?.reasoning_tokens;
  return {
    ...reportedTotals(prompt_tokens, completion_tokens, total_tokens),
    ...(cached !== undefined && cached !== null && { cachedInputTokens: cached }),
    ...(written !== undefined && written !== null && { cacheWriteTokens: written }),
    ...(reasoning !== undefined && reasoning !== null && { reasoningTokens: reasoning }),
    ...costIn(usage),
  };
}

/** OpenRouter; Perplexity has the parts of it, too. */
function costIn({ cost }: ChatUsage): Pick<ReportedUsage, "reportedCost"> {
  const total = isJsonObject(cost) && "total_cost" in cost ? cost.total_cost : cost;
  return isNumber(total) ? { reportedCost: isRawNumber(total) ? total.rawJSON : String(total) } : {};
}

const KNOWN = new Set([
  "prompt_tokens",
  "completion_tokens",
  "total_tokens",
  "prompt_cache_hit_tokens",
  "cached_tokens",
]);
const DETAILS = {
  prompt_tokens_details: new Set(["cached_tokens", "cache_write_tokens", "cache_creation_input_tokens"]),
  completion_tokens_details: new Set(["reasoning_tokens"]),
};
const USAGE_KEYS = new Set([...KNOWN, ...Object.keys(DETAILS)]);

/** Counts that the canonical form does not model, in their places: costs, audio, predictions. */
export function unknownUsage(usage: ChatUsage): JsonObject | undefined {
  const fields: JsonObject = { ...extraOf(WIRE, usage, USAGE_KEYS)?.fields };
  for (const key of ["prompt_tokens_details", "completion_tokens_details"] as const) {
    const inner = extraOf(WIRE, usage[key] ?? {}, DETAILS[key]);
    if (inner) fields[key] = inner.fields;
  }
  return Object.keys(fields).length > 0 ? fields : undefined;
}

/** `unknown` is what `unknownUsage` kept of the same answer. */
export function serializeUsage(usage: Usage, unknown: JsonValue | undefined): JsonObject {
  const counts = serializeKnown(usage);
  for (const [key, value] of Object.entries(asObject(unknown))) {
    counts[key] = isJsonObject(value) ? { ...counts[key] as JsonObject | undefined, ...value } : value;
  }
  return counts;
}

function serializeKnown(usage: Usage): JsonObject {
  const { inputTokens, outputTokens, cachedInputTokens, cacheWriteTokens, reasoningTokens } = usage;
  return {
    prompt_tokens: inputTokens,
    completion_tokens: outputTokens,
    total_tokens: inputTokens + outputTokens,
    ...((cachedInputTokens !== undefined || cacheWriteTokens !== undefined) && {
      prompt_tokens_details: { cached_tokens: cachedInputTokens, cache_write_tokens: cacheWriteTokens },
    }),
    ...(reasoningTokens !== undefined && { completion_tokens_details: { reasoning_tokens: reasoningTokens } }),
  };
}
