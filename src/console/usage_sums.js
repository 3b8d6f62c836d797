// @ts-check
/** Sums of what keys used. */

/**
 * @typedef {{ key: string, model: string, day: string, requests: number, inputTokens: number, outputTokens: number,
 *   dollars?: string }} Row
 * @typedef {{ name: string, requests: number, input: number, output: number, dollars: number, isPriced: boolean }} Sum
 */

/** How many groups have a part of their own in a chart. */
const MOST_LINES = 4;

/**
 * @param {readonly Row[]} rows
 * @param {"key" | "model" | "day"} by
 * @returns {Sum[]}
 */
export function sumsBy(rows, by) {
  /** @type {Map<string, Sum>} */
  const sums = new Map();
  for (const row of rows) {
    const name = row[by];
    const sum = sums.get(name) ?? { name, requests: 0, input: 0, output: 0, dollars: 0, isPriced: false };
    sum.requests += row.requests;
    sum.input += row.inputTokens;
    sum.output += row.outputTokens;
    sum.dollars += Number(row.dollars ?? 0);
    sum.isPriced ||= row.dollars !== undefined;
    sums.set(name, sum);
  }
  return [...sums.values()];
}

/** @param {Sum} sum @param {string} measure */
function amountOf({ requests, input, output, dollars }, measure) {
  return measure === "dollars" ? dollars : measure === "tokens" ? input + output : requests;
}

/**
 * A value for each day, the latest last, of the largest groups; those that are left are one more.
 * @param {readonly Row[]} rows
 * @param {"key" | "model" | "day"} by
 * @param {string} measure
 * @param {readonly string[]} dates
 */
export function linesOf(rows, by, measure, dates) {
  if (by === "day") return [{ name: "All", values: valuesOf(rows, measure, dates) }];
  const sums = sumsBy(rows, by).sort((one, other) => amountOf(other, measure) - amountOf(one, measure));
  const own = sums.slice(0, sums.length > MOST_LINES + 1 ? MOST_LINES : MOST_LINES + 1).map(({ name }) => name);
  const others = rows.filter((row) => !own.includes(row[by]));
  return [
    ...own.map((name) => ({ name, values: valuesOf(rows.filter((row) => row[by] === name), measure, dates) })),
    ...others.length > 0 ? [{ name: "others", values: valuesOf(others, measure, dates) }] : [],
  ];
}

/**
 * @param {readonly Row[]} rows
 * @param {string} measure
 * @param {readonly string[]} dates
 */
function valuesOf(rows, measure, dates) {
  const sums = new Map(sumsBy(rows, "day").map((sum) => [sum.name, amountOf(sum, measure)]));
  return dates.map((date) => sums.get(date) ?? 0);
}

/** @type {readonly (keyof Row)[]} */
const FIELDS = ["day", "key", "model", "requests", "inputTokens", "outputTokens", "dollars"];

/**
 * The rows as a table for a spreadsheet, in which no name becomes a formula.
 * @param {readonly Row[]} rows
 */
export function csvOf(rows) {
  const cell = (/** @type {string | number | undefined} */ value) => {
    const text = String(value ?? "");
    const safe = typeof value === "string" && /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
    return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
  };
  return [FIELDS, ...rows.map((row) => FIELDS.map((field) => row[field]))].map((line) =>
    line.map(cell).join(",") + "\r\n"
  )
    .join("");
}
