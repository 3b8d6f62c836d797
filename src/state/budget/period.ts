/** The periods of budgets. They begin in UTC, weeks on Monday. */
import type { PERIODS } from "../../config/limits_schema.ts";

export type PeriodKind = typeof PERIODS[number];

export interface Period {
  /** Unique among the periods of all kinds, with the first day: `day 2027-01-31`. */
  id: string;
  /** When the next period begins, in milliseconds since the epoch. Absent if the period never ends. */
  endsAt?: number;
}

const DAY_MS = 86_400_000;
/** 1 January 1970 was a Thursday. */
const MONDAY_MS = -3 * DAY_MS;

/** The period of a time, in milliseconds since the epoch. It depends on the clock alone: a clock that goes back finds it again. */
export function periodAt(kind: PeriodKind, ms: number): Period {
  switch (kind) {
    case "day":
      return between(kind, startOf(ms, DAY_MS), DAY_MS);
    case "week":
      return between(kind, startOf(ms, 7 * DAY_MS, MONDAY_MS), 7 * DAY_MS);
    case "month": {
      const date = new Date(ms);
      const [year, month] = [date.getUTCFullYear(), date.getUTCMonth()];
      const start = Date.UTC(year, month);
      return between(kind, start, Date.UTC(year, month + 1) - start);
    }
    case "total":
      return { id: kind };
    default:
      return kind satisfies never;
  }
}

/** The ids of the periods that lie `from` to `to` periods before the one of `ms`. */
export function periodsBefore(kind: PeriodKind, ms: number, from: number, to: number): string[] {
  if (kind === "total") return [];
  const ids: string[] = [];
  let at = ms;
  for (let ago = 1; ago <= to; ago++) {
    const { id } = periodAt(kind, at);
    at = Date.parse(id.slice(kind.length + 1)) - 1;
    if (ago >= from) ids.push(periodAt(kind, at).id);
  }
  return ids;
}

function startOf(ms: number, lengthMs: number, originMs = 0): number {
  return Math.floor((ms - originMs) / lengthMs) * lengthMs + originMs;
}

function between(kind: PeriodKind, start: number, lengthMs: number): Period {
  return { id: `${kind} ${new Date(start).toISOString().slice(0, 10)}`, endsAt: start + lengthMs };
}
