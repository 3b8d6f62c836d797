import type { Effort, Thinking } from "./generate.ts";

/** The most tokens of each level, for a client that gives a budget instead of a level; above the last it is `xhigh`. */
const BUDGETS: readonly (readonly [tokens: number, effort: Effort])[] = [
  [512, "minimal"],
  [1_024, "low"],
  [8_192, "medium"],
  [24_576, "high"],
];

/** The level of effort that a request wants; nothing where it leaves that to the model. */
export function effortOf(thinking: Thinking | undefined): Effort | undefined {
  if (!thinking) return undefined;
  const { enabled, effort, budgetTokens } = thinking;
  if (enabled === false) return "none";
  if (effort !== undefined || budgetTokens === undefined) return effort;
  return BUDGETS.find(([tokens]) => budgetTokens <= tokens)?.[1] ?? "xhigh";
}
