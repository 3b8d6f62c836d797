/** The differences between model families, as data. */

/** The models of the vendor that made the wire, under the names that hosts have for them. */
const OWN = /^(([\w-]+\.)?anthropic[./])?claude-/i;

/**
 * Whether the model is one of the vendor's own, which takes back only thoughts that its vendor has signed. All others take
 * any: they look at the text, and the signature may be empty. `model` is the upstream's name for it.
 */
export function isVendors(model: string): boolean {
  return OWN.test(model);
}

/** How the vendor says that it did not sign these thoughts, or not so. */
const REFUSED =
  /\bsignature\b.{0,80}\bthinking\b|\bthinking(_|\b.{0,40})signature\b|\b(redacted_)?thinking\b.{0,80}\bcannot be modified\b|\binvalid\b.{0,40}\bredacted_thinking\b/i;

/** Whether an upstream's refusal is about the thoughts of earlier turns. */
export function refusesThinking(message: string): boolean {
  return REFUSED.test(message);
}
