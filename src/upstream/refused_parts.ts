/** The names of the parts of requests that drivers recognize in refusals and leave out, and which an upstream refuses. */
import type { ModelOperation } from "../canonical/operations.ts";
import { type Attempt, placeOf } from "./attempt.ts";

/** Entries of a list of refused fields that are not fields of the body: reasoning of earlier turns, and cache hints. */
export const REASONING = "reasoning of earlier turns";

/** The content of a turn with tool calls and no text. Each form is refused by some servers. */
export const NULL_CONTENT = "null content";
export const EMPTY_CONTENT = "empty content";

/** The fields that the upstream refuses, as configured and as learned. */
export function refusedBy<K extends ModelOperation>(attempt: Attempt<K>): readonly string[] {
  return [...attempt.upstream.refuses, ...attempt.upstream.refusals.names(placeOf(attempt), attempt.key)];
}
