/** What differs by model family, as data. */

/** The models of the vendor that made the wire. */
const OWN = /^(openai\/)?(gpt-(?!oss)|o\d|chatgpt|codex)/i;

/**
 * Whether the model is one of the vendor's own. Those know every item and every tool of the wire, and take reasoning back
 * only as they encrypted it; servers of open models know messages, functions and the plain text of what was thought.
 * `model` is the upstream's name for it.
 */
export function isVendors(model: string): boolean {
  return OWN.test(model);
}

/** How the vendor says that it cannot read what it finds encrypted, or that an item of reasoning stands alone. */
const REFUSED = /\bencrypted[_ ]content\b|\bof type 'reasoning'/i;

/** Whether an upstream's refusal is about the reasoning of earlier turns. */
export function refusesReasoning(message: string): boolean {
  return REFUSED.test(message.slice(0, 4_096));
}
