import type { Context } from "../../src/contract/context.ts";
import type { Target, UpstreamOperation } from "../../src/contract/driver.ts";
import type { Decisions } from "../../src/contract/quirks.ts";

/** The facts about a target and its driver. */
export interface Place {
  target: Target;
  context: Context;
  /** How the driver asks for conversations. Absent if it cannot. */
  chat?: UpstreamOperation<"generate">;
  /** How its servers are asked by default. */
  usual: Decisions;
}
