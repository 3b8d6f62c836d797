// @ts-check
/** The requests that the pages know: those that ended, in the order of their arrival, and their sums for the charts. */

/**
 * @typedef {{ number?: number, feed?: string, id: string, time: string, path: string, key?: string, lane?: string,
 *   protocol?: string, model?: string, target?: string, provider?: string, attempts?: number, stream?: boolean,
 *   status?: number, error?: string, firstEventMs?: number, durationMs?: number, elapsedMs?: number, cost?: string,
 *   notes?: string[], client?: string, usage?: Usage, upstreamStatus?: number, costEstimated?: boolean,
 *   traceId?: string, session?: string, team?: string, operation?: string, kind?: string }} Entry
 *
 * `operation`: what it does, if it runs no model. `kind`: what it is, if it is no conversation alone.
 *
 * @typedef {{ inputTokens: number, outputTokens: number, cachedInputTokens?: number, cacheWriteTokens?: number,
 *   reasoningTokens?: number, estimated?: boolean, compaction?: Usage, pictures?: number,
 *   hostedUses?: { webSearch?: number, webFetch?: number, code?: number, mcp?: number, image?: number } }} Usage
 *
 * @typedef {{ requests: number, errors: number, input: number, cached: number, output: number, reasoning: number,
 *   dollars: number, priced: number, hits: number, notes: number, relaxations: number, kinds: Record<string, number>,
 *   durations: number[], firstEvents: number[] }} Sums
 *
 * The sums of the requests that ended in one stretch of time. `kinds`: the errors by their codes. `priced`: those whose cost is known.
 */

/** How many that ended are kept. */
const MOST_ENTRIES = 5_000;
/** Durations of one column that its median is taken from. */
const MOST_DURATIONS = 1_000;

/** The status of a request whose client did not wait for its answer. */
export const CLIENT_LEFT = 499;

/** The charts' columns, at most, and how long each is. */
export const MOST_COLUMNS = 90;
export const COLUMN_MS = 10_000;

/** @type {() => Sums} */
const noSums = () => ({
  requests: 0,
  errors: 0,
  input: 0,
  cached: 0,
  output: 0,
  reasoning: 0,
  dollars: 0,
  priced: 0,
  hits: 0,
  notes: 0,
  relaxations: 0,
  kinds: {},
  durations: [],
  firstEvents: [],
});

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
  #add(entry) {
    const column = Math.floor(endOf(entry) / COLUMN_MS);
    const sums = this.#sums.get(column) ?? noSums();
    count(entry, sums);
    this.#sums.set(column, sums);
  }

  /**
   * The latest columns up to now, the latest last; nothing where nothing ended.
   * @param {number} now
   * @param {number} length how many, at most `MOST_COLUMNS`
   * @returns {(Sums | undefined)[]}
   */
  columns(now, length) {
    const last = Math.floor(now / COLUMN_MS);
    for (const column of this.#sums.keys()) if (column <= last - MOST_COLUMNS) this.#sums.delete(column);
    return Array.from({ length }, (_, index) => this.#sums.get(last - length + 1 + index));
  }
}

/**
 * The columns of some of the requests that are kept, like `Entries.columns` does it for all.
 * @param {readonly Entry[]} entries
 * @param {number} now
 * @param {number} length
 * @returns {(Sums | undefined)[]}
 */
export function columnsOf(entries, now, length) {
  const last = Math.floor(now / COLUMN_MS);
  /** @type {(Sums | undefined)[]} */
  const columns = Array.from({ length });
  for (const entry of entries) {
    if (entry.status === undefined) continue;
    const at = Math.floor(endOf(entry) / COLUMN_MS) - last + length - 1;
    if (at >= 0 && at < length) count(entry, columns[at] ??= noSums());
  }
  return columns;
}

/** When it ended, or how far it has got. @param {Entry} entry */
export function endOf({ time, durationMs, elapsedMs = 0 }) {
  return Date.parse(time) + (durationMs ?? elapsedMs);
}

/** The beginning of the gateway's notes about relaxations. */
const RELAXED = "relaxed ";

/**
 * @param {Entry} entry
 * @param {Sums} sums
 */
function count(entry, sums) {
  const { durationMs = 0, firstEventMs, status = 0, error, usage, cost, notes = [], model, operation } = entry;
  sums.requests++;
  if (status >= 400) {
    const kind = status === CLIENT_LEFT ? "client left" : error ?? String(status);
    sums.errors++;
    sums.kinds[kind] = (sums.kinds[kind] ?? 0) + 1;
  }
  sums.notes += notes.length;
  sums.relaxations += notes.filter((note) => note.startsWith(RELAXED)).length;
  if (usage?.cachedInputTokens) sums.hits++;
  sums.reasoning += usage?.reasoningTokens ?? 0;
  sums.input += usage?.inputTokens ?? 0;
  sums.cached += usage?.cachedInputTokens ?? 0;
  sums.output += usage?.outputTokens ?? 0;
  if (cost !== undefined) sums.priced++;
  sums.dollars += Number(cost ?? 0);
  // A list of models takes no time, and would make models look fast.
  if (model === undefined || operation !== undefined) return;
  if (sums.durations.length < MOST_DURATIONS) sums.durations.push(durationMs);
  if (firstEventMs !== undefined && sums.firstEvents.length < MOST_DURATIONS) sums.firstEvents.push(firstEventMs);
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
