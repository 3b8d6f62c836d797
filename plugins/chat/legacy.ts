import { isJsonObject } from "../../src/canonical/json.ts";
import type { WireRequest } from "../../src/contract/context.ts";

/** Whether the client offers `functions`, the form before tools, and so reads `function_call` in the answer. */
export function asksForFunctions({ body }: WireRequest): boolean {
  return isJsonObject(body) && Array.isArray(body.functions) && !Array.isArray(body.tools);
}
