/** The differences between model families, as data. */
import type { IdRule } from "../../src/contract/intake.ts";
import { ANY_ID, isOpenAi } from "../shared/families.ts";

/** How the vendor says that it cannot read what it finds encrypted, or that an item of reasoning stands alone. */
const REFUSED = /\bencrypted_content\b|\bencrypted content\b.{0,80}\bnot be\b|\bof type 'reasoning'/i;

/** Whether an upstream's refusal is about the reasoning of earlier turns. */
export function refusesReasoning(message: string): boolean {
  return REFUSED.test(message);
}

const OWN_ID: IdRule = { taken: /^.{1,64}$/s, length: 64 };

/** Which ids of calls the model's servers take. */
export function idRuleOf(model: string): IdRule {
  return isOpenAi(model) ? OWN_ID : ANY_ID;
}
