import type { Finish, FinishReason } from "../../src/canonical/generate.ts";

const WORD_OF: Record<FinishReason, string> = {
  "stop": "end_turn",
  "length": "max_tokens",
  "tool-calls": "tool_use",
  "content-filter": "refusal",
  "other": "end_turn",
};

const REASON_OF: Readonly<Record<string, FinishReason>> = {
  end_turn: "stop",
  stop_sequence: "stop",
  max_tokens: "length",
  model_context_window_exceeded: "length",
  tool_use: "tool-calls",
  refusal: "content-filter",
};

/** The upstream's word is kept where ours does not say it all. */
export function parseFinish(word: string, stopSequence?: string | null): Finish {
  const reason = Object.hasOwn(REASON_OF, word) ? REASON_OF[word]! : "other";
  return {
    reason,
    ...(WORD_OF[reason] !== word && word !== "stop_sequence" && { raw: word }),
    ...(stopSequence !== null && stopSequence !== undefined && { stopSequence }),
  };
}

/** `raw` is another wire's word, so only one that this wire has goes out. */
export function serializeFinish(
  { reason, raw, stopSequence }: Finish,
): { stop_reason: string; stop_sequence: string | null } {
  if (reason === "stop" && stopSequence !== undefined) {
    return { stop_reason: "stop_sequence", stop_sequence: stopSequence };
  }
  const own = raw !== undefined && (Object.hasOwn(REASON_OF, raw) || OTHERS.has(raw));
  return { stop_reason: own ? raw : WORD_OF[reason], stop_sequence: null };
}

/** Endings that have no like on other wires. */
const OTHERS: ReadonlySet<string> = new Set(["pause_turn", "compaction"]);
