import type { JsonObject } from "../../src/canonical/json.ts";

/** The wires of the table. */
export const WIRES = ["chat", "messages", "responses"] as const;
export type Wire = typeof WIRES[number];

/**
 * One field, used for real: a body that has it beside the same body without it, so that what comes of the field is seen from
 * the difference. The texts in it that must not get lost are `kept…`; every other value is unusual enough to be told apart.
 */
export interface Sample {
  /** As people write it: `thinking.budget_tokens`. */
  field: string;
  with: JsonObject;
  without: JsonObject;
  headers?: Record<string, string>;
  /** A request that is answered before, which this one goes on from. */
  before?: JsonObject;
}
