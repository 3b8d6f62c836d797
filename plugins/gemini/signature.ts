/** Signatures are bytes on this wire, which the vendor's own libraries decode; what the gateway seals is a text. */
import type { OpaqueReasoning } from "../../src/canonical/generate.ts";
import { isSealedText } from "../../src/transforms/sealing.ts";
import { WIRE } from "./wire.ts";

/** What Gemini CLI writes where no model has signed. */
const NONE = "skip_thought_signature_validator";

export function serializeSignature({ data }: OpaqueReasoning): string {
  return isSealedText(data) ? btoa(data) : data;
}

/** Nothing where it stands for none. */
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
