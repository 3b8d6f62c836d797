/** The interfaces of tracing. The code that makes spans is loaded only if the process was started with OpenTelemetry. */
import type { GenerateEvent, GenerateRequest, OutputPart } from "../canonical/generate.ts";
import type { ModelOperation } from "../canonical/operations.ts";
import type { ReportedUsage } from "../canonical/usage.ts";
import type { PlannedTarget } from "../contract/planned_target.ts";
import type { ErrorCode } from "../errors.ts";
import type { AttemptReason } from "./metric_events.ts";
import type { LogEntry } from "./log.ts";

export interface Tracing {
  /** The tracer, once it is loaded. */
  readonly tracer?: Tracer;
  load(): Promise<Tracer>;
}

export interface Tracer {
  /** Begins the span of a request. It joins the caller's trace if the headers name one. */
  begin(method: string, headers: Headers): RequestTrace;
}

/** The trace of one request. */
export interface RequestTrace {
  /** Absent if no span is made. */
  readonly traceId?: string;
  attempt(facts: AttemptFacts): AttemptTrace;
  /** Begins the span of a hosted tool, which ends when the returned function is called. */
  tool(kind: string): (error?: string) => void;
  /** The trace of work that goes on in the background once the request is over. */
  background(): RequestTrace;
  /** Ends the span of the request. */
  end(entry: LogEntry): void;
}

export interface AttemptFacts {
  operation: ModelOperation;
  where: PlannedTarget;
  /** Absent if the driver makes no calls. */
  baseUrl?: string;
  reason: AttemptReason;
  stream: boolean;
  /** The conversation, if the operation has one. */
  input?: GenerateRequest;
  /** Returns the text without secrets. */
  hide(text: string): string;
}

/** The trace of one attempt. */
export interface AttemptTrace {
  /** The headers that tell the upstream which trace its work belongs to. */
  readonly headers: Readonly<Record<string, string>>;
  /** Calls the upstream within the attempt's span, for a runtime that makes spans of its own calls. */
  readonly within?: <T>(call: () => T) => T;
  /** Records the content of the request, if the configuration wants that. */
  asked(input: GenerateRequest): void;
  see(event: SeenEvent): void;
  /** Records the content of an event, if the configuration wants that. */
  write(event: GenerateEvent): void;
  /** Records the content of a whole answer, if the configuration wants that. */
  writes(content: readonly OutputPart[]): void;
  end(outcome: AttemptOutcome): void;
}

/** An event of an answer, of any operation. */
export interface SeenEvent {
  type: string;
  usage?: ReportedUsage;
  finish?: { reason: string };
}

export interface AttemptOutcome {
  /** The error that ended the attempt. */
  error?: { code: ErrorCode; upstreamStatus?: number };
  /** Whether the answer was no longer wanted. */
  isAbandoned?: true;
  /** The facts of an answer that was not streamed. */
  answer?: AnswerFacts;
  provider?: string;
}

export interface AnswerFacts {
  usage?: ReportedUsage;
  finish?: { reason: string };
}
