import type { ContinuationSettings, ModelLimits } from "../config/lane_schema.ts";
import type { PlannedTarget } from "../contract/planned_target.ts";

/** The targets and limits that a model name resolves to, for one operation. */
export interface Resolution extends ModelLimits, ContinuationSettings {
  /** In order of preference. */
  targets: readonly PlannedTarget[];
  /** How long the target of a streamed answer may be silent before the next one is tried as well, in milliseconds. */
  hedgeAfterMs?: number;
}
