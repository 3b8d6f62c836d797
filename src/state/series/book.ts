/**
 * Requests, errors, durations, tokens and dollars over time, for the console. All gateways on one store add to the same sums. Their
 * number does not depend on the number of requests.
 */
import { asObject, isCount } from "../../canonical/json.ts";
import { callWhileAlive } from "../../util/idle_timer.ts";
import { sliced } from "../../util/sliced_work.ts";
import type { Store, StoreKey } from "../store.ts";
import { withStoreTimeout } from "../store_timeout.ts";
import { rowsIn, withRows } from "./record.ts";
import { addTo, namesOf, type Row, type Rows, type SeriesEntry, sumsOf } from "./rows.ts";
import { oldestOf, type Tier, tiersFor } from "./tiers.ts";

export interface SeriesBook {
  readonly tiers: readonly Tier[];
  add(entry: SeriesEntry): void;
  /** The rows of each step from `first` to `last`. They include everything added so far. */
  read(tier: Tier, first: number, last: number): AsyncGenerator<{ position: number; rows: Iterable<Row> }>;
  /** Resolves once everything is in the store, or the store has failed. */
  close(): Promise<void>;
}

export interface SeriesBookOptions {
  store: Store;
  /** Milliseconds since the epoch. */
  now(): number;
  retentionDays: number;
  /** How long the store may take, in milliseconds. */
  patienceMs: number;
  /** How long requests gather before they are saved, in milliseconds. */
  gatherMs?: number;
}

/** One step that is not saved yet. */
interface Step {
  tier: Tier;
  position: number;
  rows: Rows;
}

const GATHER_MS = 5_000;
/** How many steps are read in one go. */
const READ_AT_ONCE = 32;
/** The most steps that wait for a store that does not answer. */
const MOST_WAITING = 64;

export function createSeriesBook(options: SeriesBookOptions): SeriesBook {
  return new StoredSeries(options);
}

class StoredSeries implements SeriesBook {
  readonly #options: SeriesBookOptions;
  readonly tiers: readonly Tier[];
  #steps = new Map<string, Step>();
  /** The latest step of each tier that is known to be listed. */
  readonly #listed = new Map<string, number>();
  #cancelSave: (() => void) | undefined;
  #saving: Promise<void> = Promise.resolve();
  /** Steps that the store has not confirmed. It may still take them, so they are not written again before it answers. */
  readonly #unanswered = new Set<string>();

  constructor(options: SeriesBookOptions) {
    this.#options = options;
    this.tiers = tiersFor(options.retentionDays);
  }

  add(entry: SeriesEntry): void {
    const [names, sums] = [namesOf(entry), sumsOf(entry)];
    const at = Date.parse(entry.time) + entry.durationMs;
    for (const tier of this.tiers) {
      addTo(this.#stepAt(tier, Math.floor(at / tier.ms)).rows, names, sums, tier.room);
    }
    const { gatherMs = GATHER_MS } = this.#options;
    this.#cancelSave ??= callWhileAlive(gatherMs, () => void this.#save().catch(() => {})); // saved with the next requests
  }

  #stepAt(tier: Tier, position: number): Step {
    const name = `${tier.name} ${position}`;
    const step = this.#steps.get(name) ?? { tier, position, rows: new Map() };
    this.#steps.set(name, step);
    if (this.#steps.size > MOST_WAITING) this.#steps.delete(this.#steps.keys().next().value!);
    return step;
  }

  async *read(tier: Tier, first: number, last: number): AsyncGenerator<{ position: number; rows: Iterable<Row> }> {
    const { store, patienceMs } = this.#options;
    await this.#save();
    for (let from = first; from <= last; from += READ_AT_ONCE) {
      const to = Math.min(last, from + READ_AT_ONCE - 1);
      const values = await withStoreTimeout(patienceMs, store.getRange(listOf(tier), from, to));
      for await (const [index, value] of sliced(values.entries())) {
        if (value !== undefined) yield { position: from + index, rows: rowsIn(value) };
      }
    }
  }

  async close(): Promise<void> {
    // The gateway ends even if the store does not answer.
    await this.#save().catch(() => {});
  }

  /** Only one save runs at a time, so that a read after it misses nothing that is on its way. */
  #save(): Promise<void> {
    this.#cancelSave?.();
    this.#cancelSave = undefined;
    return this.#saving = this.#saving.catch(() => {}).then(() => this.#saveAll());
  }

  async #saveAll(): Promise<void> {
    const steps = [...this.#steps];
    this.#steps = new Map();
    const ends = await Promise.allSettled(
      steps.map(([name, step]) => withStoreTimeout(this.#options.patienceMs, this.#saveStep(name, step))),
    );
    const end = ends.find((one) => one.status === "rejected");
    if (end) throw end.reason;
  }

  /** A step that the store refuses is saved later, however late the refusal comes. */
  async #saveStep(name: string, { tier, position, rows }: Step): Promise<void> {
    const { store } = this.#options;
    try {
      if (this.#unanswered.has(name)) throw new Error("The store has not answered yet");
      this.#unanswered.add(name);
      await this.#list(tier, position)
        .then(() => store.update([...listOf(tier), position], (value) => withRows(value, rows, tier.room)))
        .finally(() => this.#unanswered.delete(name));
    } catch (error) {
      const step = this.#stepAt(tier, position);
      for (const { names, sums } of rows.values()) addTo(step.rows, names, sums, tier.room);
      throw error;
    }
  }

  /** Makes a step that begins known, so that it is removed one day, and removes those that are no longer kept. */
  async #list(tier: Tier, position: number): Promise<void> {
    if (position <= (this.#listed.get(tier.name) ?? -1)) return;
    const { store, now } = this.#options;
    const oldest = oldestOf(tier, now());
    let known = { first: position, last: position };
    await store.update(indexOf(tier), (value) => {
      const { first, last } = asObject(value);
      // The step before may still get requests that ended in it.
      known = { first: isCount(first) ? first : position - 1, last: isCount(last) ? last : position };
      return {
        ...asObject(value),
        first: Math.max(oldest, known.first),
        last: Math.max(known.last, position),
      };
    });
    this.#listed.set(tier.name, position);
    const expired = Math.min(known.last, oldest - 1);
    // No more than what was kept at once can be left, whatever a record says.
    const first = Math.max(known.first, expired - tier.kept);
    for (let at = first; at <= expired; at++) await store.delete([...listOf(tier), at]);
  }
}

function listOf({ name }: Tier): StoreKey {
  return ["series", "steps", name];
}

function indexOf({ name }: Tier): StoreKey {
  return ["series", "kept", name];
}
