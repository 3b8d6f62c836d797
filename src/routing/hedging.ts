/** What share of the requests may be asked of two targets. */
const SHARE = 0.1;
/** How many may be saved up for a bad moment. */
const MOST_SAVED = 10;

/** How many requests may still be asked of two targets at once, so that a slow upstream does not double what is asked. */
export class HedgeBudget {
  #saved = MOST_SAVED;

  /** One more request, which adds its share. */
  earn(): void {
    this.#saved = Math.min(MOST_SAVED, this.#saved + SHARE);
  }

  /** Whether one may be asked twice now; counts it. */
  spend(): boolean {
    if (this.#saved < 1) return false;
    this.#saved--;
    return true;
  }
}
