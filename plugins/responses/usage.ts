import { extraOf, inside, splitInside } from "../../src/canonical/extra.ts";
import { reportedTotals, type ReportedUsage, type Usage } from "../../src/canonical/usage.ts";
import { asObject, type JsonObject } from "../../src/canonical/json.ts";
import { WIRE, type WireUsage } from "./wire.ts";

const IN = "input_tokens_details";
const OUT = "output_tokens_details";
const KNOWN = new Set(["input_tokens", "output_tokens", "total_tokens", IN, OUT]);
const KNOWN_IN = new Set(["cached_tokens", "cache_write_tokens"]);
const KNOWN_OUT = new Set(["reasoning_tokens"]);

/** The upstream's own counts. */
export function parseUsage(usage: WireUsage): ReportedUsage {
  const { input_tokens, output_tokens, total_tokens } = usage;
  const { cached_tokens: cached, cache_write_tokens: written } = usage[IN] ?? {};
  const reasoning = usage[OUT]?.reasoning_tokens;
  return {
    ...reportedTotals(input_tokens, output_tokens, total_tokens),
    ...(cached !== undefined && cached !== null && { cachedInputTokens: cached }),
    ...(written !== undefined && written !== null && { cacheWriteTokens: written }),
    ...(reasoning !== undefined && reasoning !== null && { reasoningTokens: reasoning }),
  };
}

/** Counts that the canonical form does not model, by their path. */
export function unknownUsage(usage: WireUsage): JsonObject {
  return {
    ...extraOf(WIRE, usage, KNOWN)?.fields,
    ...inside(IN, extraOf(WIRE, usage[IN] ?? {}, KNOWN_IN)),
    ...inside(OUT, extraOf(WIRE, usage[OUT] ?? {}, KNOWN_OUT)),
  };
}

/** `unknown` is what `unknownUsage` kept of the same answer. The details are there always: strict clients read them. */
export function serializeUsage(usage: Usage, unknown?: JsonObject): JsonObject {
  const { inputTokens, outputTokens, cachedInputTokens = 0, cacheWriteTokens = 0, reasoningTokens = 0 } = usage;
  const counts: JsonObject = {
    input_tokens: inputTokens,
    [IN]: { cached_tokens: cachedInputTokens, cache_write_tokens: cacheWriteTokens },
    output_tokens: outputTokens,
    [OUT]: { reasoning_tokens: reasoningTokens },
    total_tokens: inputTokens + outputTokens,
  };
  return unknown ? withUnknown(counts, unknown) : counts;
}

function withUnknown(counts: JsonObject, unknown: JsonObject): JsonObject {
  const { inner: input, outer: rest } = splitInside(IN, unknown);
  const { inner: output, outer } = splitInside(OUT, rest);
  return {
    ...counts,
    [IN]: { ...asObject(counts[IN]), ...input },
    [OUT]: { ...asObject(counts[OUT]), ...output },
    ...outer,
  };
}
