import type { Finish, FinishReason } from "../../src/canonical/generate.ts";
import type { JsonObject } from "../../src/canonical/json.ts";

const WORD_OF: Record<FinishReason, string> = {
  "stop": "STOP",
  "length": "MAX_TOKENS",
  "tool-calls": "STOP",
  "content-filter": "SAFETY",
  "paused": "OTHER",
  "other": "OTHER",
};

/** `malformed`: the function of a call that is not in the answer, because its arguments are not an object. */
export function serializeFinish({ reason, raw }: Finish, malformed: string | undefined): JsonObject {
  const isCut = reason === "length" || reason === "content-filter";
  if (malformed !== undefined && !isCut) {
    return {
      finishReason: "MALFORMED_FUNCTION_CALL",
      finishMessage: `The arguments of the call of "${malformed}" are not a JSON object`,
    };
  }
  return { finishReason: WORD_OF[reason], ...(WORD_OF[reason] === "OTHER" && raw && { finishMessage: raw }) };
}
