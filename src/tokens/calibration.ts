import { BoundedMap } from "../util/bounded_map.ts";
import type { Count } from "../canonical/usage.ts";

/** How far reported counts may move an estimate. */
const LEAST_RATIO = 0.5;
const MOST_RATIO = 3;
/**
 * A reported count that differs from the estimate by more than this factor is not a count of the same text, and is ignored. For
 * a short text it may be one, because most of its tokens come from the chat template.
 */
const ABSURD_RATIO = 10;
/**
 * The weight of the plain estimate in tokens. A short first answer says little, because most of its tokens come from the chat
 * template.
 */
const TRUST = 500;
/** The number of tokens to remember. Beyond it, old answers lose weight, because conversations change. */
const MEMORY = 200_000;
/** A margin on the ratio. Agents compact on this number, so too many tokens is the safe side. */
const MARGIN = 1.03;
const MOST_MODELS = 5_000;

interface Learnt {
  estimated: number;
  reported: number;
}

/** Calibrates estimates for each model by the counts that upstreams reported in their answers. */
export class Calibration {
  readonly #models = new BoundedMap<string, Learnt>(MOST_MODELS);

  /** `model` identifies a model at one provider, since each may count differently. */
  count(model: string, estimate: number): Count {
    const learnt = this.#models.get(model);
    if (!learnt) return { inputTokens: estimate, by: "estimated" };
    return { inputTokens: Math.ceil(estimate * MARGIN * learnt.reported / learnt.estimated), by: "calibrated" };
  }

  /** Learns from the count that an upstream reported for an estimate. Long requests weigh more than short ones. */
  learn(model: string, estimate: number, reported: number): void {
    if (!(reported > 0 && estimate > 0)) return;
    if (reported > ABSURD_RATIO * Math.max(estimate, TRUST) || reported < estimate / ABSURD_RATIO) return;
    const { estimated, reported: before } = this.#models.get(model) ?? { estimated: TRUST, reported: TRUST };
    const fade = Math.min(1, MEMORY / (estimated + estimate));
    const believed = Math.min(Math.max(reported, estimate * LEAST_RATIO), estimate * MOST_RATIO);
    this.#models.set(model, { estimated: (estimated + estimate) * fade, reported: (before + believed) * fade });
  }
}
