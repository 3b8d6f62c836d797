/** What differs by model family, as data. */
import type { IdRule } from "../../src/canonical/call_ids.ts";
import { isOpenAi } from "../families.ts";

/**
 * Whether the model is one of the vendor's own. Those know every item and every tool of the wire, and take reasoning back
 * only as they encrypted it; servers of open models know messages, functions and the plain text of what was thought.
 * `model` is the upstream's name for it.
 */
export function isVendors(model: string): boolean {
  return isOpenAi(model);
}

/** How the vendor says that it cannot read what it finds encrypted, or that an item of reasoning stands alone. */
const REFUSED = /\bencrypted_content\b|\bencrypted content\b.{0,80}\bnot be\b|\bof type 'reasoning'/i;

/** Whether an upstream's refusal is about the reasoning of earlier turns. */
export function refusesReasoning(message: string): boolean {
  return REFUSED.test(message.slice(0, 4_096));
}

/** LiteLLM keeps what a model thought in the id of its call, however long that is, and reads it there again. */
const ANY_ID: IdRule = { taken: /^.{1,64}$|__thought__/s, length: 64 };
const OWN_ID: IdRule = { taken: /^.{1,64}$/s, length: 64 };

/** Which ids of calls the model's servers take. */
export function idRuleOf(model: string): IdRule {
  return isVendors(model) ? OWN_ID : ANY_ID;
}
