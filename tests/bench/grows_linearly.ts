import { AssertionError } from "@std/assert";

/** Four times the input takes sixteen times as long where time grows with the square of it; the collector takes its share. */
const TOO_MUCH = 10;
const TRIES = 4;
/** Shorter than this, the clock and the collector are all that is measured. */
const MEASURABLE_MS = 2;
const LARGEST = 640_000;

/**
 * A test that four times the input takes about four times as long, whatever the machine: the sizes double until there is
 * something to measure, and what another process slowed down is tried again.
 */
export function growsLinearly<T>(
  name: string,
  input: (size: number) => T,
  run: (input: T) => unknown,
  smallest = 20_000,
): void {
  Deno.test(`growth: ${name}`, async () => {
    const time = async (size: number) => {
      const made = input(size);
      const start = performance.now();
      await run(made);
      return performance.now() - start;
    };
    let size = smallest;
    // What is run for the first time is not compiled yet.
    await time(size);
    while (await time(size) < MEASURABLE_MS) {
      size *= 2;
      // What is this fast looks at the beginning alone.
      if (size > LARGEST) return;
    }
    const ratios: string[] = [];
    for (let tried = 0; tried < TRIES; tried++) {
      const once = Math.min(await time(size), await time(size), await time(size));
      const longer = Math.min(await time(size * 4), await time(size * 4), await time(size * 4));
      if (longer < TOO_MUCH * once) return;
      ratios.push((longer / once).toFixed(1));
    }
    throw new AssertionError(`Four times ${size} characters took ${ratios.join(", ")} times as long`);
  });
}
