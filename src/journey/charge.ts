/** What an answer is charged: what its upstream tells, as far as that can be. */
import { completeUsage, type ToldUsage } from "../canonical/usage.ts";
import type { Journey } from "./journey.ts";

/**
 * So many times the gateway's own estimate are believed. The densest text, of a token for each byte, has some five times as
 * many tokens as are estimated; twice that leaves room for chat templates and for what servers add.
 */
const MOST_TIMES = 10;
/**
 * So many tokens are believed of every answer, which is what fits into the windows of most models: pictures, sound and
 * documents, reasoning that is not shown, and searches of the upstream's own are in no estimate.
 */
const ALWAYS_BELIEVED = 200_000;

/** The upstream's counts are the answer's, for the log; what is charged is bounded. `said`: the answer's tokens, estimated. */
export function settle(told: ToldUsage, said: () => number, journey: Journey): void {
  const usage = completeUsage(told, { inputTokens: journey.estimate }, told.outputTokens === undefined ? said() : 0);
  journey.entry.usage = usage;
  const { inputTokens, outputTokens } = usage;
  const estimate = () => Math.ceil(journey.estimate + said());
  if (!isCount(inputTokens) || !isCount(outputTokens)) {
    journey.charge = estimate();
    return;
  }
  const sum = Math.ceil(inputTokens + outputTokens);
  journey.charge = sum <= ALWAYS_BELIEVED ? sum : Math.min(sum, Math.max(ALWAYS_BELIEVED, MOST_TIMES * estimate()));
  if (journey.charge < sum && journey.isMetered) {
    journey.note(`charged ${journey.charge} tokens of the ${sum} that the upstream told`);
  }
}

function isCount(value: number): boolean {
  return value >= 0 && value <= Number.MAX_SAFE_INTEGER;
}

/**
 * What a request is charged at its end. One that failed before anything was said used nothing: that was not the caller's
 * doing. Whoever leaves pays for what was asked and said until then, or leaving would be a way to pay nothing.
 */
export function chargeOf({ charge, entry, estimate, said, hasLeft }: Journey): number {
  if (charge !== undefined) return charge;
  const hasFailed = entry.error !== undefined && said === 0 && !hasLeft();
  return hasFailed ? 0 : estimate + Math.ceil(said);
}
