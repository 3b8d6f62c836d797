import type { Usage } from "../../src/canonical/generate.ts";
import type { JsonObject } from "../../src/canonical/json.ts";
import type { WireUsage } from "./wire.ts";

/** This wire counts cached input apart; the canonical total includes it. Nothing where the upstream counted nothing. */
export function parseUsage(usage: WireUsage): Usage | undefined {
  const { input_tokens, output_tokens, cache_creation_input_tokens: written, cache_read_input_tokens: read } = usage;
  const input = (input_tokens ?? 0) + (written ?? 0) + (read ?? 0);
  if (input === 0) return undefined;
  const thinking = usage.output_tokens_details?.thinking_tokens;
  return {
    inputTokens: input,
    outputTokens: output_tokens ?? 0,
    ...(read !== null && read !== undefined && { cachedInputTokens: read }),
    ...(written !== null && written !== undefined && { cacheWriteTokens: written }),
    ...(thinking !== null && thinking !== undefined && { reasoningTokens: thinking }),
  };
}

export function serializeUsage(usage: Usage): JsonObject {
  const { inputTokens, outputTokens, cachedInputTokens = 0, cacheWriteTokens = 0, reasoningTokens } = usage;
  return {
    input_tokens: Math.max(0, inputTokens - cachedInputTokens - cacheWriteTokens),
    cache_creation_input_tokens: cacheWriteTokens,
    cache_read_input_tokens: cachedInputTokens,
    output_tokens: outputTokens,
    ...(reasoningTokens !== undefined && { output_tokens_details: { thinking_tokens: reasoningTokens } }),
  };
}
