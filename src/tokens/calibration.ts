import { BoundedMap } from "../util/bounded_map.ts";
import type { Count } from "../canonical/usage.ts";

/** How far upstreams' counts may move an estimate. */
const LEAST_RATIO = 0.5;
const MOST_RATIO = 3;
/**
 * A reported count beyond so many times an estimate, or is less than such a part of it, is no count of the same text, and moves
 * nothing. Of a short one it may be: most of it is the chat template's.
 */
const ABSURD_RATIO = 10;
/** Tokens of trust in the plain estimate: a short first answer, most of which is the chat template's, says little. */
const TRUST = 500;
/** How many tokens are kept in mind; then old answers begin to count for less, because conversations change. */
const MEMORY = 200_000;
/** What is added to a ratio: agents compact on the number, so that too many is the safe side. */
const MARGIN = 1.03;
const MOST_MODELS = 5_000;

interface Learnt {
  estimated: number;
  reported: number;
}

/** How many tokens models really make of what is estimated, by what upstreams reported in their answers. */
export class Calibration {
  readonly #models = new BoundedMap<string, Learnt>(MOST_MODELS);

  /** `model` tells apart what may count differently: a model at one of the places that run it. */
  count(model: string, estimate: number): Count {
    const learnt = this.#models.get(model);
    if (!learnt) return { inputTokens: estimate, by: "estimated" };
    return { inputTokens: Math.ceil(estimate * MARGIN * learnt.reported / learnt.estimated), by: "calibrated" };
  }

  /** Takes the count that an upstream reported for an estimate. Long requests weigh more than short ones. */
  learn(model: string, estimate: number, reported: number): void {
    if (!(reported > 0 && estimate > 0)) return;
    if (reported > ABSURD_RATIO * Math.max(estimate, TRUST) || reported < estimate / ABSURD_RATIO) return;
    const { estimated, reported: before } = this.#models.get(model) ?? { estimated: TRUST, reported: TRUST };
    const fade = Math.min(1, MEMORY / (estimated + estimate));
    const believed = Math.min(Math.max(reported, estimate * LEAST_RATIO), estimate * MOST_RATIO);
    this.#models.set(model, { estimated: (estimated + estimate) * fade, reported: (before + believed) * fade });
  }
}
