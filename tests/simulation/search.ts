/** Looks for schedules that break a law, and for the smallest part of each that still does. */
import { only, partsOf, type Schedule, scheduleFor } from "./schedule.ts";
import { simulate } from "./world.ts";

export interface Finding {
  seed: number;
  law: string;
  message: string;
  /** The smallest part of the schedule that breaks the law. */
  kept: string[];
}

export interface Tally {
  schedules: number;
  findings: Finding[];
  /** In the worlds, and in ours. */
  simulatedMs: number;
  tookMs: number;
}

export interface Search {
  from: number;
  count: number;
  /** How many findings are enough. */
  most?: number;
  /** After how many milliseconds it ends. */
  limitMs?: number;
  onFinding?(finding: Finding): void;
}

/** Runs the schedules of so many seeds. */
export async function search({ from, count, most = Infinity, limitMs = Infinity, onFinding }: Search): Promise<Tally> {
  const since = performance.now();
  const tally: Tally = { schedules: 0, findings: [], simulatedMs: 0, tookMs: 0 };
  for (let seed = from; seed < from + count && performance.now() - since < limitMs; seed++) {
    const schedule = scheduleFor(seed);
    const { violation, simulatedMs } = await simulate(schedule);
    tally.schedules++;
    tally.simulatedMs += simulatedMs;
    if (!violation) continue;
    const finding = await shrunk(schedule, violation.law, violation.message);
    tally.findings.push(finding);
    onFinding?.(finding);
    if (tally.findings.length >= most) break;
  }
  return { ...tally, tookMs: performance.now() - since };
}

/** The command that runs a finding again. */
export function commandFor({ seed, kept }: Pick<Finding, "seed" | "kept">): string {
  return `deno task simulate --seed=${seed} --keep=${kept.join(",")}`;
}

/** How many worlds are tried to make one smaller. */
const MOST_TRIES = 400;

/** Leaves out parts, at first many at once, as long as the same law breaks. */
async function shrunk(schedule: Schedule, law: string, first: string): Promise<Finding> {
  let kept = partsOf(schedule);
  let message = first;
  let tries = 0;
  for (let size = Math.ceil(kept.length / 2); size >= 1 && tries < MOST_TRIES;) {
    let isSmaller = false;
    for (let at = 0; at < kept.length && tries < MOST_TRIES;) {
      const without = kept.toSpliced(at, size);
      tries++;
      const { violation } = await simulate(only(schedule, new Set(without)));
      if (violation?.law === law) {
        [kept, message, isSmaller] = [without, violation.message, true];
      } else at += size;
    }
    if (size === 1 && !isSmaller) break;
    size = isSmaller && size === 1 ? 1 : Math.floor(size / 2);
  }
  return { seed: schedule.seed, law, message, kept: partsOf(only(schedule, new Set(kept))) };
}
