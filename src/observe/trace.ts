/** What tracing takes and gives. Who makes spans is loaded only where the process was started with OpenTelemetry. */
import type { GenerateRequest } from "../canonical/generate.ts";
import type { ModelOperation } from "../canonical/operations.ts";
import type { ReportedUsage } from "../canonical/usage.ts";
import type { PlannedTarget } from "../contract/planned_target.ts";
import type { ErrorCode } from "../errors.ts";
import type { AttemptReason } from "./happening.ts";
import type { LogEntry } from "./log.ts";

export interface Tracing {
  /** Makes spans, once it is loaded. */
  readonly tracer?: Tracer;
  load(): Promise<Tracer>;
}

export interface Tracer {
  /** The span of a request: a part of the caller's trace where its headers name one. */
  begin(method: string, headers: Headers): RequestTrace;
}

/** What becomes of one request. */
export interface RequestTrace {
  /** Absent where nobody records it. */
  readonly traceId?: string;
  attempt(facts: AttemptFacts): AttemptTrace;
  /** A hosted tool runs until the returned function is called. */
  tool(kind: string): (error?: string) => void;
  /** What goes on in the background once the request is over. */
  background(): RequestTrace;
  /** The request is over. */
  end(entry: LogEntry): void;
}

export interface AttemptFacts {
  operation: ModelOperation;
  where: PlannedTarget;
  /** Absent where the driver makes no calls. */
  baseUrl?: string;
  reason: AttemptReason;
  stream: boolean;
  /** The conversation, where it is one. */
  input?: GenerateRequest;
  /** The same text without secrets. */
  hide(text: string): string;
}

/** One target that is asked. */
export interface AttemptTrace {
  /** What tells an upstream which trace its work is a part of. */
  readonly headers: Readonly<Record<string, string>>;
  /** Calls the upstream within the attempt, for a runtime that makes spans of its calls. */
  readonly within?: <T>(call: () => T) => T;
  see(event: SeenEvent): void;
  end(outcome: AttemptOutcome): void;
}

/** An event of an answer, of any operation. */
export interface SeenEvent {
  type: string;
  usage?: ReportedUsage;
  finish?: { reason: string };
}

export interface AttemptOutcome {
  /** Why it failed. */
  error?: { code: ErrorCode; upstreamStatus?: number };
  /** Nobody wanted its answer any more. */
  isAbandoned?: true;
  /** What a whole answer says. */
  answer?: AnswerFacts;
  provider?: string;
}

export interface AnswerFacts {
  usage?: ReportedUsage;
  finish?: { reason: string };
  content?: readonly object[];
}
