import type { Finish, FinishReason } from "../../src/canonical/generate.ts";
import { reasonOf } from "../shared/finish_reasons.ts";

/** How the wire spells each reason. SDKs refuse any other word, so an ending that no wire shares is sent as the nearest. */
export const FINISH_WORDS: Record<FinishReason, string> = {
  "stop": "stop",
  "length": "length",
  "tool-calls": "tool_calls",
  "content-filter": "content_filter",
  "paused": "length",
  "other": "stop",
};

export function parseFinish(word: string, stopSequence?: string): Finish {
  const reason = reasonOf(word);
  return {
    reason: reason ?? "other",
    ...((reason === undefined || reason === "paused") && { raw: word }),
    ...(stopSequence !== undefined && { stopSequence }),
  };
}
