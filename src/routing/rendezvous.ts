/**
 * Orders targets by their weights. Each target draws a number, and the least comes first. For draws from a conversation's name,
 * every gateway that knows the targets computes the same order, and a new target takes only its share.
 */
import type { PlannedTarget } from "../contract/planned_target.ts";
import { builtin } from "../util/builtin.ts";

/** A number from 0 to 1 for a target's name, always the same for the same name. */
export type Draw = (target: string) => number;

/**
 * The targets in the order of their draws. Targets without a weight come last, in their given order. If none has a weight, the
 * order is unchanged.
 */
export function orderByDraw<T extends Pick<PlannedTarget, "share">>(targets: readonly T[], draw: Draw): readonly T[] {
  if (targets.length < 2 || !targets.some(({ share }) => share !== undefined && share.weight > 0)) return targets;
  const draws = new Map<string, number>();
  for (const { share } of targets) {
    // The probability that a target's number is the least equals its share of the weights.
    if (share && !draws.has(share.of)) draws.set(share.of, -Math.log(draw(share.of)) / share.weight);
  }
  const placeOf = ({ share }: T) => share && share.weight > 0 ? draws.get(share.of)! : Infinity;
  return [...targets].sort((one, other) => {
    const [first, second] = [placeOf(one), placeOf(other)];
    return first < second ? -1 : first > second ? 1 : 0;
  });
}

const DIGITS = 13;

/** The draws for a conversation. */
export function drawsOf(conversation: string): Draw {
  return (target) => {
    const hash = builtin("node:crypto").hash("sha256", `${conversation}\n${target}`, "hex");
    return Number.parseInt(hash.slice(0, DIGITS), 16) / 16 ** DIGITS;
  };
}

/** The draws for a request outside any conversation. */
export const RANDOM_DRAWS: Draw = () => Math.random();
