/** Calculates the charge for an answer: what its upstream reports, within plausible limits. */
import type { Usage } from "../canonical/usage.ts";

/**
 * Reported counts are accepted up to this multiple of the gateway's own estimate. The densest text, with one token for each
 * byte, has about five times the estimated tokens. Twice that leaves room for chat templates and for additions by servers.
 */
const MOST_TIMES = 10;
/**
 * This many tokens are accepted for every answer, which is the size of most models' context windows. Estimates do not include
 * images, audio, documents, hidden reasoning or the upstream's own searches.
 */
const ALWAYS_BELIEVED = 200_000;

export interface Charge {
  tokens: number;
  /** The reported count, if it was not accepted. */
  reported?: number;
}

/** `estimate`: the gateway's estimate of the tokens of the request and its answer. */
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
