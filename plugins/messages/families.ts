/** The differences between model families, as data. */
import type { GenerateRequest } from "../../src/canonical/generate.ts";
import type { Prefill, Target } from "../../src/contract/driver.ts";

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

/** The vendor's models that go on with a turn of the assistant. Later ones refuse it. */
const CONTINUES = /claude-(?:instant|[23]\b|(?:haiku|sonnet|opus)-4(?![-.][6-9]))/i;

/**
 * How the target continues a turn: as it is, unless it thinks. Other servers of this wire close the turn and begin
 * another, so they do it only if the configuration says so.
 */
export function prefillOf({ model, prefill }: Target, { thinking }: GenerateRequest): Prefill | undefined {
  const thinks = thinking !== undefined && thinking.enabled !== false && thinking.effort !== "none";
  if (thinks) return undefined;
  if (isVendors(model)) return CONTINUES.test(model) ? {} : undefined;
  return prefill === undefined ? undefined : { repeats: "perhaps" };
}
