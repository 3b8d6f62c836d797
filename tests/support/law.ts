import fc from "fast-check";
import { scaled } from "../reliability/scale.ts";

/** Random inputs are the same in every run, so that a failure can be run again; another seed is one edit away. */
const SEED = 20261120;
const RUNS = scaled(300, 30);

const DAY_MS = 86_400_000;
/** Another one each day, so that a week has seen nearly all. */
const SAMPLE_SEED = Number(Deno.env.get("LANEWAY_SAMPLE") ?? Math.floor(Date.now() / DAY_MS));
const PART = scaled(1, 1 / 3);
/** The description of `sampleOf` for the name of a test. */
export const SAMPLE = PART === 1 ? "all" : `a third, LANEWAY_SAMPLE=${SAMPLE_SEED}`;

/** A third of them in their order, as chosen by a seed; in CI's own line all. */
export function sampleOf<T>(all: readonly T[]): readonly T[] {
  const count = Math.ceil(all.length * PART);
  const subarrays = fc.subarray([...all], { minLength: count, maxLength: count });
  return fc.sample(subarrays, { seed: SAMPLE_SEED, numRuns: 1 })[0]!;
}

/** A test that holds for all inputs. What fails is shown shrunk, with the path to run it again. */
export function law<T>(name: string, inputs: fc.Arbitrary<T>, holds: (input: T) => void | Promise<void>): void {
  Deno.test(`${name} (seed ${SEED}, ${RUNS} runs)`, async () => {
    await fc.assert(fc.asyncProperty(inputs, async (input) => await holds(input)), { seed: SEED, numRuns: RUNS });
  });
}

/** A law of so many inputs that a short run takes others each day. */
export function lawOf<T>(
  count: number,
  name: string,
  inputs: fc.Arbitrary<T>,
  holds: (input: T) => Promise<void>,
): void {
  const [seed, how] = PART === 1 ? [SEED, `seed ${SEED}`] : [SAMPLE_SEED, `LANEWAY_SAMPLE=${SAMPLE_SEED}`];
  Deno.test(`${name} (${how}, ${count} runs)`, async () => {
    await fc.assert(fc.asyncProperty(inputs, holds), { seed, numRuns: count });
  });
}
