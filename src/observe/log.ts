import type { Usage } from "../canonical/usage.ts";
import type { ErrorCode } from "../errors.ts";
import type { Platform } from "../platform/platform.ts";
import { visible } from "../util/printable.ts";

/** What is known of one request when it is over. No content and no secret is in it. */
export interface LogEntry {
  /** ISO 8601, when the request came. */
  time: string;
  id: string;
  method: string;
  path: string;
  /** The name of the key, never the key. */
  key?: string;
  lane?: string;
  protocol?: string;
  /** As the client named it. */
  model?: string;
  /** Who answered, `upstream/model`. */
  target?: string;
  /** Who served there, where the upstream chose among providers and said whom. */
  provider?: string;
  /** How often targets were asked, where it was more than once. */
  attempts?: number;
  stream?: boolean;
  status: number;
  error?: ErrorCode;
  upstreamStatus?: number;
  /** What an error of the gateway's own comes from. */
  cause?: unknown;
  /** From the request's arrival to the upstream's first event, in milliseconds; of streams only. */
  firstEventMs?: number;
  durationMs: number;
  usage?: Usage;
  /** What the answer cost in dollars, as a decimal text; absent where no price is known. */
  cost?: string;
  /** Whether the cost rests on tokens that the gateway estimated. */
  costEstimated?: true;
  notes?: readonly string[];
  /** Whether it is counted, but not printed, because many like it are. */
  isRepeated?: true;
  /** The trace that its spans are in, where the gateway makes spans. */
  traceId?: string;
}

/** What operators should look at. */
export type Warning = BudgetWarning | SocketsWarning;

/** WebSockets were closed because messages that are not complete took too much memory. */
export interface SocketsWarning {
  /** ISO 8601. */
  time: string;
  warning: "sockets";
  /** The name of the key whose WebSockets they were. */
  key: string;
  closed: number;
  /** What such messages took on all WebSockets, as far as it can be measured. */
  bytes: number;
}

/** A budget comes to its end. */
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

/** The same of a store whose file was removed. */
export interface StoreWarning {
  /** ISO 8601. */
  time: string;
  warning: "store";
  message: string;
}

/** One line of JSON, whatever the entry holds, which steers no terminal and reads as it is written. */
export function formatLogLine({ usage, cause, ...rest }: LogEntry): string {
  const line = { ...rest, ...usage, ...(cause !== undefined && { cause: describeCause(cause, rest.error) }) };
  return visible(JSON.stringify(line));
}

export interface Log {
  (entry: LogEntry): void;
  /** Prints the lines that are still due. */
  flush(): void;
}

/** How long lines are collected, in milliseconds: to print several at once takes less than to print each by itself. */
const COLLECT_MS = 20;

/** Prints each entry's line a moment later, in their order: no client waits for a line before it gets its answer. */
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

/** The network's words on an upstream; of a failure of our own its place, because its message may quote the client. */
function describeCause(cause: unknown, error: ErrorCode | undefined): string {
  if (!(cause instanceof Error)) return typeof cause;
  if (error !== "internal") return withoutCredentials(innermost(cause).message);
  const frames = (cause.stack ?? "").split("\n").filter((line) => /^\s+at /.test(line)).slice(0, 3);
  return [cause.name, ...frames.map((line) => line.trim())].join(" ");
}

/** The platform names the URL of a failed call, whose query may hold credentials, and quotes a header that cannot be sent. */
function withoutCredentials(message: string): string {
  if (/invalid header value/i.test(message)) return "Invalid header value";
  return message.replace(/(https?:\/\/[^\s?)]*)\?[^\s)]*/g, "$1");
}

/** The platform says "fetch failed", and the reason in the error's cause. */
function innermost(error: Error): Error {
  return error.cause instanceof Error ? innermost(error.cause) : error;
}
