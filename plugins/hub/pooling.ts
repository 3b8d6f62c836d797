import { depthOf, poolTokens, type Vector } from "../../src/canonical/embed.ts";
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
    if (depth === 2 && count === 1) return [poolTokens(answer, normalize)];
    if (depth > 2 && answer.length === count) return answer.map((item) => poolTokens(item, normalize));
  }
  const shape = depth === 0 ? "no list" : `a list of ${depth} dimensions`;
  throw new GatewayError(
    "upstream_error",
    `The upstream answered ${count} inputs with ${shape}, not with their vectors`,
  );
}
