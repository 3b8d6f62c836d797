import type { Ended } from "../observe/feed.ts";
import type { LogEntry } from "../observe/log.ts";
import type { SeriesBook } from "../state/series/book.ts";
import type { Store } from "../state/store.ts";
import type { CountedEntry, UsageBook, UsageRow } from "../state/usage_book.ts";
import type { Config } from "../config/schema.ts";
import type { Keep } from "./kept_parts.ts";
import type { Plugins } from "./plugins.ts";

/** The usage of keys. Its code is loaded when the first answer has ended, or when somebody reads it. */
export interface UsageKeeper {
  /** Counts a finished request, if an upstream answered it. */
  count(entry: LogEntry): void;
  read(days: number, key?: string): Promise<UsageRow[]>;
  /** How long usage is kept, in days. */
  retentionDays: number;
  /** Absent without the console. */
  series?: SeriesKeeper;
  close(): Promise<void>;
}

/** Sums over time for the console. Its code is loaded when the first request has ended, or when somebody reads it. */
export interface SeriesKeeper {
  /** Counts a finished request, if it was one to a model. */
  count(ended: Ended): void;
  book(): Promise<SeriesBook>;
  close(): Promise<void>;
}

interface Wanted {
  config: Config;
  plugins: Pick<Plugins, "protocols">;
  keep: Keep;
  now(): number;
  pace: { storeMs: number; gatherMs: number };
}

interface Held {
  /** The entries counted before the book is loaded. */
  entries: CountedEntry[];
  loading?: Promise<UsageBook>;
  book?: UsageBook;
  add?(entry: CountedEntry): void;
}

/** The names of the protocols that count tokens, which uses no model. */
export function countingProtocols({ protocols }: Pick<Plugins, "protocols">): ReadonlySet<string> {
  return new Set(protocols.filter(({ operation }) => operation === "countTokens").map(({ name }) => name));
}

/** `undefined` if the configuration does not want usage kept. */
export function createUsageKeeper(wanted: Wanted, store: Store): UsageKeeper | undefined {
  const { config, plugins, now, pace, keep } = wanted;
  const { usage } = config;
  if (!usage) return undefined;
  const { retentionDays } = usage;
  const counting = countingProtocols(plugins);
  const held = keep("usage", usage, (): Held => ({ entries: [] }));
  const load = async () => {
    const { createUsageBook, rowOf } = await import("../state/usage_book.ts");
    held.add ??= (entry) => held.book?.add(rowOf(entry));
    held.book ??= createUsageBook({ store, now, retentionDays, patienceMs: pace.storeMs, gatherMs: pace.gatherMs });
    for (const entry of held.entries.splice(0)) held.add(entry);
    return held.book;
  };
  const series = config.console === false ? undefined : createSeriesKeeper(wanted, store, { retentionDays, counting });
  return {
    retentionDays,
    ...(series && { series }),
    count(entry) {
      if (!isCounted(entry) || counting.has(entry.protocol ?? "")) return;
      if (held.add) return held.add(entry);
      held.entries.push(entry);
      held.loading ??= load();
    },
    read: async (days, key) => await (await load()).read(Math.min(days, retentionDays), key),
    close: async () => void await Promise.all([(await held.loading ?? held.book)?.close(), series?.close()]),
  };
}

interface HeldSeries {
  /** The requests that ended before the book was loaded. */
  waiting: Ended[];
  loading?: Promise<SeriesBook>;
  book?: SeriesBook;
}

/** How much less often series are written than usage, which budgets and bills are read from. */
const GATHERED = 5;

function createSeriesKeeper(
  { keep, now, pace }: Wanted,
  store: Store,
  { retentionDays, counting }: { retentionDays: number; counting: ReadonlySet<string> },
): SeriesKeeper {
  const held = keep("series", retentionDays, (): HeldSeries => ({ waiting: [] }));
  const load = async () => {
    const { createSeriesBook } = await import("../state/series/book.ts");
    const gatherMs = GATHERED * pace.gatherMs;
    const book = createSeriesBook({ store, now, retentionDays, patienceMs: pace.storeMs, gatherMs });
    held.book = book;
    for (const ended of held.waiting.splice(0)) book.add(ended);
    return book;
  };
  const book = () => held.loading ??= load();
  return {
    count(ended) {
      if (ended.model === undefined || counting.has(ended.protocol ?? "")) return;
      if (held.book) return held.book.add(ended);
      held.waiting.push(ended);
      void book();
    },
    book,
    close: async () => await (await held.loading)?.close(),
  };
}

/** Whether an upstream answered the request, and may charge for it. */
function isCounted(entry: LogEntry): entry is LogEntry & CountedEntry {
  const { key, model, target, status, cost } = entry;
  return key !== undefined && model !== undefined && target !== undefined && (status < 400 || cost !== undefined);
}
