/** The events that are counted, and the interface of the metrics. */
import type { MeterProvider } from "@opentelemetry/api";
import type { ErrorCode } from "../errors.ts";
import type { Family, Sink } from "./exposition.ts";
import type { LogEntry } from "./log.ts";

/** Why an attempt is made. */
export type AttemptReason = "first" | "retry" | "failover" | "hedge";

/** One event to count. It never holds content or a secret. */
export type MetricEvent =
  | { type: "request"; entry: LogEntry }
  | { type: "attempt"; upstream: string; reason: AttemptReason }
  | { type: "attempt failed"; upstream: string; code: ErrorCode; at: number }
  | { type: "served"; upstream: string; ms: number; at: number }
  | { type: "hosted call"; tool: string; error?: string }
  | { type: "store"; operation: string; seconds: number; failed: boolean }
  | { type: "budget"; budget: string; what: "refused" | "warned" }
  | { type: "shed" }
  | { type: "loop delay"; seconds: number };

export interface MetricsFacts {
  version: string;
  /** The operation of each protocol, by its name: `chat`, `embeddings`. Absent for protocols that run no model. */
  operations: ReadonlyMap<string, string>;
  /** The configured models as `lane model`, and their targets as `upstream/model`. */
  names(): ReadonlySet<string>;
  /** Exports the metrics, if the process was started with OpenTelemetry. */
  exporter?: MeterProvider;
}

export interface Metrics {
  count(event: MetricEvent): void;
  /** From now on the sink gets the values, too. */
  connect(sink: Sink): void;
  /** The page in the text format of Prometheus. `gauges`: the values of this moment. */
  render(gauges: readonly Family[]): string;
}
