/** What an answer is charged: what its upstream reports, within what can be. */
import type { Usage } from "../canonical/usage.ts";

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

export interface Charge {
  tokens: number;
  /** What the upstream reported, where it is not believed. */
  reported?: number;
}

/** `estimate`: the tokens of the request and its answer, as the gateway estimates them. */
export function chargeFor({ inputTokens, outputTokens }: Usage, estimate: () => number): Charge {
  if (!isCount(inputTokens) || !isCount(outputTokens)) return { tokens: Math.ceil(estimate()) };
  const sum = Math.ceil(inputTokens + outputTokens);
  if (sum <= ALWAYS_BELIEVED) return { tokens: sum };
  const tokens = Math.min(sum, Math.max(ALWAYS_BELIEVED, MOST_TIMES * Math.ceil(estimate())));
  return tokens < sum ? { tokens, reported: sum } : { tokens };
}

function isCount(value: number): boolean {
  return value >= 0 && value <= Number.MAX_SAFE_INTEGER;
}
