import type { Finish, FinishReason } from "../../src/canonical/generate.ts";
import { isJsonObject, type JsonObject } from "../../src/canonical/json.ts";
import { reasonOf } from "../shared/finish_reasons.ts";
import type { WireEvent } from "./wire.ts";

const WORD_OF: Record<FinishReason, string> = {
  "stop": "end_turn",
  "length": "max_tokens",
  "tool-calls": "tool_use",
  "content-filter": "refusal",
  "paused": "pause_turn",
  "other": "end_turn",
};

const REASON_OF: Readonly<Record<string, FinishReason>> = {
  end_turn: "stop",
  stop_sequence: "stop",
  max_tokens: "length",
  model_context_window_exceeded: "length",
  tool_use: "tool-calls",
  refusal: "content-filter",
  pause_turn: "paused",
};

/** The upstream's word is kept where ours does not say it all. One of another wire's means what it means there. */
export function parseFinish(word: string, stopSequence?: string | null): Finish {
  const reason = ownReason(word) ?? (OTHERS.has(word) ? "other" : reasonOf(word) ?? "other");
  return {
    reason,
    ...((WORD_OF[reason] !== word || reason === "paused") && word !== "stop_sequence" && { raw: word }),
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
  return { stop_reason: raw !== undefined && isOwnWord(raw) ? raw : WORD_OF[reason], stop_sequence: null };
}

function ownReason(word: string): FinishReason | undefined {
  return Object.hasOwn(REASON_OF, word) ? REASON_OF[word] : undefined;
}

/** Whether the wire has the word, so that its clients know it. */
export function isOwnWord(word: string): boolean {
  return ownReason(word) !== undefined || OTHERS.has(word);
}

/** Endings that have no like on other wires. */
const OTHERS: ReadonlySet<string> = new Set(["compaction"]);

/** The vendor reports the edits of a streamed answer beside its end. */
export function editsIn({ context_management }: WireEvent): JsonObject {
  return isJsonObject(context_management) ? { context_management } : {};
}
