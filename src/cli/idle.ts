/** What can wait is done while nobody asks. */
import { yieldToEventLoop } from "../util/sliced_work.ts";

/** So long after a request, or the start, another one is likely; in milliseconds. */
const LULL_MS = 50;
/** A gateway that is always asked does it all the same, after so many milliseconds. */
const LONGEST_MS = 2_000;

export interface IdleWatch {
  /** A request has come. */
  broken(): void;
  /**
   * Resolves to `true` once nothing has been asked for so many milliseconds, by default for a moment; to `false` where that has
   * not happened within two seconds.
   */
  begun(quietMs?: number): Promise<boolean>;
}

export function createIdleWatch(now: () => number, wait: (ms: number) => Promise<void>): IdleWatch {
  let brokenAt = now();
  return {
    broken: () => void (brokenAt = now()),
    async begun(quietMs = LULL_MS) {
      await yieldToEventLoop();
      const latest = now() + LONGEST_MS;
      for (;;) {
        const untilQuiet = brokenAt + quietMs - now();
        const untilLatest = latest - now();
        if (untilQuiet <= 0 || untilLatest <= 0) return untilQuiet <= 0;
        await wait(Math.min(untilQuiet, untilLatest));
      }
    },
  };
}
