/** Shares what an upstream was found to refuse with the other gateways on the same store, and with this one after a restart. */
import { isJsonObject } from "../canonical/json.ts";
import { settleWithin } from "../util/timeout.ts";
import {
  KEPT_MS,
  type Learnable,
  type LearntEntry,
  type LearntRelaxations,
  modelAt,
  nameOfLearnt,
  type SharedRecord,
} from "./learnt.ts";
import { isRelaxation } from "./relaxation.ts";

/** The version of the record format. A reader ignores what it does not know. */
const VERSION = 1;
/** How often the record is read while requests are changed because of it, in milliseconds. */
const LOOK_MS = 10_000;
/** How long a refused request waits for the record, in milliseconds. */
const WAIT_MS = 250;
/** How long an operator waits until all gateways have been told to forget, in milliseconds. */
const PATIENCE_MS = 5_000;
/** The most entries of a record, and the most characters of each. The newest are kept. */
const MOST_ENTRIES = 500;
const LONGEST_ENTRY = 1_000;
const MOST_FORGOTTEN = 100;

/** All gateways forget what they learnt of a model, or of all models of the upstream, up to a time. */
interface Forgotten {
  model?: string;
  at: number;
}

interface Shared {
  entries: LearntEntry[];
  forgotten: Forgotten[];
}

const EXCHANGES = new WeakMap<LearntRelaxations, Exchange>();

/** The exchange of an upstream's memory. Absent if it is not shared. */
export function exchangeOf(refusals: LearntRelaxations): Exchange | undefined {
  const { shared } = refusals;
  if (!shared) return undefined;
  const exchange = EXCHANGES.get(refusals) ?? new Exchange(refusals, shared);
  EXCHANGES.set(refusals, exchange);
  return exchange;
}

/** A store that fails or hangs changes nothing here. What was not written is written with the next exchange. */
class Exchange {
  readonly #refusals: LearntRelaxations;
  readonly #record: SharedRecord;
  readonly #now: () => number;
  #added: LearntEntry[] = [];
  #forgotten: Forgotten[] = [];
  #lookedAt = -Infinity;
  #running: Promise<boolean> | undefined;

  constructor(refusals: LearntRelaxations, record: SharedRecord) {
    this.#refusals = refusals;
    this.#record = record;
    this.#now = refusals.now;
    refusals.onAdd = (entries) => {
      this.#added = [...this.#added, ...entries].slice(-MOST_ENTRIES);
      void this.#exchange();
    };
  }

  /** Reads the record unless that was done a moment ago. Returns whether it had anything new, as far as is known after a moment. */
  async look(): Promise<boolean> {
    if (this.#now() - this.#lookedAt < LOOK_MS) return false;
    return await settleWithin(this.#exchange(), WAIT_MS) ?? false;
  }

  /** Forgets a model, or all of them. Returns whether the other gateways will know. */
  async forget(model: string | undefined): Promise<boolean> {
    const forgotten = { model, at: this.#now() };
    this.#refusals.forget(model);
    this.#added = this.#added.filter((one) => !isForgotten(one, [forgotten]));
    this.#forgotten = [...this.#forgotten, forgotten].slice(-MOST_FORGOTTEN);
    await settleWithin(this.#exchange(), PATIENCE_MS);
    return !this.#forgotten.includes(forgotten);
  }

  /** Only one exchange runs at a time. It includes what is added until its end. */
  #exchange(): Promise<boolean> {
    this.#lookedAt = this.#now();
    return this.#running ??= this.#run();
  }

  async #run(): Promise<boolean> {
    let hasNews = false;
    try {
      do hasNews = this.#take(await this.#read()) || hasNews; while (this.#added.length + this.#forgotten.length > 0);
    } catch {
      // Memory goes on alone.
    } finally {
      this.#running = undefined;
    }
    return hasNews;
  }

  /** The record, after what is new here was added to it. */
  async #read(): Promise<Shared> {
    const [added, forgotten] = [this.#added, this.#forgotten];
    if (added.length + forgotten.length === 0) return sharedIn(await this.#record.get());
    let shared: Shared = { entries: [], forgotten: [] };
    await this.#record.update((record) => {
      shared = together(sharedIn(record), { entries: added, forgotten }, this.#now());
      return { version: VERSION, ...isJsonObject(record) ? record : {}, ...shared };
    });
    this.#added = this.#added.filter((one) => !added.includes(one));
    this.#forgotten = this.#forgotten.filter((one) => !forgotten.includes(one));
    return shared;
  }

  #take({ entries, forgotten }: Shared): boolean {
    for (const { model, at } of forgotten) this.#refusals.forget(model, at);
    const known = entries.filter(({ learnt }) => typeof learnt === "string" || isRelaxation(learnt));
    // The clock of another gateway may be fast.
    return this.#refusals.merge(known.map((entry) => ({ ...entry, at: Math.min(entry.at, this.#now()) })));
  }
}

function isForgotten({ place, at }: LearntEntry, forgotten: readonly Forgotten[]): boolean {
  return forgotten.some(({ model = modelAt(place), at: until }) => model === modelAt(place) && at <= until);
}

/** A record of another version, or no record, may have anything in it. */
function sharedIn(record: unknown): Shared {
  const { entries, forgotten } = isJsonObject(record) ? record : {};
  return {
    entries: Array.isArray(entries) ? entries.filter(isEntry) : [],
    forgotten: Array.isArray(forgotten) ? forgotten.filter((one) => isJsonObject(one) && isTime(one.at)) as never : [],
  };
}

function isEntry(value: unknown): value is LearntEntry & Record<string, never> {
  if (!isJsonObject(value)) return false;
  const { place, learnt, keys, at } = value;
  const isNamed = typeof learnt === "string" || isJsonObject(learnt);
  return typeof place === "string" && isNamed && isTime(at) && Array.isArray(keys) &&
    keys.every((key) => typeof key === "string");
}

function isTime(value: unknown): value is number {
  return typeof value === "number";
}

/** Both records in one, without what is forgotten or out of date. */
function together(one: Shared, other: Shared, now: number): Shared {
  const isFresh = ({ at }: { at: number }) => now < at + KEPT_MS;
  const forgotten = [...one.forgotten, ...other.forgotten].filter(isFresh).slice(-MOST_FORGOTTEN);
  const entries = new Map<string, LearntEntry>();
  for (const entry of [...one.entries, ...other.entries]) {
    if (!isFresh(entry) || isForgotten(entry, forgotten) || JSON.stringify(entry).length > LONGEST_ENTRY) continue;
    const name = JSON.stringify([entry.place, nameOfLearnt(entry.learnt as Learnable)]);
    const { keys = [], at = 0 } = entries.get(name) ?? {};
    const all = [...new Set([...keys, ...entry.keys])].slice(0, 2);
    entries.set(name, { ...entry, keys: all, at: Math.max(at, entry.at) });
  }
  const newest = [...entries.values()].sort((first, second) => second.at - first.at);
  return { entries: newest.slice(0, MOST_ENTRIES), forgotten };
}
