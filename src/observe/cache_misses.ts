/** Which turns of a conversation were not read from the upstream's cache, and why, as far as the turns tell. */
import type { Turn } from "./conversations.ts";

export interface CacheFinding {
  /** Whether the tokens of the turn before came from the cache. `unknown` if the upstream never reported any. */
  outcome: "hit" | "miss" | "unknown";
  /** The tokens that the turn before had, and that could have come from the cache. */
  expected: number;
  cached: number;
  reasons: readonly CacheReason[];
}

export type CacheReason =
  | { what: "target" | "provider"; before: string; after: string }
  | { what: "pause"; ms: number }
  | { what: "shorter"; before: number; after: number };

/** Hosts cache no shorter beginnings. */
const LEAST_TOKENS = 1_024;
/** The part of the expected tokens from which on a turn counts as cached: caches have steps. */
const LEAST_SHARE = 0.5;
/** The time after which many hosts drop what nobody used. */
const PAUSE_MS = 5 * 60_000;

/** The findings by the turn's id. Turns without one had nothing that could be cached. */
export function cacheFindings(turns: readonly Turn[]): Map<string, CacheFinding> {
  const found = new Map<string, CacheFinding>();
  /** The latest turn of each model: agents ask a smaller one in between. */
  const latest = new Map<string, Turn>();
  const reports = new Set(turns.filter(({ usage }) => usage?.cachedInputTokens).map(({ model }) => model));
  for (const turn of turns) {
    const { usage, model = "" } = turn;
    if (!usage || usage.estimated) continue;
    const before = latest.get(model);
    latest.set(model, turn);
    const expected = before?.usage?.inputTokens ?? 0;
    if (!before || expected < LEAST_TOKENS) continue;
    const cached = usage.cachedInputTokens ?? 0;
    const isHit = cached >= LEAST_SHARE * Math.min(expected, usage.inputTokens);
    const outcome = isHit ? "hit" : reports.has(turn.model) ? "miss" : "unknown";
    found.set(turn.id, { outcome, expected, cached, reasons: isHit ? [] : reasonsFor(before, turn) });
  }
  return found;
}

function reasonsFor(before: Turn, turn: Turn): CacheReason[] {
  const reasons: CacheReason[] = [];
  for (const what of ["target", "provider"] as const) {
    const [one, other] = [before[what], turn[what]];
    if (one !== undefined && other !== undefined && one !== other) reasons.push({ what, before: one, after: other });
  }
  if (before.messages !== undefined && turn.messages !== undefined && turn.messages < before.messages) {
    reasons.push({ what: "shorter", before: before.messages, after: turn.messages });
  }
  const pauseMs = Date.parse(turn.time) - Date.parse(before.time) - before.durationMs;
  if (pauseMs >= PAUSE_MS) reasons.push({ what: "pause", ms: pauseMs });
  return reasons;
}
