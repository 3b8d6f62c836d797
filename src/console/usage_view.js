// @ts-check
/** The choices of the page of usage, as its address has them, and the lines of its charts. */
import { filterText } from "./filter.js";
import { inDollars, inShort, inTime } from "./words.js";

/**
 * @typedef {{ p50: number | null, p95: number | null, p99: number | null }} Times
 * @typedef {{ requests: number, errors: number, inputTokens: number, cachedTokens: number, outputTokens: number,
 *   reasoningTokens: number, cacheHits: number, rejected?: number, rateLimited?: number, closed?: number, failed?: number, notes: number, relaxations: number, unpriced: number, estimated: number,
 *   dollars?: string, durationMs: Times, firstEventMs: Times & { requests: number } }} Total
 * @typedef {{ p50: (number | null)[], p95: (number | null)[], p99: (number | null)[] }} TimeValues
 * @typedef {{ [name: string]: any, requests: number[], dollars: number[], durationMs: TimeValues, firstEventMs: TimeValues }} Values
 * @typedef {{ name: string } & Total} Group
 * @typedef {{ from: number, to: number, stepMs: number, keptDays: number, by?: string, times: number[], total: Total, values: Values,
 *   groups: { name: string, total: Total, values: Values }[], totals?: Group[], names: Record<string, string[]>,
 *   before?: { from: number, to: number, total: Total, values: Values, totals?: Group[] } }} Answer
 * @typedef {{ range: string, from?: number, to?: number, by: string, isCompared: boolean, measure: string, sort?: string,
 *   filter: readonly { dimension: string, value: string }[] }} Choice
 */

export const RANGES = ["15m", "1h", "6h", "24h", "7d", "30d", "90d"];
/** The words for what requests can be told apart by. */
export const DIMENSIONS = {
  model: "Model",
  target: "Target",
  provider: "Provider",
  key: "Key",
  team: "Team",
  client: "Client",
  lane: "Lane",
};

/** How many groups have a part of their own in a chart: as many as there are colors, and the others. */
const MOST_LINES = 5;
/** The name of a group that has none, and of those that have no room of their own. */
export const [NONE, OTHER] = ["none", "other"];

/** The sums that a chart can show. Those that cannot be added are lines beside each other. */
export const MEASURES = [
  { id: "requests", title: "Requests", of: named("requests"), inWords: inShort, isSum: true },
  { id: "errors", title: "Errors", of: named("errors"), inWords: inShort, isSum: true },
  { id: "tokens", title: "Tokens", of: tokensOf, inWords: inShort, isSum: true },
  { id: "dollars", title: "Cost", of: named("dollars"), inWords: inDollars, isSum: true },
  { id: "cacheHits", title: "Cache hits", of: named("cacheHits"), inWords: inShort, isSum: true },
  { id: "notes", title: "Notes", of: named("notes"), inWords: inShort, isSum: true },
  { id: "relaxations", title: "Relaxations", of: named("relaxations"), inWords: inShort, isSum: true },
  { id: "p95", title: "Duration 95 %", of: (/** @type {Values} */ values) => values.durationMs.p95, inWords: inTime },
  {
    id: "first",
    title: "First event 95 %",
    of: (/** @type {Values} */ values) => values.firstEventMs.p95,
    inWords: inTime,
  },
];

/** @param {string} name @returns {(values: Values) => (number | null)[]} */
function named(name) {
  return (values) => values[name];
}

/** @param {Values} values @returns {(number | null)[]} */
function tokensOf(values) {
  return values.inputTokens.map((/** @type {number} */ tokens, /** @type {number} */ at) =>
    tokens + values.outputTokens[at]
  );
}

/** @param {string} id */
export function measureOf(id) {
  return MEASURES.find((measure) => measure.id === id) ?? /** @type {typeof MEASURES[number]} */ (MEASURES[0]);
}

/** @param {string} name */
export function nameOf(name) {
  return name === "" ? NONE : name;
}

/** @param {string} query what follows the page in the address @returns {Choice} */
export function choiceIn(query) {
  const asked = new URLSearchParams(query);
  const [range, by] = [asked.get("range") ?? "", asked.get("by") ?? ""];
  const { from: first = "", to: last = "" } = Object.fromEntries(asked);
  const [from, to] = [timeIn(first), timeIn(last)];
  return {
    range: RANGES.includes(range) ? range : "24h",
    ...from !== undefined && to !== undefined && from < to && { from, to },
    by: Object.hasOwn(DIMENSIONS, by) ? by : "model",
    isCompared: asked.get("compare") === "true",
    measure: measureOf(asked.get("measure") ?? "").id,
    sort: asked.get("sort") ?? undefined,
    filter: Object.keys(DIMENSIONS).flatMap((dimension) =>
      asked.getAll(dimension).map((value) => ({ dimension, value }))
    ),
  };
}

/** @param {string} text */
function timeIn(text) {
  return /^\d{1,16}$/.test(text) ? Number(text) : undefined;
}

/**
 * The choice as a query: of the gateway, and of the address with what only the page knows.
 * @param {Choice} choice
 * @param {{ isAddress?: boolean }} [options]
 */
export function queryOf({ range, from, to, by, isCompared, measure, sort, filter }, { isAddress = false } = {}) {
  const isNamed = from === undefined || to === undefined;
  const query = new URLSearchParams(isNamed ? { range } : { from: String(from), to: String(to) });
  query.set("by", by);
  if (isCompared) query.set("compare", "true");
  if (isAddress) query.set("measure", measure);
  if (isAddress && sort) query.set("sort", sort);
  for (const { dimension, value } of filter) query.append(dimension, value);
  return query.toString();
}

/**
 * The lines of a chart: the largest groups, and the others as one if they can be added.
 * @param {Answer} answer
 * @param {typeof MEASURES[number]} measure
 */
export function linesOf({ groups, values }, { of, isSum }) {
  if (groups.length === 0) return [{ name: "all", values: of(values).map((value) => isSum ? value ?? 0 : value) }];
  const sum = (/** @type {readonly (number | null)[]} */ numbers) =>
    numbers.reduce((/** @type {number} */ all, value) => all + (value ?? 0), 0);
  const lines = groups.map((group) => ({ name: nameOf(group.name), values: of(group.values) }));
  const isOther = (/** @type {{ name: string }} */ { name }) => name === OTHER;
  const sorted = lines.filter((line) => !isOther(line)).sort((one, two) => sum(two.values) - sum(one.values));
  const rest = lines.filter(isOther);
  const room = sorted.length + rest.length > MOST_LINES ? MOST_LINES - 1 : MOST_LINES;
  const own = sorted.slice(0, isSum ? room : MOST_LINES);
  const others = [...sorted.slice(own.length), ...rest];
  if (!isSum || others.length === 0) return own;
  const added = (others[0]?.values ?? []).map((_, at) => others.reduce((all, line) => all + (line.values[at] ?? 0), 0));
  return [...own, { name: OTHER, values: added }];
}

/**
 * The tokens by their kinds, which do not overlap.
 * @param {Values} values
 */
export function tokenLines({ inputTokens, cachedTokens, outputTokens, reasoningTokens }) {
  const less = (/** @type {number[]} */ all, /** @type {number[]} */ part) =>
    all.map((value, at) => Math.max(0, value - (part[at] ?? 0)));
  return [
    { name: "Cached input", values: cachedTokens },
    { name: "Other input", values: less(inputTokens, cachedTokens) },
    { name: "Output", values: less(outputTokens, reasoningTokens) },
    { name: "Reasoning", values: reasoningTokens },
  ];
}

/** The kinds of errors, by the sums that count them. */
const KINDS = {
  failed: "Failed (5xx)",
  rateLimited: "Over a limit (429)",
  rejected: "Rejected (other 4xx)",
  closed: "Client left",
};

/**
 * The errors by their kinds. An earlier version of the gateway did not tell them apart.
 * @param {Values} values
 */
export function errorLines(values) {
  const lines = Object.entries(KINDS).map(([kind, name]) => ({
    name,
    values: /** @type {number[]} */ (values[kind] ?? []),
  }));
  const rest = values.errors.map((/** @type {number} */ all, /** @type {number} */ at) =>
    Math.max(0, all - lines.reduce((sum, { values }) => sum + (values[at] ?? 0), 0))
  );
  return rest.some((/** @type {number} */ value) => value > 0) ? [...lines, { name: "Other", values: rest }] : lines;
}

/**
 * The address of the latest requests of a group, within the conditions.
 * @param {Choice} choice
 * @param {string} name
 */
export function requestsOf({ by, filter }, name) {
  const conditions = [...filter.filter(({ dimension }) => dimension !== by), { dimension: by, value: name }];
  const text = filterText(
    "",
    conditions.map(({ dimension, value }) => ({ field: /** @type {any} */ (dimension), value })),
  );
  return `#live?${encodeURIComponent(text)}`;
}

/**
 * How much more there is than before, in words; nothing if there was nothing before.
 * @param {number | null | undefined} now
 * @param {number | null | undefined} before
 */
export function changeOf(now, before) {
  if (now === null || now === undefined || !before) return undefined;
  const share = Math.round((now / before - 1) * 100);
  return share === 0 ? "±0 %" : `${share > 0 ? "+" : "−"}${Math.abs(share).toLocaleString("en")} %`;
}
