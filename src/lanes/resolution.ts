import type { ModelLimits } from "../config/lane_schema.ts";
import type { Destination } from "../contract/destination.ts";

/** What a model name means for one operation. */
export interface Resolution extends ModelLimits {
  /** In order of preference. */
  targets: readonly Destination[];
  /** After what silence of a streamed answer's target the next one is asked too, in milliseconds. */
  hedgeAfterMs?: number;
}
