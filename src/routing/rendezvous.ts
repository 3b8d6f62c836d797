/**
 * Which target comes first, by the targets' weights. Each target draws a number, and the least counts: with what is drawn of a
 * conversation's name, whoever knows the targets comes to the same order, and a target that is added takes its share alone.
 */
import type { Destination } from "../contract/destination.ts";
import { builtin } from "../util/builtin.ts";

/** A number from 0 to 1 for a target's name, the same for the same name. */
export type Draw = (target: string) => number;

/** The targets in the order of their draws. Those without a share of it come last, as they stand; so do all where none has one. */
export function orderByDraw<T extends Pick<Destination, "share">>(targets: readonly T[], draw: Draw): readonly T[] {
  if (!targets.some(({ share }) => share !== undefined && share.weight > 0)) return targets;
  const draws = new Map<string, number>();
  for (const { share } of targets) {
    // The least of such numbers is a target's with the probability of its share of the weights.
    if (share && !draws.has(share.of)) draws.set(share.of, -Math.log(draw(share.of)) / share.weight);
  }
  const placeOf = ({ share }: T) => share && share.weight > 0 ? draws.get(share.of)! : Infinity;
  return [...targets].sort((one, other) => {
    const [first, second] = [placeOf(one), placeOf(other)];
    return first < second ? -1 : first > second ? 1 : 0;
  });
}

const DIGITS = 13;

/** The draws of a conversation. */
export function drawsOf(conversation: string): Draw {
  return (target) => {
    const hash = builtin("node:crypto").hash("sha256", `${conversation}\n${target}`, "hex");
    return Number.parseInt(hash.slice(0, DIGITS), 16) / 16 ** DIGITS;
  };
}

/** The draws of what belongs to no conversation. */
export const RANDOM_DRAWS: Draw = () => Math.random();
