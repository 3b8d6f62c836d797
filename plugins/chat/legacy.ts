/** Fields of requests that belong elsewhere: an older form of tools, and options of SDKs that clients put into the body. */
import { addFields, isJsonObject, type JsonObject } from "../../src/canonical/json.ts";
import type { WireRequest } from "../../src/contract/context.ts";

/** Whether the client offers `functions`, the form before tools, and so reads `function_call` in the answer. */
export function asksForFunctions({ body }: WireRequest): boolean {
  return isJsonObject(body) && Array.isArray(body.functions) && !Array.isArray(body.tools);
}

/** Options of the vendor's SDK. They may hold secrets, so they are for no upstream. */
const OUTSIDE_BODY = ["headers", "extra_headers", "extra_query"];

export const SDK_OPTIONS: readonly string[] = ["extra_body", ...OUTSIDE_BODY];

/** The body as the SDK would have sent it: with the fields of `extra_body`, which win, and without options of the call. */
export function withoutSdkOptions(body: JsonObject, note: (text: string) => void): JsonObject {
  const plain = { ...body };
  for (const name of OUTSIDE_BODY) {
    if (plain[name] !== undefined && plain[name] !== null) note(`dropped ${name}`);
    delete plain[name];
  }
  const { extra_body } = plain;
  // One vendor's API has a field of this name.
  if (isJsonObject(extra_body) && isJsonObject(extra_body.google)) return plain;
  delete plain.extra_body;
  if (isJsonObject(extra_body)) addFields(extra_body, plain);
  else if (extra_body !== undefined && extra_body !== null) note("dropped extra_body");
  return plain;
}
