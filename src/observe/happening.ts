/** What is counted, and by what it is counted. */
import type { MeterProvider } from "@opentelemetry/api";
import type { ErrorCode } from "../errors.ts";
import type { Family, Sink } from "./exposition.ts";
import type { LogEntry } from "./log.ts";

/** Why a target is asked. */
export type AttemptReason = "first" | "retry" | "failover" | "hedge";

/** One thing that happened. None holds content or a secret. */
export type Happening =
  | { type: "request"; entry: LogEntry }
  | { type: "attempt"; upstream: string; reason: AttemptReason }
  | { type: "attempt failed"; upstream: string; code: ErrorCode; at: number }
  | { type: "served"; upstream: string; ms: number }
  | { type: "hosted call"; tool: string; error?: string }
  | { type: "store"; operation: string; seconds: number; failed: boolean }
  | { type: "budget"; budget: string; what: "refused" | "warned" }
  | { type: "shed" }
  | { type: "loop delay"; seconds: number };

export interface MetricsFacts {
  version: string;
  /** What a protocol is for, by its name: `chat`, `embeddings`; absent for those that run no model. */
  operations: ReadonlyMap<string, string>;
  /** The names of models that the configuration has, as `lane model`, and of their targets, as `upstream/model`. */
  names(): ReadonlySet<string>;
  /** Where metrics are exported to, where the process was started with OpenTelemetry. */
  exporter?: MeterProvider;
}

export interface Metrics {
  count(happening: Happening): void;
  /** From now on the sink gets what is counted, too. */
  connect(sink: Sink): void;
  /** In the text format of Prometheus. `gauges`: what is read at this moment. */
  render(gauges: readonly Family[]): string;
}
