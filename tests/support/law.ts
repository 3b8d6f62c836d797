import fc from "fast-check";
import { scaled } from "../reliability/scale.ts";

/** Random inputs are the same in every run, so that a failure can be run again; another seed is one edit away. */
const SEED = 20261120;
const RUNS = scaled(300, 30);

/** A test that holds for all inputs. What fails is shown shrunk, with the path to run it again. */
export function law<T>(name: string, inputs: fc.Arbitrary<T>, holds: (input: T) => void | Promise<void>): void {
  Deno.test(`${name} (seed ${SEED}, ${RUNS} runs)`, async () => {
    await fc.assert(fc.asyncProperty(inputs, async (input) => await holds(input)), { seed: SEED, numRuns: RUNS });
  });
}
