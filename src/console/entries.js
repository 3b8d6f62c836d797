// @ts-check
/** The requests that the pages know: those that ended, in the order of their arrival, and their sums for the charts. */

/**
 * @typedef {{ number?: number, feed?: string, id: string, time: string, path: string, key?: string, lane?: string,
 *   protocol?: string, model?: string, target?: string, provider?: string, attempts?: number, stream?: boolean,
 *   status?: number, error?: string, firstEventMs?: number, durationMs?: number, elapsedMs?: number, cost?: string,
 *   notes?: string[], client?: string, usage?: Usage, upstreamStatus?: number, costEstimated?: boolean,
 *   traceId?: string }} Entry
 *
 * @typedef {{ inputTokens: number, outputTokens: number, cachedInputTokens?: number, cacheWriteTokens?: number,
 *   reasoningTokens?: number, estimated?: boolean, compaction?: Usage,
 *   hostedUses?: { webSearch?: number, webFetch?: number, mcp?: number } }} Usage
 *
 * @typedef {{ requests: number, errors: number, tokens: number, dollars: number, durations: number[] }} Sums
 *
 * What ended in one stretch of time.
 */

/** How many that ended are kept. */
const MOST_ENTRIES = 5_000;
/** Durations of one column that its median is taken from. */
const MOST_DURATIONS = 1_000;

/** The charts' columns, and how long each is. */
export const COLUMNS = 30;
export const COLUMN_MS = 10_000;

export class Entries {
  /**
   * Those that began last first.
   * @type {Entry[]}
   */
  ended = [];
  /**
   * By the number of the column since 1970.
   * @type {Map<number, Sums>}
   */
  #sums = new Map();
  /**
   * The number that each process is asked from.
   * @type {Map<string, number>}
   */
  #next = new Map();
  #feed = "";

  /** The query of the next poll, so that no entry comes twice and none is missed. */
  get query() {
    return `feed=${encodeURIComponent(this.#feed)}&since=${this.#next.get(this.#feed) ?? 0}`;
  }

  /**
   * Takes an answer, of which another page may have taken a part.
   * @param {{ feed: string, next: number, ended: Entry[] }} answer
   */
  take({ feed, next, ended }) {
    this.#feed = feed;
    const known = this.#next.get(feed) ?? 0;
    const added = ended.filter(({ number = 0 }) => number >= known);
    for (const entry of added) {
      entry.feed = feed;
      this.#add(entry);
    }
    this.#next.set(feed, Math.max(next, known));
    this.ended = latestFirst([...added.reverse(), ...this.ended]).slice(0, MOST_ENTRIES);
  }

  /** @param {Entry} entry */
  #add({ time, durationMs = 0, status = 0, usage, cost }) {
    const column = Math.floor((Date.parse(time) + durationMs) / COLUMN_MS);
    const sums = this.#sums.get(column) ?? { requests: 0, errors: 0, tokens: 0, dollars: 0, durations: [] };
    sums.requests++;
    if (status >= 400) sums.errors++;
    sums.tokens += usage ? usage.inputTokens + usage.outputTokens : 0;
    sums.dollars += Number(cost ?? 0);
    if (sums.durations.length < MOST_DURATIONS) sums.durations.push(durationMs);
    this.#sums.set(column, sums);
  }

  /**
   * The columns up to now, the latest last; nothing where nothing ended.
   * @param {number} now
   * @returns {(Sums | undefined)[]}
   */
  columns(now) {
    const last = Math.floor(now / COLUMN_MS);
    for (const column of this.#sums.keys()) if (column <= last - COLUMNS) this.#sums.delete(column);
    return Array.from({ length: COLUMNS }, (_, index) => this.#sums.get(last - COLUMNS + 1 + index));
  }
}

/**
 * By when they began, as the lists show it.
 * @param {readonly Entry[]} entries
 */
export function latestFirst(entries) {
  return entries.toSorted(({ time: one }, { time: other }) => one < other ? 1 : one > other ? -1 : 0);
}

/**
 * The value that a share of the values does not exceed: 0.5 is the median.
 * @param {readonly number[]} values
 * @param {number} share
 * @returns {number | undefined}
 */
export function quantile(values, share) {
  const sorted = values.toSorted((one, other) => one - other);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))];
}
