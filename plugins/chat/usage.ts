import { reportedTotals, type ReportedUsage, type Usage } from "../../src/canonical/usage.ts";
import { extraOf } from "../../src/canonical/extra.ts";
import { isNumber, isRawNumber } from "../../src/canonical/raw_number.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../src/canonical/json.ts";
import { type ChatUsage, WIRE } from "./wire.ts";

/** The upstream's own counts. */
export function parseUsage(usage: ChatUsage): ReportedUsage {
  const { prompt_tokens, completion_tokens, total_tokens, prompt_tokens_details, completion_tokens_details } = usage;
  const cached = prompt_tokens_details?.cached_tokens ?? usage.prompt_cache_hit_tokens ?? usage.cached_tokens;
  const written = prompt_tokens_details?.cache_write_tokens ?? prompt_tokens_details?.cache_creation_input_tokens;
  const reasoning = completion_tokens_details?.reasoning_tokens;
  const isCounted = prompt_tokens && completion_tokens !== null && completion_tokens !== undefined;
  const counts: ReportedUsage = isCounted
    ? { inputTokens: prompt_tokens, outputTokens: completion_tokens }
    : reportedTotals(prompt_tokens, completion_tokens, total_tokens);
  if (cached !== undefined && cached !== null) counts.cachedInputTokens = cached;
  if (written !== undefined && written !== null) counts.cacheWriteTokens = written;
  if (reasoning !== undefined && reasoning !== null) counts.reasoningTokens = reasoning;
  if (usage.cost !== undefined) addCost(usage.cost, counts);
  return counts;
}

/** OpenRouter; Perplexity has the parts of it, too. */
function addCost(cost: unknown, counts: ReportedUsage): void {
  const total = isJsonObject(cost) && "total_cost" in cost ? cost.total_cost : cost;
  if (isNumber(total)) counts.reportedCost = isRawNumber(total) ? total.rawJSON : String(total);
}

/** The counts that the canonical form models, apart from those inside details. */
export const COUNT_KEYS: ReadonlySet<string> = new Set([
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
const USAGE_KEYS = new Set([...COUNT_KEYS, ...Object.keys(DETAILS)]);

/** Counts that the canonical form does not model, in their places: costs, audio, predictions. */
export function unknownUsage(usage: ChatUsage): JsonObject | undefined {
  const fields: JsonObject = { ...extraOf(WIRE, usage, USAGE_KEYS)?.fields };
  for (const key of ["prompt_tokens_details", "completion_tokens_details"] as const) {
    const details = usage[key];
    const inner = details && extraOf(WIRE, details, DETAILS[key]);
    if (inner) fields[key] = inner.fields;
  }
  return Object.keys(fields).length > 0 ? fields : undefined;
}

/** `unknown` is what `unknownUsage` kept of the same answer. */
export function serializeUsage(usage: Usage, unknown: JsonValue | undefined): JsonObject {
  const { inputTokens, outputTokens, cachedInputTokens, cacheWriteTokens, reasoningTokens } = usage;
  const counts: JsonObject = {
    prompt_tokens: inputTokens,
    completion_tokens: outputTokens,
    total_tokens: inputTokens + outputTokens,
  };
  if (cachedInputTokens !== undefined || cacheWriteTokens !== undefined) {
    counts.prompt_tokens_details = { cached_tokens: cachedInputTokens, cache_write_tokens: cacheWriteTokens };
  }
  if (reasoningTokens !== undefined) counts.completion_tokens_details = { reasoning_tokens: reasoningTokens };
  if (unknown && isJsonObject(unknown)) addUnknownCounts(unknown, counts);
  return counts;
}

function addUnknownCounts(unknown: JsonObject, counts: JsonObject): void {
  for (const [key, value] of Object.entries(unknown)) {
    counts[key] = isJsonObject(value) ? { ...counts[key] as JsonObject | undefined, ...value } : value;
  }
}
