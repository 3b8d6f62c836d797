import type { LogEntry } from "../observe/log.ts";
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

/** `undefined` if the configuration does not want usage kept. */
export function createUsageKeeper(
  { config, plugins, now, pace, keep }: Wanted,
  store: Store,
): UsageKeeper | undefined {
  const { usage } = config;
  if (!usage) return undefined;
  const { retentionDays } = usage;
  // Counting tokens does not use a model.
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

/** Whether an upstream answered the request, and may charge for it. */
function isCounted(entry: LogEntry): entry is LogEntry & CountedEntry {
  const { key, model, target, status, cost } = entry;
  return key !== undefined && model !== undefined && target !== undefined && (status < 400 || cost !== undefined);
}
