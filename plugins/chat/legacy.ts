import { noteOutweighed } from "../../src/canonical/extra.ts";
import { isJsonObject, type JsonObject } from "../../src/canonical/json.ts";
import type { WireRequest } from "../../src/contract/context.ts";

/** Whether the client offers `functions`, the form before tools, and so reads `function_call` in the answer. */
export function asksForFunctions({ body }: WireRequest): boolean {
  return isJsonObject(body) && Array.isArray(body.functions) && !Array.isArray(body.tools);
}

/**
 * The body without llama.cpp's own name for `max_tokens`, which outweighs the others there: the limit that a budget pays for
 * would have no effect. -1 means no limit.
 */
export function withOneLimit(
  { n_predict, max_tokens, max_completion_tokens, ...rest }: JsonObject,
  note: (text: string) => void,
): JsonObject {
  const limit = max_completion_tokens ?? max_tokens;
  const isLimit = typeof n_predict === "number" && n_predict > 0;
  noteOutweighed(isLimit ? "max_tokens" : "n_predict", isLimit ? limit : n_predict, isLimit ? n_predict : limit, note);
  return { ...rest, max_tokens: isLimit ? n_predict : limit };
}
