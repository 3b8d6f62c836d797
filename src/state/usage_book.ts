/** The usage of each key by day and model. All gateways on one store add to the same sums. */
import { asList, asObject, asTexts } from "../canonical/json.ts";
import type { Usage } from "../canonical/usage.ts";
import { BoundedMap } from "../util/bounded_map.ts";
import { picoDollars } from "../util/dollars.ts";
import { callWhileAlive } from "../util/idle_timer.ts";
import type { Store } from "./store.ts";
import { withStoreTimeout } from "./store_timeout.ts";

export interface Use {
  requests: number;
  inputTokens: number;
  outputTokens: number;
  /** The cost in pico-dollars, as far as prices were known. */
  pico: bigint;
  /** Requests without a known price. */
  unpriced: number;
  /** Requests whose tokens are estimated by the gateway, all or some. */
  estimated: number;
}

export interface UsageRow extends Use {
  /** In UTC: `2027-01-31`. */
  day: string;
  /** The name of the key. */
  key: string;
  model: string;
}

export interface UsageBook {
  add(row: UsageRow): void;
  /** The rows of the last `days` days, of one key or of all, the latest day first. They include everything added so far. */
  read(days: number, key?: string): Promise<UsageRow[]>;
  /** Resolves once everything is in the store, or the store has failed. */
  close(): Promise<void>;
}

export interface UsageBookOptions {
  store: Store;
  /** Milliseconds since the epoch. */
  now(): number;
  retentionDays: number;
  /** How long the store may take, in milliseconds. */
  patienceMs: number;
  /** How long usage gathers before it is saved, in milliseconds. */
  gatherMs?: number;
}

type Sums = Map<string, Use>;

/** The usage of one key on one day. */
interface Page {
  key: string;
  day: string;
  sums: Sums;
}

const GATHER_MS = 1_000;
const DAY_MS = 86_400_000;
/**
 * The most models of one key and day, and the longest name of one: clients of an open lane can name any model. Further and longer
 * names share a row, because no store would take a record of any size.
 */
const MOST_MODELS = 500;
const LONGEST_MODEL = 200;
/** How many expired days are removed when a new day begins: the gateway may have been off on some days. */
const REMOVED_DAYS = 7;
/** The version of the record format. */
const VERSION = 1;
const INDEX = ["usage", "keys"];
/** How many keys have rows of their own: there may be any number of callers with tokens. Further keys share rows. */
const MOST_KEYS = 10_000;
const MOST_BEGUN = 2 * MOST_KEYS;
const OTHERS = "other";

export function createUsageBook(options: UsageBookOptions): UsageBook {
  return new StoredUsage(options);
}

class StoredUsage implements UsageBook {
  readonly #options: UsageBookOptions;
  /** The usage that is not saved yet, by key and day. */
  #pages = new Map<string, Page>();
  /** Keys that are in the index, and days that were begun. */
  readonly #begun = new BoundedMap<string, true>(MOST_BEGUN);
  #cancelSave: (() => void) | undefined;
  #saving: Promise<void> = Promise.resolve();
  /** Pages that the store has not confirmed. It may still take them, so they are not written again before it answers. */
  readonly #unanswered = new Set<string>();

  constructor(options: UsageBookOptions) {
    this.#options = options;
  }

  add({ key, day, model, ...use }: UsageRow): void {
    const name = JSON.stringify([key, day]);
    const page = this.#pages.get(name) ?? { key, day, sums: new Map() };
    this.#pages.set(name, page);
    addTo(page.sums, model, use);
    const { gatherMs = GATHER_MS } = this.#options;
    this.#cancelSave ??= callWhileAlive(gatherMs, () => void this.#save().catch(() => {})); // saved with the next usage
  }

  async read(days: number, key?: string): Promise<UsageRow[]> {
    const { store, now, patienceMs } = this.#options;
    await this.#save();
    const keys = key === undefined ? await withStoreTimeout(patienceMs, keysIn(store)) : [key];
    const today = now();
    const rows: UsageRow[] = [];
    for (let ago = 0; ago < days; ago++) {
      const day = dayOf(today - ago * DAY_MS);
      const all = keys.map(async (key) => {
        const sums = sumsIn(await store.get(placeOf(key, day)));
        return Array.from(sums, ([model, use]) => ({ day, key, model, ...use }));
      });
      rows.push(...(await withStoreTimeout(patienceMs, Promise.all(all))).flat());
    }
    return rows;
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
    const pages = [...this.#pages];
    this.#pages = new Map();
    const ends = await Promise.allSettled(
      pages.map(([name, page]) => withStoreTimeout(this.#options.patienceMs, this.#savePage(name, page))),
    );
    const end = ends.find((one) => one.status === "rejected");
    if (end) throw end.reason;
  }

  /** A page that the store refuses is saved later, however late the refusal comes. */
  async #savePage(name: string, page: Page): Promise<void> {
    const { key, day, sums } = page;
    try {
      if (this.#unanswered.has(name)) throw new Error("The store has not answered yet");
      this.#unanswered.add(name);
      await this.#saveOne(key, day, sums).finally(() => this.#unanswered.delete(name));
    } catch (error) {
      for (const [model, use] of sums) this.add({ key, day, model, ...use });
      throw error;
    }
  }

  async #saveOne(key: string, day: string, sums: Sums): Promise<void> {
    const { store, retentionDays } = this.#options;
    if (!this.#begun.has(key)) {
      if (!await this.#list(key)) return await this.#saveOne(OTHERS, day, sums);
      this.#begun.set(key, true);
    }
    const page = JSON.stringify([key, day]);
    if (!this.#begun.has(page)) {
      this.#begun.set(page, true);
      const last = Date.parse(day) - retentionDays * DAY_MS;
      for (let ago = 0; ago < REMOVED_DAYS; ago++) await store.delete(placeOf(key, dayOf(last - ago * DAY_MS)));
    }
    await store.update(placeOf(key, day), (value) => withSums(value, sums));
  }

  /** Adds the key to the index. Returns whether the index has it now. */
  async #list(key: string): Promise<boolean> {
    let isListed = false;
    await this.#options.store.update(INDEX, (value) => {
      const names = namesIn(value);
      const isKnown = names.includes(key);
      isListed = isKnown || names.length < MOST_KEYS || key === OTHERS;
      return { version: VERSION, ...asObject(value), names: isListed && !isKnown ? [...names, key] : names };
    });
    return isListed;
  }
}

/** The day of a time, in UTC. */
export function dayOf(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10);
}

function placeOf(key: string, day: string): string[] {
  return ["usage", "day", key, day];
}

async function keysIn(store: Store): Promise<string[]> {
  return namesIn(await store.get(INDEX));
}

function namesIn(value: unknown): string[] {
  return asTexts(listIn(value, "names"));
}

/** The list of a record. In the earliest version, a record was a list itself. */
function listIn(value: unknown, name: string): unknown[] {
  const list = Array.isArray(value) ? value : asObject(value)[name];
  return asList(list);
}

/** The page with the usage added. Fields that only a later version knows are kept. */
function withSums(value: unknown, sums: Sums): object {
  const all = sumsIn(value);
  for (const [model, use] of sums) addTo(all, model, use);
  const rows = listIn(value, "rows").map(asObject);
  const before = new Map(rows.map((row) => [row.model, row]));
  return {
    version: VERSION,
    ...asObject(value),
    rows: [
      ...Array.from(all, ([model, { pico, ...use }]) => ({ ...before.get(model), model, ...use, pico: String(pico) })),
      ...rows.filter(({ model }) => typeof model !== "string"),
    ],
  };
}

function addTo(sums: Sums, name: string, use: Use): void {
  const hasRoom = sums.size < MOST_MODELS && name.length <= LONGEST_MODEL;
  const model = sums.has(name) || hasRoom ? name : "other";
  const sum = sums.get(model);
  sums.set(model, sum ? together(sum, use) : use);
}

/** The sum of two rows. */
export function together(one: Use, other: Use): Use {
  return {
    requests: one.requests + other.requests,
    inputTokens: atMost(one.inputTokens + other.inputTokens),
    outputTokens: atMost(one.outputTokens + other.outputTokens),
    pico: one.pico + other.pico,
    unpriced: one.unpriced + other.unpriced,
    estimated: one.estimated + other.estimated,
  };
}

/** An upstream may report any number of tokens, so a sum is limited to a safe integer. */
function atMost(tokens: number): number {
  return Math.min(tokens, Number.MAX_SAFE_INTEGER);
}

/** Reads a record that another version may have written, so that it may hold anything. */
function sumsIn(value: unknown): Sums {
  const sums: Sums = new Map();
  for (const row of listIn(value, "rows").map(asObject)) {
    const { model, requests, inputTokens, outputTokens, pico, unpriced, estimated } = row;
    if (typeof model !== "string") continue;
    const count = (number: unknown) => Number.isSafeInteger(number) ? number as number : 0;
    sums.set(model, {
      requests: count(requests),
      inputTokens: count(inputTokens),
      outputTokens: count(outputTokens),
      pico: /^\d+$/.test(String(pico)) ? BigInt(String(pico)) : 0n,
      unpriced: count(unpriced),
      estimated: count(estimated),
    });
  }
  return sums;
}

/** The fields of a log entry from which a request is counted. */
export interface CountedEntry {
  time: string;
  key: string;
  model: string;
  usage?: Usage;
  cost?: string;
  error?: string;
}

/** One request as a row. */
export function rowOf({ time, key, model, usage, cost, error }: CountedEntry): UsageRow {
  const { inputTokens = 0, outputTokens = 0, estimated } = usage ?? {};
  // A request that failed before it gave anything costs nothing, whatever the price.
  const isFree = error !== undefined && usage === undefined;
  const pico = cost === undefined ? isFree ? 0n : undefined : picoDollars(cost);
  const row = {
    day: time.slice(0, 10),
    key,
    model,
    requests: 1,
    inputTokens,
    outputTokens,
    estimated: estimated ? 1 : 0,
  };
  return pico === undefined ? { ...row, pico: 0n, unpriced: 1 } : { ...row, pico, unpriced: 0 };
}
