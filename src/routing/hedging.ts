/** The share of requests that may be sent to a second target. */
const SHARE = 0.1;
/** How many hedges may be saved up for a bad moment. */
const MOST_SAVED = 10;

/** Limits how many requests are sent to a second target, so that a slow upstream does not double the load. */
export class HedgeBudget {
  #saved = MOST_SAVED;

  /** Counts a request, which adds its share. */
  earn(): void {
    this.#saved = Math.min(MOST_SAVED, this.#saved + SHARE);
  }

  /** Whether a request may be sent to a second target now. If so, it is deducted. */
  spend(): boolean {
    if (this.#saved < 1) return false;
    this.#saved--;
    return true;
  }
}
