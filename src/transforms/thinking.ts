import { type Effort, EFFORTS, type Thinking } from "../canonical/generate.ts";

/**
 * The most tokens of each level, for clients that send a budget instead of a level. Above the last one it is `xhigh`.
 */
const BUDGETS: readonly (readonly [tokens: number, effort: Effort])[] = [
  [512, "minimal"],
  [1_024, "low"],
  [8_192, "medium"],
  [24_576, "high"],
];

/** The requested level of effort; `undefined` if it is left to the model. */
export function effortOf(thinking: Thinking | undefined): Effort | undefined {
  if (!thinking) return undefined;
  const { enabled, effort, budgetTokens } = thinking;
  if (enabled === false) return "none";
  if (effort !== undefined || budgetTokens === undefined) return effort;
  return BUDGETS.find(([tokens]) => budgetTokens <= tokens)?.[1] ?? "xhigh";
}

/**
 * Maps a request's thinking to the levels that a model supports: the nearest one, and the higher of two that are
 * equally near. A request to think never becomes `none`; `none` becomes the lowest level if the model cannot stop
 * thinking. Without levels nothing is sent. `note` reports every change.
 */
export function clampThinking(
  thinking: Thinking | undefined,
  levels: readonly Effort[] | undefined,
  note: (text: string) => void,
): Thinking | undefined {
  const effort = effortOf(thinking);
  if (!thinking || !effort || !levels || levels.includes(effort)) return thinking;
  const candidates = effort === "none" ? levels : levels.filter((level) => level !== "none");
  const [first, ...others] = candidates;
  if (first === undefined) {
    note(`dropped effort ${effort}`);
    return undefined;
  }
  const nearest = others.reduce((best, level) => isNearer(level, best, effort) ? level : best, first);
  note(`clamped effort ${effort}>${nearest}`);
  return { ...(thinking.enabled !== undefined && { enabled: nearest !== "none" }), effort: nearest };
}

function isNearer(level: Effort, best: Effort, wanted: Effort): boolean {
  const distance = rank(level) - rank(wanted);
  const shortest = rank(best) - rank(wanted);
  return Math.abs(distance) < Math.abs(shortest) || (Math.abs(distance) === Math.abs(shortest) && distance > shortest);
}

function rank(effort: Effort): number {
  return EFFORTS.indexOf(effort);
}
