/** How many tokens a conversation has for a target, by what the gateway knows without asking. */
import type { JsonValue } from "../canonical/json.ts";
import type { Input } from "../canonical/operations.ts";
import type { ReportedUsage } from "../canonical/usage.ts";
import type { Counting } from "../context/gateway.ts";
import type { AttemptRecord, Counted } from "../context/request_log.ts";
import { FACT, type Facts } from "./facts.ts";

/** The length of a token in a text whose exact count comes later, if at all. */
export const CHARACTERS_PER_TOKEN = 4;

/** Counts without waiting. A conversation that was just counted for a client gets the same count here. */
export function count(
  input: Input<"countTokens">,
  estimate: number,
  facts: Facts,
  target: string,
  counting: Counting,
): Counted {
  const { calibration, upstreamCounts, tokenizerCounts } = counting;
  const base = { estimate, isText: (facts & FACT.files) === 0, used: false };
  const text = () => countedParts(input);
  const byUpstream = upstreamCounts.known(target, text);
  if (byUpstream !== undefined) return { ...base, inputTokens: byUpstream, by: "upstream" };
  const byTokenizer = tokenizerCounts.known(target, text);
  if (byTokenizer !== undefined) return { ...base, inputTokens: byTokenizer, by: "tokenizer" };
  return { ...base, ...calibration.count(target, estimate) };
}

/** The fields of a request that its count depends on. */
export function countedParts({ messages, tools, toolChoice, outputSchema, thinking }: Input<"countTokens">): JsonValue {
  return [messages, tools, toolChoice, outputSchema, thinking] as JsonValue;
}

/** Calibrates later counts of the same model by what an upstream counted. */
export function learn(
  usage: ReportedUsage | undefined,
  attempt: AttemptRecord | undefined,
  { calibration }: Counting,
): void {
  if (!usage?.inputTokens || usage.estimated || usage.compaction || !attempt?.counted?.isText) return;
  calibration.learn(attempt.target, attempt.counted.estimate, usage.inputTokens);
}
