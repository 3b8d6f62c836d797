import type { Audit } from "../observe/audit.ts";
import type { Conversations } from "../observe/conversations.ts";
import type { Feed } from "../observe/feed.ts";
import type { LogEntry } from "../observe/log.ts";
import type { Meter } from "../observe/meter.ts";
import type { Tracing } from "../observe/trace.ts";
import type { SeriesBook } from "../state/series/book.ts";
import type { UsageRow } from "../state/usage_book.ts";
import type { CaptureStore } from "./capture_store.ts";

/** The observers of requests. Each but the log is absent if the configuration disables it. */
export interface Observers {
  log(entry: LogEntry): void;
  /** Counts events for metrics. */
  meter?: Meter;
  /** Records which keys were issued or refused. */
  audit?: Audit;
  /** Creates spans. Absent as well if the process was started without OpenTelemetry. */
  tracing?: Tracing;
  /** The usage of keys in recent days. */
  usage?: {
    read(days: number, key?: string): Promise<UsageRow[]>;
    retentionDays: number;
    /** Sums over time. Absent without the console. */
    series?: { book(): Promise<SeriesBook> };
  };
  /** Running and finished requests for the console. */
  feed?: Feed;
  /** Captures of requests, for the console. Their code is loaded with the first request. */
  captures?: CaptureStorePart;
  /** The conversations of agents, for the console. Absent if neither usage nor requests are recorded. */
  conversations?: ConversationsPart;
  /** Loads the code for spans and captures. Absent if there are neither. Returns `undefined` once it is loaded. */
  load?(): Promise<unknown> | undefined;
}

export interface ConversationsPart {
  add: Conversations["add"];
  all(): Promise<Conversations>;
}

export interface CaptureStorePart {
  loaded?: CaptureStore;
  load(): Promise<CaptureStore>;
}
