import type { LogEntry } from "../observe/log.ts";
import type { Store } from "../state/store.ts";
import type { CountedEntry, UsageBook, UsageRow } from "../state/usage_book.ts";
import type { Config } from "../config/schema.ts";
import type { Keep } from "./parts.ts";
import type { Plugins } from "./plugins.ts";

/** What keys used. Who keeps it is loaded when the first answer has ended, or somebody asks. */
export interface UsageKeeper {
  /** Counts a request that is over, if an upstream answered it. */
  count(entry: LogEntry): void;
  read(days: number, key?: string): Promise<UsageRow[]>;
  /** How far back it goes, in days. */
  retentionDays: number;
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
  /** Until there is a book. */
  entries: CountedEntry[];
  loading?: Promise<UsageBook>;
  book?: UsageBook;
  add?(entry: CountedEntry): void;
}

/** Nothing where the configuration does not want it kept. */
export function createUsageKeeper(
  { config, plugins, now, pace, keep }: Wanted,
  store: Store,
): UsageKeeper | undefined {
  const { usage } = config;
  if (!usage) return undefined;
  const { retentionDays } = usage;
  // Who only counts tokens uses no model, whoever counts them.
  const counting = new Set(
    plugins.protocols.filter(({ operation }) => operation === "countTokens").map(({ name }) => name),
  );
  const held = keep("usage", usage, (): Held => ({ entries: [] }));
  const load = async () => {
    const { createUsageBook, rowOf } = await import("../state/usage_book.ts");
    held.add ??= (entry) => held.book?.add(rowOf(entry));
    held.book ??= createUsageBook({ store, now, retentionDays, patienceMs: pace.storeMs, gatherMs: pace.gatherMs });
    for (const entry of held.entries.splice(0)) held.add(entry);
    return held.book;
  };
  return {
    retentionDays,
    count(entry) {
      if (!isCounted(entry) || counting.has(entry.protocol ?? "")) return;
      if (held.add) return held.add(entry);
      held.entries.push(entry);
      held.loading ??= load();
    },
    read: async (days, key) => await (await load()).read(Math.min(days, retentionDays), key),
    close: async () => await (await held.loading ?? held.book)?.close(),
  };
}

/** Whether an upstream answered it, and may charge for it. */
function isCounted(entry: LogEntry): entry is LogEntry & CountedEntry {
  const { key, model, target, status, cost } = entry;
  return key !== undefined && model !== undefined && target !== undefined && (status < 400 || cost !== undefined);
}
