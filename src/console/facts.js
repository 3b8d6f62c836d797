// @ts-check
/// <reference lib="dom" />
/** The facts about a request, in words. */
import { count, duration, h } from "./dom.js";
import { CLIENT_LEFT } from "./entries.js";
import { kindIn } from "./words.js";

/** @typedef {import("./entries.js").Entry} Entry */

/** @type {[kind: "webSearch" | "webFetch" | "code" | "mcp" | "image", one: string, many: string][]} */
const USES = [
  ["webSearch", "web search", "web searches"],
  ["webFetch", "page", "pages"],
  ["code", "code execution", "code executions"],
  ["mcp", "MCP call", "MCP calls"],
  ["image", "picture", "pictures"],
];

/** @type {[name: string, textOf: (entry: Partial<Entry>) => string | number | undefined][]} */
const FACTS = [
  ["Time", ({ time }) => time && new Date(time).toLocaleString("en-GB")],
  ["Client", ({ client }) => client],
  ["Key", ({ key }) => key],
  ["Path", ({ path }) => path],
  ["Lane", ({ lane }) => lane],
  ["Protocol", ({ protocol }) => protocol],
  ["Kind", ({ kind }) => kindIn(kind)],
  ["Model", ({ model }) => model],
  ["Target", ({ target }) => target],
  ["Provider", ({ provider }) => provider],
  ["Attempts", ({ attempts }) => attempts],
  [
    "Status",
    ({ status, error }) =>
      [status ?? "running", status === CLIENT_LEFT ? "client left" : error].filter(Boolean).join(" "),
  ],
  ["Upstream status", ({ upstreamStatus }) => upstreamStatus],
  ["Answer", ({ stream }) => stream === undefined ? undefined : stream ? "Streamed" : "Whole"],
  ["First event", ({ firstEventMs }) => duration(firstEventMs)],
  ["Duration", ({ durationMs, elapsedMs }) => duration(durationMs ?? elapsedMs)],
  ["Tokens in", ({ usage }) => usage && tokensIn(usage)],
  ["Tokens out", ({ usage }) => usage && withParts(usage.outputTokens, [[usage.reasoningTokens, "reasoning"]])],
  ["Tokens counted by", ({ usage }) => usage?.estimated ? "the gateway's estimate" : undefined],
  ["Tokens for the summary", ({ usage }) => usage?.compaction && tokensOf(usage.compaction)],
  ["Pictures", ({ usage }) => usage?.pictures],
  ["Hosted tools", ({ usage }) => usage?.hostedUses && usesOf(usage.hostedUses)],
  ["Cost", ({ cost, costEstimated }) => cost && (costEstimated ? `$${cost}, estimated` : `$${cost}`)],
  ["Trace", ({ traceId }) => traceId],
];

/**
 * The facts that are known, by their names.
 * @param {Partial<Entry>} entry
 * @returns {[name: string, text: string | number][]}
 */
export function factsIn(entry) {
  return FACTS.flatMap(([name, textOf]) => {
    const text = textOf(entry);
    return text === undefined || text === "" ? [] : [[name, text]];
  });
}

/**
 * A list of what is known.
 * @param {Partial<Entry>} entry
 */
export function factsOf(entry) {
  return h("dl", {}, ...factsIn(entry).flatMap(([name, text]) => [h("dt", {}, name), h("dd", {}, text)]));
}

/** @typedef {NonNullable<Entry["usage"]>} Usage */

/** @param {Usage} usage */
function tokensIn({ inputTokens, cachedInputTokens, cacheWriteTokens }) {
  return withParts(inputTokens, [[cachedInputTokens, "cached"], [cacheWriteTokens, "written to the cache"]]);
}

/** @param {Usage} usage */
function tokensOf(usage) {
  return `${tokensIn(usage)} + ${count(usage.outputTokens)}`;
}

/**
 * @param {number} total
 * @param {[tokens: number | undefined, name: string][]} parts
 */
function withParts(total, parts) {
  const named = parts.flatMap(([tokens, name]) => tokens ? [`${count(tokens)} ${name}`] : []);
  return named.length > 0 ? `${count(total)}, of them ${named.join(", ")}` : count(total);
}

/** @param {NonNullable<Usage["hostedUses"]>} uses */
function usesOf(uses) {
  return USES.flatMap(([kind, one, many]) => {
    const times = uses[kind];
    return times ? [`${count(times)} ${times === 1 ? one : many}`] : [];
  }).join(", ");
}
