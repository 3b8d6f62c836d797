import { BoundedMap } from "../util/bounded_map.ts";

const KEPT_MS = 3_600_000;
/** How many models are remembered; the one that was learnt first is forgotten for a further one. */
const MOST_MODELS = 1_000;

/** Which fields of a request's body an upstream turned out to refuse, by model: held for an hour, because servers change. */
export class Refusals {
  readonly #known = new BoundedMap<string, { fields: readonly string[]; until: number }>(MOST_MODELS);
  readonly #now: () => number;

  constructor(now: () => number) {
    this.#now = now;
  }

  of(model: string): readonly string[] {
    const known = this.#known.get(model);
    return known && this.#now() < known.until ? known.fields : [];
  }

  add(model: string, fields: readonly string[]): void {
    const all = new Set([...this.of(model), ...fields]);
    this.#known.set(model, { fields: [...all], until: this.#now() + KEPT_MS });
  }
}
