/** OpenTelemetry's spans: one for each request, each attempt and each hosted tool that runs. */
import { type Context, context, ROOT_CONTEXT, type Span, SpanKind, trace, TraceFlags } from "@opentelemetry/api";
import type { Telemetry } from "../platform/platform.ts";
import type { LogEntry } from "./log.ts";
import { AttemptSpan } from "./attempt_span.ts";
import type { AttemptFacts, AttemptTrace, RequestTrace, Tracer } from "./trace.ts";
import { readTraceparent, traceHeaders } from "./traceparent.ts";
import { fail, present, type SpanFacts, type SpanWorld, usageAttributes } from "./span_attributes.ts";

export function createTracer(telemetry: Telemetry, facts: SpanFacts): Tracer {
  const provider = telemetry.tracerProvider ?? trace.getTracerProvider();
  const { integer, isAutomatic } = telemetry;
  const world = { ...facts, integer, isAutomatic, maker: provider.getTracer("laneway", facts.version) };
  return { begin: (method, headers) => new RequestSpan(world, method, headers, parentOf(headers)) };
}

/** The span that the runtime made for the request, if it makes spans, or else the caller's. */
function parentOf(headers: Headers): Context {
  const current = context.active();
  const remote = trace.getSpan(current) ? undefined : readTraceparent(headers);
  if (!remote) return current;
  const { traceId, spanId, flags } = remote;
  return trace.setSpanContext(ROOT_CONTEXT, {
    traceId,
    spanId,
    traceFlags: flags & TraceFlags.SAMPLED,
    isRemote: true,
  });
}

/** Stands for methods that are not HTTP's, because clients can make up any number of them. */
const OTHER_METHOD = "_OTHER";
const METHODS: ReadonlySet<string> = new Set(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]);

class RequestSpan implements RequestTrace {
  readonly traceId?: string;
  readonly #world: SpanWorld;
  readonly #method: string;
  readonly #headers: Headers;
  readonly #span: Span;
  readonly #context: Context;
  readonly #isRecorded: boolean;

  constructor(world: SpanWorld, method: string, headers: Headers, parent: Context, name = method) {
    this.#world = world;
    this.#method = METHODS.has(method) ? method : OTHER_METHOD;
    this.#headers = headers;
    const kind = name === method ? SpanKind.SERVER : SpanKind.INTERNAL;
    this.#span = world.maker.startSpan(kind === SpanKind.SERVER ? this.#method : name, { kind }, parent);
    this.#context = trace.setSpan(parent, this.#span);
    const { traceId, traceFlags } = this.#span.spanContext();
    this.traceId = traceId;
    this.#isRecorded = (traceFlags & TraceFlags.SAMPLED) !== 0;
  }

  attempt(facts: AttemptFacts): AttemptTrace {
    const headersOf = (span: Span) => {
      const { traceId, spanId, traceFlags } = span.spanContext();
      return traceHeaders({ traceId, spanId, flags: traceFlags }, this.#headers);
    };
    if (!this.#isRecorded) {
      return { headers: headersOf(this.#span), asked() {}, see() {}, write() {}, writes() {}, end() {} };
    }
    return new AttemptSpan(this.#world, facts, this.#context, headersOf);
  }

  tool(kind: string): (error?: string) => void {
    if (!this.#isRecorded) return () => {};
    const attributes = { "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": kind };
    const span = this.#world.maker.startSpan(`execute_tool ${kind}`, { attributes }, this.#context);
    return (error) => {
      if (error !== undefined) fail(span, error);
      span.end();
    };
  }

  background(): RequestTrace {
    return new RequestSpan(this.#world, this.#method, this.#headers, this.#context, "background");
  }

  end(entry: LogEntry): void {
    if (this.#isRecorded) this.#describe(entry);
    this.#span.end();
  }

  #describe(entry: LogEntry): void {
    const { integer, routes } = this.#world;
    const route = entry.protocol === undefined ? undefined : routes.get(entry.protocol);
    const { status, error, usage, cost, attempts } = entry;
    if (route !== undefined) this.#span.updateName(`${this.#method} ${route}`);
    this.#span.setAttributes(present({
      "http.request.method": this.#method,
      "http.route": route,
      "http.response.status_code": integer(status),
      "gen_ai.request.model": entry.model,
      "gen_ai.request.stream": entry.stream || undefined,
      "laneway.request.id": entry.id,
      "laneway.key": entry.key,
      "laneway.lane": entry.lane,
      "laneway.protocol": entry.protocol,
      "laneway.target": entry.target,
      "laneway.provider": entry.provider,
      "laneway.attempts": attempts === undefined ? undefined : integer(attempts),
      "laneway.cost.dollars": cost === undefined ? undefined : Number(cost),
      "laneway.notes": entry.notes && integer(entry.notes.length),
      "error.type": error,
      ...usage && usageAttributes(usage, integer),
    }));
    // A client's mistake is not an error of this service.
    if (status >= 500) fail(this.#span, error);
  }
}
