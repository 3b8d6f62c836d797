import type { Finish, FinishReason } from "../../src/canonical/generate.ts";

/** How the wire spells each reason. `other` keeps the upstream's own word, or is a plain stop. */
const WORD_OF: Record<FinishReason, string> = {
  "stop": "stop",
  "length": "length",
  "tool-calls": "tool_calls",
  "content-filter": "content_filter",
  "other": "stop",
};

const REASON_OF: Readonly<Record<string, FinishReason>> = {
  stop: "stop",
  length: "length",
  tool_calls: "tool-calls",
  function_call: "tool-calls",
  content_filter: "content-filter",
  // Words of hosts that pass their engine's own through: Together and TGI, then those that copy other wires.
  eos: "stop",
  eos_token: "stop",
  stop_sequence: "stop",
  end_turn: "stop",
  tool_use: "tool-calls",
  max_tokens: "length",
  model_length: "length",
};

/** Words by which OpenRouter and vLLM say, in place of an ending, that there is none. */
export const FAILED = new Set(["error", "abort"]);

export function parseFinish(word: string, stopSequence?: string): Finish {
  const reason = Object.hasOwn(REASON_OF, word) ? REASON_OF[word] : undefined;
  return {
    reason: reason ?? "other",
    ...(reason === undefined && { raw: word }),
    ...(stopSequence !== undefined && { stopSequence }),
  };
}

export function serializeFinish({ reason, raw }: Finish): string {
  return reason === "other" && raw !== undefined ? raw : WORD_OF[reason];
}
