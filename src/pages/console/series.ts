/** Requests, errors, durations, tokens and dollars over time, as JSON or as a table for spreadsheets. */
import type { RequestContext } from "../../context/request_context.ts";
import { GatewayError, toGatewayError } from "../../errors.ts";
import type { Histogram } from "../../state/series/histogram.ts";
import { countIn, quantileOf } from "../../state/series/histogram.ts";
import type { Found, Line, Query } from "../../state/series/query.ts";
import { largest, querySeries } from "../../state/series/query.ts";
import { COUNTS, type Dimension, DIMENSIONS, type Sums } from "../../state/series/rows.ts";
import { DAY_MS, type Range } from "../../state/series/tiers.ts";
import { formatDollars } from "../../util/dollars.ts";
import { csvTable } from "./csv.ts";

const [MINUTE_MS, HOUR_MS] = [60_000, 3_600_000];
/** The ranges that have a name. They end now. */
const RANGES: Readonly<Record<string, number>> = {
  "15m": 15 * MINUTE_MS,
  "1h": HOUR_MS,
  "6h": 6 * HOUR_MS,
  "24h": DAY_MS,
  "7d": 7 * DAY_MS,
  "30d": 30 * DAY_MS,
  "90d": 90 * DAY_MS,
};

/** The most groups that have values of their own over time. */
const MOST_LINES = 20;

/**
 * `?range=24h`, or `?from=` and `?to=` in milliseconds since the epoch or by ISO 8601; `by=` a dimension; `model=`, `key=` and so on,
 * each any number of times; `compare=true`; `format=csv`.
 */
export async function series(context: RequestContext): Promise<Response> {
  const { gateway: { observe: { usage }, clocks: { now }, hide }, url } = context;
  if (!usage?.series) {
    throw new GatewayError("not_found", `Usage is not recorded: add "usage": {} to the configuration`);
  }
  const asked = url!.searchParams;
  const at = now();
  const query = queryIn(asked, at);
  const found = await usage.series.book().then((book) => querySeries(book, query, at)).catch((cause) => {
    const message = "The gateway cannot read the usage: try again later";
    throw new GatewayError("unavailable", message, { cause: toGatewayError(cause).cause, retryAfter: "1" });
  });
  const lines = largest(found.groups, MOST_LINES, ({ requests }) => requests);
  if (asked.get("format") === "csv") {
    const rows = query.by ? lines : [["", found.total] as const];
    return asFile(hide(csvTable(tableOf(rows, query.by, found.from, found.tier.ms))), "csv");
  }
  const { tier, total, groups, names, before } = found;
  const view = {
    object: "series",
    now: at,
    from: found.from,
    to: found.to,
    stepMs: tier.ms,
    keptDays: usage.retentionDays,
    by: query.by,
    times: timesOf(found, tier.ms),
    ...viewOf(total),
    groups: lines.map(([name, line]) => ({ name, ...viewOf(line) })),
    // Their totals alone, because there may be hundreds.
    totals: query.by && Array.from(groups, ([name, { total }]) => ({ name, ...totalsOf(total) })),
    names: Object.fromEntries(Array.from(names, ([dimension, set]) => [dimension, [...set].sort()])),
    before: before && {
      from: before.from,
      to: before.to,
      ...viewOf(before.total),
      totals: query.by && Array.from(before.groups, ([name, { total }]) => ({ name, ...totalsOf(total) })),
    },
  };
  const text = hide(JSON.stringify(view));
  if (asked.get("format") === "json") return asFile(text, "json");
  return new Response(text, { headers: { "content-type": "application/json" } });
}

function asFile(text: string, kind: "csv" | "json"): Response {
  return new Response(text, {
    headers: {
      "content-type": kind === "csv" ? "text/csv; charset=utf-8" : "application/json",
      "content-disposition": `attachment; filename="usage.${kind}"`,
      "x-content-type-options": "nosniff",
    },
  });
}

function queryIn(asked: URLSearchParams, now: number): Query {
  const by = asked.get("by") ?? undefined;
  if (by !== undefined && !isDimension(by)) throw wrong("by", `one of ${DIMENSIONS.join(", ")}`);
  const filter = new Map<Dimension, Set<string>>();
  for (const dimension of DIMENSIONS) {
    if (asked.has(dimension)) filter.set(dimension, new Set(asked.getAll(dimension)));
  }
  return { range: rangeIn(asked, now), filter, isCompared: asked.get("compare") === "true", ...(by && { by }) };
}

function isDimension(name: string): name is Dimension {
  return (DIMENSIONS as readonly string[]).includes(name);
}

function rangeIn(asked: URLSearchParams, now: number): Range {
  const [from, to] = [asked.get("from"), asked.get("to")];
  if (from === null && to === null) {
    const name = asked.get("range") ?? "24h";
    if (!Object.hasOwn(RANGES, name)) throw wrong("range", `one of ${Object.keys(RANGES).join(", ")}`);
    return { from: now - RANGES[name]! + 1, to: now + 1 };
  }
  const range = { from: timeIn(from, "from"), to: to === null ? now + 1 : timeIn(to, "to") };
  if (range.from >= range.to) throw wrong("from", "a time before the end");
  return range;
}

/** The latest time that a date can hold. */
const LAST_MS = 8.64e15;

function timeIn(text: string | null, param: string): number {
  // Other texts mean something else in every browser.
  const ms = /^\d{1,16}$/.test(text ?? "") ? Number(text) : Date.parse(/^\d{4}-\d\d/.test(text ?? "") ? text! : "");
  if (ms >= 0 && ms <= LAST_MS) return ms;
  throw wrong(param, "milliseconds since 1970, or a time such as 2027-01-31T08:00:00Z");
}

function wrong(param: string, expected: string): GatewayError {
  return new GatewayError("invalid_request", `Cannot read "${param}": expected ${expected}`, { param });
}

function timesOf({ from, to }: Found, ms: number): number[] {
  return Array.from({ length: Math.round((to - from) / ms) }, (_, index) => from + index * ms);
}

const NO_TIMES = { p50: null, p95: null, p99: null };

function durationsOf(histogram: Histogram | undefined) {
  if (!histogram || histogram.size === 0) return NO_TIMES;
  const at = (share: number) => quantileOf(histogram, share) ?? null;
  return { p50: at(0.5), p95: at(0.95), p99: at(0.99) };
}

function totalsOf(sums: Sums) {
  const { duration, firstEvent, pico, requests, unpriced } = sums;
  return {
    ...Object.fromEntries(COUNTS.map((name) => [name, sums[name]])),
    // An unknown amount is left out instead of being reported as 0.
    ...(requests > 0 && (unpriced === 0 || pico > 0n) && { dollars: formatDollars(pico) }),
    durationMs: durationsOf(duration),
    firstEventMs: { ...durationsOf(firstEvent), requests: countIn(firstEvent) },
  };
}

/** The totals of a line, and its values over time. */
function viewOf({ total, steps }: Line) {
  const durations = steps.map((sums) => durationsOf(sums?.duration));
  const firsts = steps.map((sums) => durationsOf(sums?.firstEvent));
  const columns = (times: typeof durations) => ({
    p50: times.map(({ p50 }) => p50),
    p95: times.map(({ p95 }) => p95),
    p99: times.map(({ p99 }) => p99),
  });
  return {
    total: totalsOf(total),
    values: {
      ...Object.fromEntries(COUNTS.map((name) => [name, steps.map((sums) => sums?.[name] ?? 0)])),
      dollars: steps.map((sums) => Number(formatDollars(sums?.pico ?? 0n))),
      durationMs: columns(durations),
      firstEventMs: columns(firsts),
    },
  };
}

type Cell = string | number | null | undefined;

function* tableOf(
  lines: Iterable<readonly [string, Line]>,
  by: Dimension | undefined,
  from: number,
  stepMs: number,
): Generator<Cell[]> {
  const times = ["p50", "p95", "p99"] as const;
  yield [
    "time",
    ...by ? [by] : [],
    ...COUNTS,
    "dollars",
    ...times.map((name) => `duration_${name}_ms`),
    ...times.map((name) => `first_event_${name}_ms`),
  ];
  for (const [name, { steps }] of lines) {
    for (const [index, sums] of steps.entries()) {
      if (!sums) continue;
      const [duration, first] = [durationsOf(sums.duration), durationsOf(sums.firstEvent)];
      yield [
        new Date(from + index * stepMs).toISOString(),
        ...by ? [name] : [],
        ...COUNTS.map((count) => sums[count]),
        sums.unpriced < sums.requests ? formatDollars(sums.pico) : "",
        ...times.map((time) => duration[time]),
        ...times.map((time) => first[time]),
      ];
    }
  }
}
