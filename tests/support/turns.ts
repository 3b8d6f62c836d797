import { mock } from "node:test";

/** More than a slice of work may take, in milliseconds. */
const LONG_MS = 10;

/**
 * How many turns others had while `run` was at work, on a machine so slow that whoever looks at the clock has worked for long
 * enough. It is counted in turns of the event loop, so that no clock judges; two slices may share one where timers meet.
 * `looks`: with how many looks at the clock the time passes; 2 where every other look ends a wait that took no time.
 */
export async function turnsDuring(run: () => unknown, looks = 1): Promise<number> {
  const began = performance.now();
  let looked = 0;
  const slow = mock.method(performance, "now", () => began + LONG_MS * Math.ceil(looked++ / looks));
  let turns = 0;
  let timer = setTimeout(function turn() {
    turns++;
    timer = setTimeout(turn);
  });
  try {
    await run();
    return turns;
  } finally {
    clearTimeout(timer);
    slow.mock.restore();
  }
}
