import type { Usage } from "../../src/canonical/generate.ts";
import type { JsonObject } from "../../src/canonical/json.ts";
import type { ChatUsage } from "./wire.ts";

/** What the upstream counted; nothing where it counted nothing, which some say with zeros. */
export function parseUsage(usage: ChatUsage): Usage | undefined {
  const { prompt_tokens, completion_tokens, total_tokens, prompt_tokens_details, completion_tokens_details } = usage;
  if (!prompt_tokens) return undefined;
  const cached = prompt_tokens_details?.cached_tokens ?? usage.prompt_cache_hit_tokens;
  const written = prompt_tokens_details?.cache_write_tokens;
  const reasoning = completion_tokens_details?.reasoning_tokens;
  return {
    inputTokens: prompt_tokens,
    outputTokens: completion_tokens ?? Math.max(0, (total_tokens ?? prompt_tokens) - prompt_tokens),
    ...(cached !== undefined && cached !== null && { cachedInputTokens: cached }),
    ...(written !== undefined && written !== null && { cacheWriteTokens: written }),
    ...(reasoning !== undefined && reasoning !== null && { reasoningTokens: reasoning }),
  };
}

export function serializeUsage(usage: Usage): JsonObject {
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
