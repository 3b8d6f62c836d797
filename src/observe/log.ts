import type { Usage } from "../canonical/usage.ts";
import type { ErrorCode } from "../errors.ts";
import type { Platform } from "../platform/platform.ts";
import { visible } from "../util/printable.ts";

/** The log entry of a finished request. It holds no content and no secret. */
export interface LogEntry {
  /** When the request came, by ISO 8601. */
  time: string;
  id: string;
  method: string;
  path: string;
  /** The name of the key, never the key. */
  key?: string;
  lane?: string;
  protocol?: string;
  /** The model as the client named it. */
  model?: string;
  /** The target that answered, `upstream/model`. */
  target?: string;
  /** The provider that the upstream chose, if it named one. */
  provider?: string;
  /** The number of attempts, if there was more than one. */
  attempts?: number;
  /** How often the answer broke off and went on. */
  continued?: number;
  stream?: boolean;
  /** Whether it is a request of a thread, whose turns the gateway keeps. */
  thread?: true;
  status: number;
  error?: ErrorCode;
  upstreamStatus?: number;
  /** The cause of the error. */
  cause?: unknown;
  /** From the request's arrival to the upstream's first event, in milliseconds. For streams only. */
  firstEventMs?: number;
  durationMs: number;
  usage?: Usage;
  /** The cost of the answer in dollars, as a decimal text. Absent if no price is known. */
  cost?: string;
  /** Whether the cost is based on tokens that the gateway estimated. */
  costEstimated?: true;
  notes?: readonly string[];
  /** Whether the request is counted but not printed, because many like it were printed. */
  isRepeated?: true;
  /** The id of the request's trace, if the gateway makes spans. */
  traceId?: string;
}

/** Something that operators should look at. */
export type Warning = BudgetWarning | SocketsWarning;

/** WebSockets were closed because incomplete messages took too much memory. */
export interface SocketsWarning {
  /** ISO 8601. */
  time: string;
  warning: "sockets";
  /** The name of the key whose WebSockets they were. */
  key: string;
  closed: number;
  /** The memory of incomplete messages on all WebSockets, as far as it can be measured. */
  bytes: number;
}

/** A budget is nearly used up. */
export interface BudgetWarning {
  /** ISO 8601. */
  time: string;
  warning: "budget";
  /** `key:anna`, `team:research`, or `gateway`. */
  budget: string;
  /** `day 2027-01-31`. */
  period: string;
  /** In dollars, as decimal texts. */
  spent: string;
  dollars: string;
  /** ISO 8601; absent if it never resets. */
  resets?: string;
}

/** The file of a store was removed. */
export interface StoreWarning {
  /** ISO 8601. */
  time: string;
  warning: "store";
  message: string;
}

/** Always one line of JSON, whatever the entry holds. It contains no control characters for terminals, and none that reorder text. */
export function formatLogLine({ usage, cause, ...rest }: LogEntry): string {
  const line = { ...rest, ...usage, ...(cause !== undefined && { cause: describeCause(cause, rest.error) }) };
  return visible(JSON.stringify(line));
}

export interface Log {
  (entry: LogEntry): void;
  /** Prints the lines that are still due. */
  flush(): void;
}

/** How long lines are collected, in milliseconds: printing several at once takes less time than printing each by itself. */
const COLLECT_MS = 20;

/** Prints the lines of entries in order, a moment later, so that no client waits for them. */
export function createLog(print: (line: string) => void, after: Platform["after"]): Log {
  const due: LogEntry[] = [];
  const flush = () => {
    for (const entry of due.splice(0)) print(formatLogLine(entry));
  };
  const log = (entry: LogEntry) => {
    if (due.push(entry) === 1) after(COLLECT_MS, flush);
  };
  return Object.assign(log, { flush });
}

/** The network's message about an upstream. For a failure of our own, only where it happened: its message may quote the client. */
function describeCause(cause: unknown, error: ErrorCode | undefined): string {
  if (!(cause instanceof Error)) return typeof cause;
  if (error !== "internal") return withoutCredentials(innermost(cause).message);
  const frames = (cause.stack ?? "").split("\n").filter((line) => /^\s+at /.test(line)).slice(0, 3);
  return [cause.name, ...frames.map((line) => line.trim())].join(" ");
}

/** The platform's messages name the URL of a failed call, whose query may hold credentials, and quote headers that cannot be sent. */
function withoutCredentials(message: string): string {
  if (/invalid header value/i.test(message)) return "Invalid header value";
  return message.replace(/(https?:\/\/[^\s?)]*)\?[^\s)]*/g, "$1");
}

/** The platform says only "fetch failed". The reason is in the error's cause. */
function innermost(error: Error): Error {
  return error.cause instanceof Error ? innermost(error.cause) : error;
}
