import { mock } from "node:test";

/** More than a slice of work may take, in milliseconds. */
const LONG_MS = 10;

/**
 * How many turns others had while `run` was at work, on a machine so slow that whoever looks at the clock has worked for long
 * enough. It is counted in turns of the event loop, so that no clock judges; two slices may share one where timers meet.
 */
export async function turnsDuring(run: () => Promise<unknown>): Promise<number> {
  let clock = performance.now();
  const slow = mock.method(performance, "now", () => clock += LONG_MS);
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
