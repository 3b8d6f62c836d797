import type { Vector } from "../../src/canonical/embed.ts";
import { GatewayError } from "../../src/errors.ts";

/**
 * One vector for each of `count` inputs. Models with a pooling head give that; the others give a vector for each token, which
 * are pooled here: `[tokens][d]` for a single input, `[count][tokens][d]`, or `[count][1][tokens][d]`. Inputs differ in their
 * number of tokens. Whether the numbers are numbers, `checkVectors` finds out.
 */
export function poolVectors(answer: unknown, count: number, normalize: boolean): Vector[] {
  const depth = depthOf(answer);
  if (Array.isArray(answer)) {
    if (depth === 1 && count === 1) return [answer];
    if (depth === 2 && answer.length === count) return answer;
    if (depth === 2 && count === 1) return [pool(answer, normalize)];
    if (depth > 2 && answer.length === count) return answer.map((item) => pool(withoutLeadingOne(item), normalize));
  }
  const shape = depth === 0 ? "no list" : `a list of ${depth} dimensions`;
  throw new GatewayError(
    "upstream_error",
    `The upstream answered ${count} inputs with ${shape}, not with their vectors`,
  );
}

/** By the first item of each list. None that makes sense has more than four dimensions. */
function depthOf(value: unknown): number {
  let depth = 0;
  for (; depth < 5 && Array.isArray(value); depth++) value = value[0];
  return depth;
}

function withoutLeadingOne(item: unknown): unknown {
  return depthOf(item) === 3 && Array.isArray(item) && item.length === 1 ? item[0] : item;
}

/** The mean of the tokens' vectors, of length 1 where it is to be normalised. */
function pool(tokens: unknown, normalize: boolean): number[] {
  if (!Array.isArray(tokens) || depthOf(tokens) !== 2) throw differing();
  const mean = new Array<number>(tokens[0].length).fill(0);
  for (const token of tokens) {
    if (token?.length !== mean.length) throw differing();
    // What is no number must not count as 0.
    for (let at = 0; at < mean.length; at++) mean[at]! += Number.isFinite(token[at]) ? token[at] / tokens.length : NaN;
  }
  const length = Math.sqrt(mean.reduce((sum, number) => sum + number * number, 0));
  return normalize && length > 0 ? mean.map((number) => number / length) : mean;
}

function differing(): GatewayError {
  return new GatewayError("upstream_error", "The upstream's vectors of one input's tokens differ in shape");
}
