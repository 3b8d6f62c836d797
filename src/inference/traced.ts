/** Attempts with spans that end when they do. Without tracing, attempts are left unwrapped. */
import type { GenerateRequest } from "../canonical/generate.ts";
import type { Input, ModelOperation, Output } from "../canonical/operations.ts";
import type { RequestContext } from "../context/request_context.ts";
import type { PlannedTarget } from "../contract/planned_target.ts";
import { toGatewayError } from "../errors.ts";
import type { HostedRunner } from "../hosted/runner.ts";
import type { AnswerFacts, AttemptOutcome, AttemptTrace, SeenEvent } from "../observe/trace.ts";
import { passedOn } from "../observe/traceparent.ts";
import type { Transport } from "../platform/transport.ts";
import type { Upstream } from "../upstream/send.ts";
import type { EventSource } from "../util/event_source.ts";

/** The span of an attempt, if the request is traced. */
export function traceAttempt<K extends ModelOperation>(
  operation: K,
  input: Input<K>,
  { where, upstream: { baseUrl } }: { where: PlannedTarget; upstream: Upstream },
  { requestLog: { trace, reason }, hide }: RequestContext,
): AttemptTrace | undefined {
  const conversation = "messages" in input ? input as GenerateRequest : undefined;
  const stream = "stream" in input && input.stream === true;
  return trace?.attempt({ operation, where, baseUrl, reason, stream, input: conversation, hide });
}

/** The upstream with the trace's headers, if the configuration wants them sent. `headers`: the client's. */
export function withTrace(upstream: Upstream, trace: AttemptTrace | undefined, headers: Headers): Upstream {
  const { propagateTrace, transport } = upstream;
  const within = trace?.within;
  if (!propagateTrace && !within) return upstream;
  const own = propagateTrace ? trace?.headers ?? passedOn(headers) : {};
  const send: Transport["send"] = (request) => within ? within(() => transport.send(request)) : transport.send(request);
  return {
    ...upstream,
    headers: { ...upstream.headers, ...own },
    transport: { send, close: () => transport.close() },
  };
}

/** Runs one hosted call. It has a span of its own if the request is traced. */
export async function runTraced(
  ...[call, work, facts, { gateway, requestLog }]: [...Parameters<HostedRunner["run"]>, RequestContext]
): ReturnType<HostedRunner["run"]> {
  const end = requestLog.trace?.tool(call.kind);
  requestLog.capture?.event("hosted tool", call.kind);
  const result = await gateway.hosted.runner.run(call, work, facts);
  requestLog.capture?.event("hosted tool ended", call.kind, result.kind === "error" ? result.code : undefined);
  end?.(result.kind === "error" ? result.code : undefined);
  return result;
}

type RunAttempt<R> = (target: PlannedTarget, signal: AbortSignal) => R;

/** Wraps an attempt whose answer comes whole. */
export function traced<R>(attempt: RunAttempt<Promise<R>>, { requestLog }: RequestContext): RunAttempt<Promise<R>> {
  if (!requestLog.trace) return attempt;
  const end = (target: PlannedTarget, outcome: AttemptOutcome) => {
    const { trace, provider } = requestLog.attemptAt(target) ?? {};
    trace?.end({ ...outcome, provider });
  };
  return async (target, signal) => {
    try {
      const result = await attempt(target, signal);
      end(target, { answer: answerFacts(result) });
      return result;
    } catch (thrown) {
      end(target, failureOf(thrown, signal));
      throw thrown;
    }
  };
}

/** Wraps an attempt whose answer is streamed. */
export function tracedStream<E extends SeenEvent>(
  attempt: RunAttempt<EventSource<E>>,
  { requestLog }: RequestContext,
): RunAttempt<EventSource<E>> {
  if (!requestLog.trace) return attempt;
  return (target, signal) => {
    const source = attempt(target, signal);
    const record = requestLog.attemptAt(target);
    return record?.trace ? new TracedStream(source, record, record.trace, signal) : source;
  };
}

/** Lives as long as the answer, so it is given no closure over the conversation. */
class TracedStream<E extends SeenEvent> implements EventSource<E> {
  readonly #source: EventSource<E>;
  /** Read at the end, because the provider is known only once the upstream has answered. */
  readonly #attempt: { readonly provider?: string };
  readonly #trace: AttemptTrace;
  readonly #signal: AbortSignal;

  constructor(
    source: EventSource<E>,
    attempt: { readonly provider?: string },
    trace: AttemptTrace,
    signal: AbortSignal,
  ) {
    this.#source = source;
    this.#attempt = attempt;
    this.#trace = trace;
    this.#signal = signal;
  }

  async next(): Promise<readonly E[] | undefined> {
    try {
      const events = await this.#source.next();
      if (events) { for (const event of events) this.#trace.see(event); }
      else this.#end({});
      return events;
    } catch (thrown) {
      this.#end(failureOf(thrown, this.#signal));
      throw thrown;
    }
  }

  async cancel(): Promise<void> {
    this.#end({ isAbandoned: true });
    await this.#source.cancel();
  }

  #end(outcome: AttemptOutcome): void {
    this.#trace.end({ ...outcome, provider: this.#attempt.provider });
  }
}

/** An attempt that was aborted has not failed. */
function failureOf(thrown: unknown, signal: AbortSignal): AttemptOutcome {
  if (signal.aborted) return { isAbandoned: true };
  const { code, details: { upstreamStatus } } = toGatewayError(thrown);
  return { error: { code, upstreamStatus } };
}

function answerFacts(result: unknown): AnswerFacts {
  return result as Partial<Output<"generate">>;
}
