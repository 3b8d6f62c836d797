/** What happens and is to be counted. Who counts it is loaded after the first answer, so that no start waits for it. */
import type { ErrorCode } from "../errors.ts";
import type { Family } from "./exposition.ts";
import type { Happening, Metrics, MetricsFacts } from "./happening.ts";
import { callWhileAlive } from "../util/idle_timer.ts";

export interface UpstreamHealth {
  /** From asking to the answer, in milliseconds: the latest ones weigh most. */
  latencyMs?: number;
  lastError?: { code: ErrorCode; at: number };
}

export interface Meter {
  count(happening: Happening): void;
  /** One more stream is open, until the returned function is called. */
  openStream(): () => void;
  /** All that was counted, once it is there. */
  metrics(): Promise<Metrics>;
  /** Reads what is so at this moment, where metrics are exported. */
  gauges?: () => Promise<readonly Family[]>;
  readonly openStreams: number;
  /** What the latest attempts say of each upstream. */
  readonly upstreams: ReadonlyMap<string, UpstreamHealth>;
  /** From now on it is measured how late timers come, until the meter is closed. */
  watchLoop(): void;
  close(): void;
}

/** How often it is measured how late a timer comes, in milliseconds. */
const LOOP_MS = 500;

/** How much the latest answer counts in the latency. */
const WEIGHT = 0.2;

export function createMeter(facts: MetricsFacts): Meter {
  return new LazyMeter(facts);
}

class LazyMeter implements Meter {
  readonly #facts: MetricsFacts;
  gauges?: Meter["gauges"];
  /** Until there is something that counts. */
  #held: Happening[] = [];
  #metrics: Metrics | undefined;
  #loading: Promise<Metrics> | undefined;
  openStreams = 0;
  readonly upstreams = new Map<string, UpstreamHealth>();
  #cancelWatch: (() => void) | undefined;

  constructor(facts: MetricsFacts) {
    this.#facts = facts;
  }

  count(happening: Happening): void {
    if (happening.type === "attempt failed") {
      const { code, at } = happening;
      this.#healthOf(happening.upstream).lastError = { code, at };
    } else if (happening.type === "served") {
      const health = this.#healthOf(happening.upstream);
      health.latencyMs = happening.ms * WEIGHT + (health.latencyMs ?? happening.ms) * (1 - WEIGHT);
    }
    if (this.#metrics) return this.#metrics.count(happening);
    this.#held.push(happening);
    if (happening.type === "request") this.#loading ??= this.#load();
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
    for (const happening of this.#held.splice(0)) metrics.count(happening);
    return this.#metrics = metrics;
  }
}
