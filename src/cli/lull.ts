/** What can wait is done while nobody asks. */
import { othersTurn } from "../util/work.ts";

/** So long after a request, or the start, another one is likely; in milliseconds. */
const LULL_MS = 50;
/** A gateway that is always asked does it all the same, after so many milliseconds. */
const LONGEST_MS = 2_000;

export interface Lull {
  /** A request has come. */
  broken(): void;
  /** Resolves once nothing has been asked for a while, or with `false` where that does not happen. */
  begun(): Promise<boolean>;
}

export function createLull(now: () => number, wait: (ms: number) => Promise<void>): Lull {
  let brokenAt = now();
  return {
    broken: () => void (brokenAt = now()),
    async begun() {
      await othersTurn();
      const latest = now() + LONGEST_MS;
      for (;;) {
        const rest = brokenAt + LULL_MS - now();
        const left = latest - now();
        if (rest <= 0 || left <= 0) return rest <= 0;
        await wait(Math.min(rest, left));
      }
    },
  };
}
