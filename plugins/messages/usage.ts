import { extraOf, inside, splitInside } from "../../src/canonical/extra.ts";
import { reportedTotals, type ReportedUsage, type Usage } from "../../src/canonical/usage.ts";
import type { HostedUses } from "../../src/canonical/usage.ts";
import { addFields, type JsonObject } from "../../src/canonical/json.ts";
import { USAGE_KEYS, WIRE, type WireUsage } from "./wire.ts";

/** This wire counts cached input apart. The canonical total includes it, and is known only if the rest is known. */
export function parseUsage(usage: WireUsage): ReportedUsage {
  const { input_tokens, output_tokens, cache_creation_input_tokens: written, cache_read_input_tokens: read } = usage;
  const isCounted = input_tokens !== null && input_tokens !== undefined;
  const input = isCounted ? input_tokens + (written ?? 0) + (read ?? 0) : undefined;
  const thinking = usage.output_tokens_details?.thinking_tokens;
  return {
    ...reportedTotals(input, output_tokens, undefined),
    ...(read !== null && read !== undefined && { cachedInputTokens: read }),
    ...(written !== null && written !== undefined && { cacheWriteTokens: written }),
    ...(thinking !== null && thinking !== undefined && { reasoningTokens: thinking }),
  };
}

const DETAILS = "output_tokens_details";
const DETAIL_KEYS: ReadonlySet<string> = new Set(["thinking_tokens"]);

/** The upstream's counts that the canonical form does not model. */
export function unknownUsage(usage: WireUsage): JsonObject {
  const details = usage[DETAILS];
  return {
    ...extraOf(WIRE, usage, USAGE_KEYS)?.fields,
    ...(details && inside(DETAILS, extraOf(WIRE, details, DETAIL_KEYS))),
  };
}

/** `unknown`: what `unknownUsage` found. If a summary was made, its usage is separate, and the totals are the message's alone. */
export function serializeUsage(usage: Usage, unknown?: JsonObject): JsonObject {
  const { compaction } = usage;
  if (!compaction) return serializeCounts(usage, unknown);
  const summary = { type: "compaction", ...serializeCounts(compaction) };
  const rest = subtract(usage, compaction);
  if (rest.inputTokens + rest.outputTokens === 0) {
    return { ...serializeCounts(compaction, unknown), iterations: [summary] };
  }
  const message = { type: "message", ...serializeCounts(rest) };
  return { ...serializeCounts(rest, unknown), iterations: [summary, message] };
}

function subtract(usage: Usage, part: Usage): Usage {
  const less = (key: "cachedInputTokens" | "cacheWriteTokens" | "reasoningTokens") =>
    usage[key] === undefined ? {} : { [key]: Math.max(0, usage[key] - (part[key] ?? 0)) };
  return {
    inputTokens: Math.max(0, usage.inputTokens - part.inputTokens),
    outputTokens: Math.max(0, usage.outputTokens - part.outputTokens),
    ...less("cachedInputTokens"),
    ...less("cacheWriteTokens"),
    ...less("reasoningTokens"),
  };
}

function serializeCounts(usage: Usage, unknown?: JsonObject): JsonObject {
  const { inputTokens, outputTokens, cachedInputTokens = 0, cacheWriteTokens = 0, reasoningTokens, hostedUses } = usage;
  const { inner, outer } = unknown ? splitInside(DETAILS, unknown) : NO_FIELDS;
  const counts: JsonObject = {
    input_tokens: Math.max(0, inputTokens - cachedInputTokens - cacheWriteTokens),
    cache_creation_input_tokens: cacheWriteTokens,
    cache_read_input_tokens: cachedInputTokens,
    output_tokens: outputTokens,
  };
  if (reasoningTokens !== undefined || (inner && Object.keys(inner).length > 0)) {
    counts[DETAILS] = { thinking_tokens: reasoningTokens, ...inner };
  }
  if (hostedUses) Object.assign(counts, serializeUses(hostedUses));
  if (outer) addFields(outer, counts);
  return counts;
}

const NO_FIELDS = { inner: undefined, outer: undefined };

/** Calls of other servers' tools are not counted on this wire. */
function serializeUses({ webSearch, webFetch, code }: HostedUses): JsonObject {
  if (webSearch === undefined && webFetch === undefined && code === undefined) return {};
  return {
    server_tool_use: {
      web_search_requests: webSearch ?? 0,
      web_fetch_requests: webFetch ?? 0,
      ...(code !== undefined && { code_execution_requests: code }),
    },
  };
}
