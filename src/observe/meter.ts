/** Takes the events to count. The code that counts them is loaded after the first answer, so that the start does not wait for it. */
import type { ErrorCode } from "../errors.ts";
import type { Family } from "./exposition.ts";
import type { MetricEvent, Metrics, MetricsFacts } from "./metric_events.ts";
import { callWhileAlive } from "../util/idle_timer.ts";

export interface UpstreamHealth {
  /** The time from a call to its answer, in milliseconds. The latest answers weigh most. */
  latencyMs?: number;
  lastError?: { code: ErrorCode; at: number };
}

export interface Meter {
  count(event: MetricEvent): void;
  /** Counts one more open stream until the returned function is called. */
  openStream(): () => void;
  /** The metrics, which are loaded if necessary. */
  metrics(): Promise<Metrics>;
  /** Reads the gauges for an export of metrics. */
  gauges?: () => Promise<readonly Family[]>;
  readonly openStreams: number;
  /** The health of each upstream, as the latest attempts found it. */
  readonly upstreams: ReadonlyMap<string, UpstreamHealth>;
  /** Measures how late timers fire, from now until the meter is closed. */
  watchLoop(): void;
  close(): void;
}

/** How often the delay of a timer is measured, in milliseconds. */
const LOOP_MS = 500;

/** The weight of the latest answer in the latency. */
const WEIGHT = 0.2;

export function createMeter(facts: MetricsFacts): Meter {
  return new LazyMeter(facts);
}

class LazyMeter implements Meter {
  readonly #facts: MetricsFacts;
  gauges?: Meter["gauges"];
  /** Events that came before the metrics were loaded. */
  #held: MetricEvent[] = [];
  #metrics: Metrics | undefined;
  #loading: Promise<Metrics> | undefined;
  openStreams = 0;
  readonly upstreams = new Map<string, UpstreamHealth>();
  #cancelWatch: (() => void) | undefined;

  constructor(facts: MetricsFacts) {
    this.#facts = facts;
  }

  count(event: MetricEvent): void {
    if (event.type === "attempt failed") {
      const { code, at } = event;
      this.#healthOf(event.upstream).lastError = { code, at };
    } else if (event.type === "served") {
      const health = this.#healthOf(event.upstream);
      health.latencyMs = event.ms * WEIGHT + (health.latencyMs ?? event.ms) * (1 - WEIGHT);
    }
    if (this.#metrics) return this.#metrics.count(event);
    this.#held.push(event);
    if (event.type === "request") this.#loading ??= this.#load();
  }

  #healthOf(upstream: string): UpstreamHealth {
    const known = this.upstreams.get(upstream) ?? {};
    this.upstreams.set(upstream, known);
    return known;
  }

  openStream(): () => void {
    this.openStreams++;
    let isOpen = true;
    return () => {
      if (isOpen) this.openStreams--;
      isOpen = false;
    };
  }

  metrics(): Promise<Metrics> {
    return this.#loading ??= this.#load();
  }

  watchLoop(): void {
    if (!this.#cancelWatch) this.#watch();
  }

  close(): void {
    this.#cancelWatch?.();
  }

  #watch(): void {
    const since = performance.now();
    this.#cancelWatch = callWhileAlive(LOOP_MS, () => {
      this.count({ type: "loop delay", seconds: Math.max(0, performance.now() - since - LOOP_MS) / 1000 });
      this.#watch();
    });
  }

  async #load(): Promise<Metrics> {
    const { createMetrics } = await import("./metrics.ts");
    const metrics = createMetrics(this.#facts);
    if (this.#facts.exporter) {
      const { sinkTo } = await import("./exported_metrics.ts");
      const gauges = async () => await this.gauges?.() ?? [];
      metrics.connect(sinkTo(this.#facts.exporter, this.#facts.version, gauges));
    }
    for (const event of this.#held.splice(0)) metrics.count(event);
    return this.#metrics = metrics;
  }
}
