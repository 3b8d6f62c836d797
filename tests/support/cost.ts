import { assert } from "@std/assert";

const YARDSTICK = JSON.stringify(
  Array.from(
    { length: 5_000 },
    (_, index) => ({ index, name: `name ${index}`, list: [1, "two", null] }),
  ),
);
const TRIES = 5;

/** The time that a fixed piece of JSON work takes here and now, about ten milliseconds on a machine with nothing else to do. */
function timeYardstick(): number {
  const begun = performance.now();
  for (let time = 0; time < 3; time++) {
    JSON.parse(JSON.stringify(JSON.parse(YARDSTICK)));
  }
  return performance.now() - begun;
}

/**
 * Fails where `work` costs more than `most` times a fixed piece of JSON work that is timed around it. A slow or busy machine slows
 * both; the best of several tries counts, so that what else ran in between does not.
 */
export async function assertCheap(
  most: number,
  work: () => unknown,
): Promise<void> {
  let best = Infinity;
  for (let time = 0; time < TRIES && best > most; time++) {
    const before = timeYardstick();
    const begun = performance.now();
    await work();
    const took = performance.now() - begun;
    best = Math.min(best, took / Math.max(before, timeYardstick()));
  }
  assert(
    best <= most,
    `It costs ${best.toFixed(1)} times the yardstick, more than ${most}`,
  );
}
