/** Signatures are base64 on this wire, because the vendor's libraries decode them. The gateway's sealed data is a text. */
import type { OpaqueReasoning } from "../../src/canonical/generate.ts";
import { isSealedText } from "../../src/transforms/sealing.ts";
import { WIRE } from "./wire.ts";

/** Gemini CLI writes this if no model has signed. */
const NONE = "skip_thought_signature_validator";

export function serializeSignature({ data }: OpaqueReasoning): string {
  return isSealedText(data) ? btoa(data) : data;
}

/** Absent if there is no real signature. */
export function parseSignature(signature: string | null | undefined): OpaqueReasoning | undefined {
  if (!signature || signature === NONE) return undefined;
  const text = decode(signature);
  return { origin: WIRE, data: isSealedText(text) ? text : signature };
}

/** Libraries use either base64 alphabet. */
function decode(base64: string): string {
  try {
    return atob(base64.replaceAll("-", "+").replaceAll("_", "/"));
  } catch {
    return "";
  }
}
