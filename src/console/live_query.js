// @ts-check
/** The page of live requests as its address asks for it. */
import { COLUMN_MS, columnsOf, MOST_COLUMNS } from "./entries.js";
import { orderIn } from "./design/order.js";
import { parseFilter, spanIn } from "./filter.js";

/** @typedef {import("./entries.js").Entry} Entry */
/** @typedef {ReturnType<typeof wantedIn>} Wanted */

/** The times that charts can show. Those without columns go back further than the requests that the page knows. */
export const RANGES = [
  { value: "5m", title: "5 min", columns: 30 },
  { value: "15m", title: "15 min", columns: 90 },
  { value: "1h", title: "1 h" },
  { value: "6h", title: "6 h" },
  { value: "24h", title: "24 h" },
  { value: "7d", title: "7 d" },
  { value: "30d", title: "30 d" },
  { value: "90d", title: "90 d" },
];
/** The conditions that say how requests are shown, and have no chip. */
export const HOW = new Set(["range", "sort"]);

/** The parts of a filter. @param {string} text */
export function wantedIn(text) {
  const { words, conditions } = parseFilter(text);
  const last = (/** @type {string} */ name) => conditions.findLast(({ field }) => field === name)?.value;
  return {
    words,
    conditions,
    range: RANGES.find(({ value }) => value === last("range")) ?? /** @type {typeof RANGES[number]} */ (RANGES[0]),
    span: spanIn(last("time") ?? ""),
    order: orderIn(last("sort")),
    // The sums are those of all requests, also of those that are no longer in the list.
    isAll: words.length === 0 && conditions.every(({ field }) => HOW.has(field)),
  };
}

/**
 * The columns of the charts, or nothing if the page does not know requests for so long.
 * @param {Wanted} asked
 * @param {readonly Entry[]} fitting
 * @param {number} now
 * @param {import("./entries.js").Entries} entries
 */
export function columnsIn({ range, span, isAll }, fitting, now, entries) {
  const first = now - MOST_COLUMNS * COLUMN_MS;
  if (span ? span.from < first : !range.columns) return undefined;
  const end = Math.min(span?.to ?? now, now);
  const length = span ? Math.floor(end / COLUMN_MS) - Math.floor(span.from / COLUMN_MS) + 1 : range.columns ?? 0;
  const columns = isAll ? entries.columns(end, length) : columnsOf(fitting, end, Math.max(2, length));
  return { columns, last: Math.floor(end / COLUMN_MS) * COLUMN_MS, isOver: span !== undefined };
}
