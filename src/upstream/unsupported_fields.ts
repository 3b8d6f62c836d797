import { BoundedMap } from "../util/bounded_map.ts";

const KEPT_MS = 3_600_000;
/** How many models are remembered. The oldest entry makes room for a new one. */
const MOST_MODELS = 1_000;

/** The body fields that an upstream has refused, by model. Kept for an hour, because servers change. */
export class Refusals {
  readonly #known = new BoundedMap<string, { fields: readonly string[]; until: number }>(MOST_MODELS);
  readonly #now: () => number;
  /** Whether any were ever refused, which is rare. */
  hasAny = false;

  constructor(now: () => number) {
    this.#now = now;
  }

  of(model: string): readonly string[] {
    const known = this.#known.get(model);
    return known && this.#now() < known.until ? known.fields : [];
  }

  add(model: string, fields: readonly string[]): void {
    this.hasAny = true;
    const all = new Set([...this.of(model), ...fields]);
    this.#known.set(model, { fields: [...all], until: this.#now() + KEPT_MS });
  }
}
