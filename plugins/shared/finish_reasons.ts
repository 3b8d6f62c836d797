/** Servers' words for the finish reason: each wire's own, those of engines, and those of vendors behind a host. */
import type { FinishReason } from "../../src/canonical/generate.ts";

const WORDS: Partial<Record<FinishReason, readonly string[]>> = {
  // TGI and Together send the first two, Cohere `complete`, Google `STOP`.
  "stop": ["eos", "eos_token", "stop", "stop_sequence", "end_turn", "complete", "completed"],
  "length": [
    "length",
    "max_tokens",
    "max_output_tokens",
    "max_length",
    "model_length",
    "model_context_window_exceeded",
  ],
  "tool-calls": ["tool_calls", "tool_call", "tool_use", "function_call"],
  "paused": ["pause_turn"],
  // Google's, Bedrock's and Z.ai's words come after the wires' own.
  "content-filter": [
    "content_filter",
    "content_filtered",
    "refusal",
    "safety",
    "recitation",
    "blocklist",
    "prohibited_content",
    "spii",
    "guardrail_intervened",
    "sensitive",
  ],
};
const REASON_OF: ReadonlyMap<string, FinishReason> = new Map(
  Object.entries(WORDS).flatMap(([reason, words]) => words.map((word) => [word, reason as FinishReason])),
);

/** The finish reason for a server's word, on any wire. `undefined` for an unknown word. */
export function reasonOf(word: string): FinishReason | undefined {
  return REASON_OF.get(word.toLowerCase());
}

/** Words that OpenRouter, vLLM, DeepSeek and Z.ai send in place of a finish reason when the answer failed. */
const FAILURES: ReadonlySet<string> = new Set(["error", "abort", "insufficient_system_resource", "network_error"]);

export function saysFailure(word: string): boolean {
  return FAILURES.has(word.toLowerCase());
}
