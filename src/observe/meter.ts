/**
 * Takes the events to count. They are counted many at a time, because nobody looks at the counts in between. The code for that
 * is loaded after the first answer, so that the start does not wait for it.
 */
import type { ErrorCode } from "../errors.ts";
import type { Family } from "./exposition.ts";
import type { MetricEvent, Metrics, MetricsFacts } from "./metric_events.ts";
import { callWhileAlive } from "../util/idle_timer.ts";

export interface UpstreamHealth {
  /** The time from a call to its answer, in milliseconds. The latest answers weigh most. */
  latencyMs?: number;
  lastError?: { code: ErrorCode; at: number };
  /** The attempts that were answered and that failed, by the number of the stretch of time since 1970. The oldest comes first. */
  past?: Map<number, [served: number, failed: number]>;
}

/** How long a stretch of an upstream's past is, in milliseconds, and how many are kept: six hours. */
export const STRETCH_MS = 15 * 60_000;
export const STRETCHES = 24;

export interface Meter {
  count(event: MetricEvent): void;
  /** Counts the events that have not been counted yet. Called before anything changes that their counts depend on. */
  countHeld(): void;
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

/** How many events are counted together. More would hold the entries of as many requests in memory. */
const MOST_HELD = 32;

/** The weight of the latest answer in the latency. */
const WEIGHT = 0.2;

export function createMeter(facts: MetricsFacts): Meter {
  return new LazyMeter(facts);
}

class LazyMeter implements Meter {
  readonly #facts: MetricsFacts;
  gauges?: Meter["gauges"];
  /** Events that are not counted yet. */
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
    const held = this.#held.push(event);
    const { type } = event;
    if (type === "served" || type === "attempt failed") this.#noteHealth(event);
    // An exporter gets the counts at once. An error may refer to much that would stay in memory.
    const isUrgent = held >= MOST_HELD || type === "request" && event.entry.cause !== undefined;
    if (this.#metrics) {
      if (isUrgent || this.#facts.exporter) this.countHeld();
    } else if (type === "request") this.#loading ??= this.#load();
  }

  countHeld(): void {
    if (!this.#metrics) return;
    for (const event of this.#held.splice(0)) this.#metrics.count(event);
  }

  #noteHealth(event: MetricEvent & { type: "served" | "attempt failed" }): void {
    const { upstream } = event;
    const health = this.upstreams.get(upstream) ?? {};
    this.upstreams.set(upstream, health);
    if (event.type === "served") {
      health.latencyMs = event.ms * WEIGHT + (health.latencyMs ?? event.ms) * (1 - WEIGHT);
    } else health.lastError = { code: event.code, at: event.at };
    const past = health.past ??= new Map();
    const stretch = Math.floor(event.at / STRETCH_MS);
    let counts = past.get(stretch);
    if (!counts) {
      past.set(stretch, counts = [0, 0]);
      if (past.size > STRETCHES) past.delete(past.keys().next().value!);
    }
    counts[event.type === "served" ? 0 : 1]++;
  }

  openStream(): () => void {
    this.openStreams++;
    let isOpen = true;
    return () => {
      if (isOpen) this.openStreams--;
      isOpen = false;
    };
  }

  async metrics(): Promise<Metrics> {
    const metrics = await (this.#loading ??= this.#load());
    this.countHeld();
    return metrics;
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
    this.#metrics = metrics;
    this.countHeld();
    return metrics;
  }
}
