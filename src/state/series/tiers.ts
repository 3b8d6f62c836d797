/** The steps of time in which requests are summed up. Shorter steps are kept for a shorter time. */

export interface Tier {
  name: "minute" | "quarter" | "hour" | "day";
  ms: number;
  /** How many steps are kept. */
  kept: number;
  /** How many rows of a step keep all of their names. */
  room: number;
}

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
export const DAY_MS = 86_400_000;

/** The longest range with its comparison: twice ninety days, and today. */
const MOST_DAYS = 181;

/** From the shortest step to the longest one. Each tier is kept for twice its usual range, with which that is compared. */
const TIERS: readonly Tier[] = [
  { name: "minute", ms: MINUTE_MS, kept: 150, room: 60 },
  { name: "quarter", ms: 15 * MINUTE_MS, kept: 200, room: 80 },
  { name: "hour", ms: HOUR_MS, kept: 340, room: 120 },
  { name: "day", ms: DAY_MS, kept: MOST_DAYS, room: 300 },
];

/** The tiers as far as usage is kept. */
export function tiersFor(retentionDays: number): Tier[] {
  return TIERS.map((tier) => ({ ...tier, kept: Math.min(tier.kept, Math.ceil(retentionDays * DAY_MS / tier.ms)) }));
}

/** The most steps of one answer. */
const MOST_STEPS = 200;

export interface Range {
  /** Milliseconds since the epoch. */
  from: number;
  to: number;
}

/** The positions of the first and the last step that a range has a part of. */
export function positionsIn({ from, to }: Range, { ms }: Tier): { first: number; last: number } {
  const first = Math.floor(from / ms);
  return { first, last: Math.max(first, Math.ceil(to / ms) - 1) };
}

/** The shortest steps in which all of the range is kept, with as long a time before it if it is to be compared. */
export function tierFor(tiers: readonly Tier[], range: Range, now: number, isCompared: boolean): Tier {
  const found = tiers.find((tier) => {
    const { first, last } = positionsIn(range, tier);
    const steps = last - first + 1;
    return steps <= MOST_STEPS && oldestOf(tier, now) <= first - (isCompared ? steps : 0);
  });
  return found ?? tiers.at(-1)!;
}

/** The position of the oldest step that is kept. */
export function oldestOf({ ms, kept }: Tier, now: number): number {
  return Math.floor(now / ms) - kept + 1;
}
