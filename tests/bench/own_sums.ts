/** What all pairs of wires together cost, in a process of its own, where nothing else runs and nothing runs beside the code. */
import type { Work } from "./own.ts";
import { runOwn } from "./own_run.ts";

/** Of each work, as a multiple of the fixed work. */
export type Sums = Record<Work, number>;

/** The committed figures. */
export const FIGURES = new URL("./own_cpu.json", import.meta.url);

/** The engine compiles and collects on the one thread, and compiles early, so that all code is compiled soon. */
const V8_FLAGS = [
  "--single-threaded",
  "--invocation-count-for-maglev=20",
  "--invocation-count-for-turbofan=150",
  "--invocation-count-for-osr=50",
  "--minimum-invocations-after-ic-update=30",
];
const ROUNDS = 12;

export async function measureSums(): Promise<Sums> {
  return JSON.parse(await runOwn(`--v8-flags=${V8_FLAGS}`, "--sums", `--rounds=${ROUNDS}`));
}

/** Of several processes: where the engine puts code and data is luck. */
export async function leastSums(times: number): Promise<Sums> {
  let least = await measureSums();
  for (let time = 1; time < times; time++) least = lesser(least, await measureSums());
  return least;
}

export function lesser(one: Sums, other: Sums): Sums {
  const works = Object.keys(one) as Work[];
  return Object.fromEntries(works.map((work) => [work, Math.min(one[work], other[work])])) as Sums;
}
