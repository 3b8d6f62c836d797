/** A collector of OpenTelemetry's, which keeps what it is sent: OTLP over HTTP, as JSON. */

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
    const body = await request.text();
    collector.raw += body;
    const { pathname } = new URL(request.url);
    if (pathname === "/v1/traces") collector.spans.push(...spansIn(JSON.parse(body)));
    else if (pathname === "/v1/metrics") {
      for (const one of metricsIn(JSON.parse(body))) collector.metrics.set(one.name, one);
    } else if (pathname === "/v1/logs") collector.logs++;
    return Response.json({});
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
    OTEL_EXPORTER_OTLP_PROTOCOL: "http/json",
    OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}`,
    OTEL_BSP_SCHEDULE_DELAY: "100",
    OTEL_METRIC_EXPORT_INTERVAL: "200",
  };
}

const KINDS = ["other", "internal", "server", "client"] as const;

interface Scope {
  scope?: { name?: string };
}

interface TracesBody {
  resourceSpans: { scopeSpans: (Scope & { spans: SentSpan[] })[] }[];
}

interface SentSpan {
  traceId: string;
  spanId: string;
  /** Absent, or empty, at the root. */
  parentSpanId?: string;
  name: string;
  kind: number;
  startTimeUnixNano: string;
  endTimeUnixNano: string;
  attributes: SentAttribute[];
  events: unknown[];
  status?: { code?: number; message?: string };
}

interface MetricsBody {
  resourceMetrics: { scopeMetrics: (Scope & { metrics: SentMetric[] })[] }[];
}

type SentMetric = { name: string; unit: string } & Partial<Record<ReceivedMetric["type"], SentPoints>>;

interface SentPoints {
  dataPoints: SentPoint[];
  isMonotonic?: boolean;
}

interface SentPoint {
  attributes: SentAttribute[];
  asInt?: number | string;
  asDouble?: number;
  sum?: number;
  count?: string;
  bucketCounts?: string[];
  explicitBounds?: number[];
}

interface SentAttribute {
  key: string;
  value: SentValue;
}

interface SentValue {
  stringValue?: string;
  boolValue?: boolean;
  intValue?: number | string;
  doubleValue?: number;
  arrayValue?: { values: SentValue[] };
}

function spansIn({ resourceSpans }: TracesBody): ReceivedSpan[] {
  return resourceSpans.flatMap(({ scopeSpans }) => scopeSpans).flatMap(({ scope, spans }) =>
    spans.map((span) => ({
      scope: scope?.name ?? "",
      traceId: span.traceId,
      id: span.spanId,
      parentId: span.parentSpanId ?? "",
      name: span.name,
      kind: KINDS[span.kind] ?? "other",
      from: BigInt(span.startTimeUnixNano),
      to: BigInt(span.endTimeUnixNano),
      attributes: attributesIn(span.attributes),
      isError: span.status?.code === 2,
      message: span.status?.message ?? "",
      events: span.events.length,
    }))
  );
}

function metricsIn({ resourceMetrics }: MetricsBody): ReceivedMetric[] {
  return resourceMetrics.flatMap(({ scopeMetrics }) => scopeMetrics).flatMap(({ scope, metrics }) =>
    metrics.map(({ name, unit, gauge, sum, histogram }) => ({
      scope: scope?.name ?? "",
      name,
      unit,
      type: histogram ? "histogram" : sum ? "sum" : "gauge",
      isMonotonic: sum?.isMonotonic === true,
      points: (gauge ?? sum ?? histogram)?.dataPoints.map(histogram ? histogramPoint : numberPoint) ?? [],
    }))
  );
}

function numberPoint({ attributes, asInt, asDouble }: SentPoint): Point {
  return { attributes: attributesIn(attributes), value: asDouble ?? Number(asInt ?? 0) };
}

function histogramPoint({ attributes, sum, count, bucketCounts, explicitBounds }: SentPoint): Point {
  return {
    attributes: attributesIn(attributes),
    value: sum ?? 0,
    count: Number(count),
    counts: bucketCounts?.map(Number),
    bounds: explicitBounds,
  };
}

function attributesIn(attributes: readonly SentAttribute[]): Attributes {
  const doubled = attributes.map(({ key }) => key).filter((key, at, keys) => keys.indexOf(key) !== at);
  if (doubled.length > 0) throw new Error(`Twice: ${doubled.join(", ")}`);
  return Object.fromEntries(attributes.map(({ key, value }) => [key, valueOf(value)]));
}

function valueOf({ stringValue, boolValue, intValue, doubleValue, arrayValue }: SentValue): Value {
  return stringValue ?? boolValue ?? (intValue === undefined ? undefined : BigInt(intValue)) ?? doubleValue ??
    arrayValue?.values.map(valueOf);
}
