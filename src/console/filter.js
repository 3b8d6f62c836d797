// @ts-check
/** The filter of a list of requests: words, and conditions such as `model:glm-5.3`. It stands in the address as one text. */

import { endOf } from "./entries.js";
import { kindIn } from "./words.js";

/** @typedef {import("./entries.js").Entry} Entry */
/** @typedef {{ field: Field, value: string }} Condition */
/** @typedef {keyof typeof FIELDS} Field */

/** The fields that a condition can be about, and their values. */
export const FIELDS = {
  status: {
    title: "Status",
    of: (/** @type {Entry} */ { status }) =>
      status === undefined ? ["running"] : [String(status), status >= 400 ? "error" : "ok"],
  },
  model: { title: "Model", of: (/** @type {Entry} */ { model }) => model },
  target: { title: "Target", of: (/** @type {Entry} */ { target }) => target },
  key: { title: "Key", of: (/** @type {Entry} */ { key }) => key },
  // A program is known by its name without its version, too.
  client: { title: "Client", of: (/** @type {Entry} */ { client }) => client && [client, programOf(client)] },
  lane: { title: "Lane", of: (/** @type {Entry} */ { lane }) => lane },
  provider: { title: "Provider", of: (/** @type {Entry} */ { provider }) => provider },
  team: { title: "Team", of: (/** @type {Entry} */ { team }) => team },
  error: { title: "Error", of: (/** @type {Entry} */ { error }) => error },
  session: { title: "Session", of: (/** @type {Entry} */ { session }) => session },
  time: { title: "Ended", of: () => undefined, admits: isWithin },
  // They say how the page shows requests, and leave none out.
  range: { title: "Range", of: () => undefined, admits: () => true },
  sort: { title: "Order", of: () => undefined, admits: () => true },
};

/** The program without its version. @param {string} client */
export function programOf(client) {
  return /^[^/\s(;,]+/.exec(client)?.[0] ?? client;
}

/** The first and the last moment of a time as the filter has it, in milliseconds. @param {string} value */
export function spanIn(value) {
  const [, from, to] = value.match(/^(\d{1,16})-(\d{1,16})$/) ?? [];
  return from === undefined || Number(from) >= Number(to) ? undefined : { from: Number(from), to: Number(to) };
}

/** @param {Entry} entry @param {string} value */
function isWithin(entry, value) {
  const span = spanIn(value);
  const at = endOf(entry);
  return span !== undefined && span.from <= at && at <= span.to;
}

const CONDITION = new RegExp(`^(${Object.keys(FIELDS).join("|")}):(?:"([^"]*)"|(\\S+))$`);
const PARTS = /\w+:"[^"]*"|\S+/g;

/**
 * @param {string} text
 * @returns {{ words: string[], conditions: Condition[] }}
 */
export function parseFilter(text) {
  /** @type {string[]} */
  const words = [];
  /** @type {Condition[]} */
  const conditions = [];
  for (const [part] of text.matchAll(PARTS)) {
    const [, field, quoted, plain] = part.match(CONDITION) ?? [];
    if (field === undefined) words.push(part);
    else conditions.push({ field: /** @type {Field} */ (field), value: quoted ?? plain ?? "" });
  }
  return { words, conditions };
}

/**
 * @param {string} words
 * @param {readonly Condition[]} conditions
 */
export function filterText(words, conditions) {
  const parts = conditions.map(({ field, value }) => {
    const plain = value.replaceAll('"', "");
    return /^[^\s"]+$/.test(value) ? `${field}:${value}` : `${field}:"${plain}"`;
  });
  return [...parts, words].filter(Boolean).join(" ");
}

/**
 * The texts that are searched for the words of the filter.
 * @type {WeakMap<Entry, string>}
 */
const texts = new WeakMap();

/** @param {Entry} entry */
function textOf(entry) {
  const { client, key, lane, model, target, status, error, protocol, kind, id } = entry;
  const text = texts.get(entry) ??
    [client, key, lane, model, target, status, error, protocol, kindIn(kind), id].join(" ").toLowerCase();
  texts.set(entry, text);
  return text;
}

/**
 * All words have to be in the request, and one value of each field that conditions are about.
 * @param {string} text
 * @returns {(entry: Entry) => boolean}
 */
export function matcherOf(text) {
  const { words, conditions } = parseFilter(text);
  const lower = words.map((word) => word.toLowerCase());
  const groups = Map.groupBy(conditions, ({ field }) => field);
  return (entry) =>
    lower.every((word) => textOf(entry).includes(word)) &&
    [...groups].every(([field, wanted]) => wanted.some(({ value }) => isAt(entry, field, value)));
}

/**
 * @param {Entry} entry
 * @param {Field} field
 * @param {string} value
 */
function isAt(entry, field, value) {
  const { of, admits } = /** @type {{ of(entry: Entry): unknown, admits?(entry: Entry, value: string): boolean }} */ (
    FIELDS[field]
  );
  if (admits) return admits(entry, value);
  const own = /** @type {string | string[] | undefined} */ (of(entry));
  return [own ?? ""].flat().some((one) => one.replaceAll('"', "") === value);
}

const isCode = (/** @type {string} */ value) => /^\d{3}$/.test(value);

/**
 * The values of a field among requests, the most frequent first. Words such as "error" come before codes.
 * @param {readonly Entry[]} entries
 * @param {Field} field
 * @param {number} most
 */
export function valuesOf(entries, field, most) {
  /** @type {Map<string, number>} */
  const counts = new Map();
  for (const entry of entries) {
    const own = FIELDS[field].of(entry);
    for (const value of new Set(Array.isArray(own) ? own : own === undefined || own === "" ? [] : [own])) {
      counts.set(value, (counts.get(value) ?? 0) + 1);
    }
  }
  return [...counts].sort(([one, times], [other, otherTimes]) =>
    Number(isCode(one)) - Number(isCode(other)) || otherTimes - times
  ).slice(0, most);
}
