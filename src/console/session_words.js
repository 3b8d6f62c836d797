// @ts-check
/** The words for turns of a session. */
import { inShort, inTime } from "./words.js";

/**
 * @typedef {{ inputTokens: number, outputTokens: number, cachedInputTokens?: number, reasoningTokens?: number }} Usage
 * @typedef {{ what: string, before?: string | number, after?: string | number, ms?: number }} Reason
 * @typedef {{ outcome: "hit" | "miss" | "unknown", expected: number, cached: number, reasons: Reason[] }} CacheFinding
 * @typedef {{ id: string, time: string, status: number, error?: string, model?: string, target?: string, provider?: string,
 *   durationMs: number, firstEventMs?: number, usage?: Usage, cost?: string, notes: number, messages?: number, tools: string[],
 *   cache?: CacheFinding, isRecorded: boolean }} Turn
 * @typedef {{ same: number, before: number, system: boolean,
 *   tools: { added: string[], removed: string[], changed: string[], isReordered: boolean } }} Changes
 * @typedef {{ kind: string, tool?: string, tokens: number }} Share
 */

/** @param {Reason} reason */
export function reasonInWords({ what, before, after, ms }) {
  switch (what) {
    case "target":
      return `answered by ${after} instead of ${before}`;
    case "provider":
      return `served by the provider ${after} instead of ${before}`;
    case "pause":
      return `${inTime(ms)} after the turn before: many hosts drop their cache after five minutes`;
    case "shorter":
      return `the history became shorter: ${after} messages instead of ${before}`;
    default:
      return what;
  }
}

/**
 * The changes at the beginning of a conversation, from which on nothing can come from a cache.
 * @param {Changes | undefined} changes
 * @returns {string[]}
 */
export function changesInWords(changes) {
  if (!changes) return [];
  const { same, before, system, tools: { added, removed, changed, isReordered } } = changes;
  const named = (/** @type {string} */ what, /** @type {string[]} */ names) =>
    names.length > 0 ? [`tools ${what}: ${names.slice(0, 5).join(", ")}${names.length > 5 ? " and others" : ""}`] : [];
  return [
    ...system ? ["the instructions changed"] : [],
    ...named("added", added),
    ...named("removed", removed),
    ...named("redefined", changed),
    ...isReordered ? ["the tools are in another order"] : [],
    ...same < before ? [`the history was rewritten from message ${same + 1} of ${before} on`] : [],
  ];
}

/**
 * Why a turn missed the cache, in a sentence.
 * @param {Turn} turn
 * @param {Changes | undefined} changes
 */
export function missInWords({ cache, isRecorded }, changes) {
  if (!cache || cache.outcome === "hit") return undefined;
  if (cache.outcome === "unknown") return "This model reported no cached tokens in this session.";
  const reasons = [...cache.reasons.map(reasonInWords), ...changesInWords(changes)];
  const lost = `${inShort(Math.max(0, cache.expected - cache.cached))} tokens were read again`;
  if (reasons.length > 0) return `${lost}: ${reasons.join("; ")}.`;
  return isRecorded && changes
    ? `${lost}, though its beginning is the same: the upstream did not have it, or no longer.`
    : `${lost}. Nothing of what is kept tells why.`;
}

/** @type {Readonly<Record<string, string>>} */
const KINDS = {
  system: "Instructions",
  tools: "Definitions of tools",
  user: "User",
  assistant: "Assistant",
  reasoning: "Reasoning",
  calls: "Calls of tools",
  results: "Results",
  files: "Files and pictures",
};

/** @param {Share} share */
export function shareName({ kind, tool }) {
  return tool === undefined ? KINDS[kind] ?? kind : `Results of ${tool}`;
}

/**
 * The turn of the same model before each turn: agents ask a smaller model in between.
 * @param {readonly Turn[]} turns
 * @returns {(Turn | undefined)[]}
 */
export function turnsBefore(turns) {
  /** @type {Map<string, Turn>} */
  const latest = new Map();
  return turns.map((turn) => {
    const { model = "" } = turn;
    const before = latest.get(model);
    latest.set(model, turn);
    return before;
  });
}

/** @param {Record<string, number>} tools */
export function toolsInWords(tools) {
  return Object.entries(tools).sort(([, one], [, other]) => other - one).map(([name, times]) => `${name} ${times}`)
    .join(
      ", ",
    );
}

/**
 * The largest parts of the messages that a turn added.
 * @param {import("./session_fetch.js").Content} content
 */
export function addedInWords({ messages = [], tools = {} }) {
  /** @type {Map<string, number>} */
  const sizes = new Map();
  for (const { role, content } of messages) {
    for (const part of content) {
      const { type, id = "" } = part;
      const tool = Object.hasOwn(tools, id) ? tools[id] : "a tool";
      const name = type === "tool-result"
        ? `result of ${tool}`
        : type === "file"
        ? "a file"
        : KINDS[role]?.toLowerCase() ?? role;
      sizes.set(name, (sizes.get(name) ?? 0) + JSON.stringify(part).length);
    }
  }
  return [...sizes].sort(([, one], [, other]) => other - one).slice(0, 2).map(([name]) => name).join(", ");
}
