/** Waits for idle time, in which deferred work does not delay requests. */
import { yieldToEventLoop } from "../util/sliced_work.ts";

/** Within this time after a request or the start, another request is likely, in milliseconds. */
const QUIET_MS = 50;
/** The longest wait for idle time, in milliseconds, for a gateway that is always busy. */
const LONGEST_MS = 2_000;

export interface IdleWatch {
  /** Called when a request has come. */
  broken(): void;
  /**
   * Resolves to `true` once no request has come for `quietMs` milliseconds, by default for a moment. Resolves to `false` if that
   * has not happened within two seconds.
   */
  begun(quietMs?: number): Promise<boolean>;
}

export function createIdleWatch(now: () => number, wait: (ms: number) => Promise<void>): IdleWatch {
  let brokenAt = now();
  return {
    broken: () => void (brokenAt = now()),
    async begun(quietMs = QUIET_MS) {
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
