/** A collector of OpenTelemetry's, which keeps what it is sent: OTLP over HTTP, in protobuf, as Deno sends it. */
import { double, type Fields, hex, messages, packed, readMessage, text, whole } from "./protobuf.ts";

export type Value = string | number | bigint | boolean | Value[] | undefined;
export type Attributes = Record<string, Value>;

export interface ReceivedSpan {
  scope: string;
  traceId: string;
  id: string;
  parentId: string;
  name: string;
  kind: "internal" | "server" | "client" | "other";
  /** Nanoseconds since the epoch. */
  from: bigint;
  to: bigint;
  attributes: Attributes;
  isError: boolean;
  message: string;
  events: number;
}

export interface Point {
  attributes: Attributes;
  /** The sum of a histogram. */
  value: number;
  count?: number;
  counts?: number[];
  bounds?: number[];
}

export interface ReceivedMetric {
  scope: string;
  name: string;
  unit: string;
  type: "gauge" | "sum" | "histogram";
  isMonotonic: boolean;
  points: Point[];
}

export interface Collector {
  /** The environment variables with which a process exports here. */
  env: Record<string, string>;
  spans: ReceivedSpan[];
  /** The latest of each name. */
  metrics: Map<string, ReceivedMetric>;
  /** All texts in everything that was received. */
  raw: string;
  logs: number;
}

/** Calls `use` with a collector that runs. */
export async function withCollector(use: (collector: Collector) => Promise<void>): Promise<void> {
  const collector: Collector = { env: {}, spans: [], metrics: new Map(), raw: "", logs: 0 };
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, async (request) => {
    const bytes = await request.bytes();
    collector.raw += new TextDecoder("latin1").decode(bytes);
    const { pathname } = new URL(request.url);
    if (pathname === "/v1/traces") collector.spans.push(...spansIn(bytes));
    else if (pathname === "/v1/metrics") { for (const one of metricsIn(bytes)) collector.metrics.set(one.name, one); }
    else if (pathname === "/v1/logs") collector.logs++;
    return new Response(null, { headers: { "content-type": "application/x-protobuf" } });
  });
  collector.env = exportTo(server.addr.port);
  try {
    await use(collector);
  } finally {
    await server.shutdown();
  }
}

/** The environment variables with which a process exports to a port of this machine, often. */
export function exportTo(port: number): Record<string, string> {
  return {
    // As the task `start` gives it to the launcher.
    LANEWAY_TELEMETRY: "true",
    OTEL_DENO: "false",
    OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}`,
    OTEL_BSP_SCHEDULE_DELAY: "100",
    OTEL_METRIC_EXPORT_INTERVAL: "200",
  };
}

const KINDS = ["other", "internal", "server", "client"] as const;

function spansIn(bytes: Uint8Array): ReceivedSpan[] {
  return scopesIn(bytes).flatMap(({ scope, fields }) =>
    messages(fields, 2).map((span) => {
      const [status] = messages(span, 15);
      return {
        scope,
        traceId: hex(span, 1),
        id: hex(span, 2),
        parentId: hex(span, 4),
        name: text(span, 5),
        kind: KINDS[whole(span, 6)] ?? "other",
        from: span.get(7)![0] as bigint,
        to: span.get(8)![0] as bigint,
        attributes: attributesIn(span, 9),
        isError: status !== undefined && whole(status, 3) === 2,
        message: status ? text(status, 2) : "",
        events: span.get(11)?.length ?? 0,
      };
    })
  );
}

function metricsIn(bytes: Uint8Array): ReceivedMetric[] {
  return scopesIn(bytes).flatMap(({ scope, fields }) =>
    messages(fields, 2).map((metric) => {
      const [gauge] = messages(metric, 5);
      const [sum] = messages(metric, 7);
      const [histogram] = messages(metric, 9);
      const points = messages(gauge ?? sum ?? histogram ?? new Map(), 1);
      return {
        scope,
        name: text(metric, 1),
        unit: text(metric, 3),
        type: histogram ? "histogram" : sum ? "sum" : "gauge",
        isMonotonic: sum !== undefined && whole(sum, 3) === 1,
        points: points.map(histogram ? histogramPoint : numberPoint),
      };
    })
  );
}

function numberPoint(point: Fields): Point {
  const value = point.has(4) ? double(point.get(4)![0]) : Number(BigInt.asIntN(64, point.get(6)?.[0] as bigint ?? 0n));
  return { attributes: attributesIn(point, 7), value };
}

function histogramPoint(point: Fields): Point {
  return {
    attributes: attributesIn(point, 9),
    value: double(point.get(5)?.[0]),
    count: Number(point.get(4)?.[0] ?? 0n),
    counts: packed(point, 6, "whole"),
    bounds: packed(point, 7, "double"),
  };
}

function scopesIn(bytes: Uint8Array): { scope: string; fields: Fields }[] {
  return messages(readMessage(bytes), 1).flatMap((resource) => messages(resource, 2)).map((fields) => {
    const [scope] = messages(fields, 1);
    return { scope: scope ? text(scope, 1) : "", fields };
  });
}

function attributesIn(fields: Fields, number: number): Attributes {
  const entries = messages(fields, number).map((entry) => [text(entry, 1), valueOf(messages(entry, 2)[0]!)] as const);
  const doubled = entries.map(([name]) => name).filter((name, at, names) => names.indexOf(name) !== at);
  if (doubled.length > 0) throw new Error(`Twice: ${doubled.join(", ")}`);
  return Object.fromEntries(entries);
}

function valueOf(value: Fields): Value {
  if (value.has(1)) return text(value, 1);
  if (value.has(2)) return whole(value, 2) === 1;
  if (value.has(3)) return BigInt.asIntN(64, value.get(3)![0] as bigint);
  if (value.has(4)) return double(value.get(4)![0]);
  if (value.has(5)) return messages(messages(value, 5)[0]!, 1).map(valueOf);
  return undefined;
}
