/** Attempts with spans that end when they do. Without tracing, attempts are left unwrapped. */
import type { GenerateEvent, GenerateRequest } from "../canonical/generate.ts";
import type { HostedCall } from "../canonical/hosted.ts";
import type { Input, ModelOperation, Output, StreamEvent } from "../canonical/operations.ts";
import type { RequestContext } from "../context/request_context.ts";
import type { PlannedTarget } from "../contract/planned_target.ts";
import { toGatewayError } from "../errors.ts";
import type { HostedRunner } from "../hosted/runner.ts";
import type { AttemptOutcome, AttemptTrace, SeenEvent } from "../observe/trace.ts";
import { passedOn } from "../observe/traceparent.ts";
import type { Transport } from "../platform/transport.ts";
import type { Attempt } from "../upstream/attempt.ts";
import type { Upstream } from "../upstream/send.ts";
import type { Steps } from "../util/event_source.ts";
import { FACT } from "./facts.ts";
import type { Answer, Stage } from "./inference.ts";
import { runOutgoing } from "./outgoing.ts";

/** The span of an attempt, if the request is traced. */
export function traceAttempt<K extends ModelOperation>(
  operation: K,
  input: Input<K>,
  { where, upstream: { baseUrl } }: { where: PlannedTarget; upstream: Upstream },
  { requestLog: { trace, reason }, hide, gateway }: RequestContext,
): AttemptTrace | undefined {
  const conversation = "messages" in input ? input as GenerateRequest : undefined;
  const stream = "stream" in input && input.stream === true;
  const span = trace?.attempt({ operation, where, baseUrl, reason, stream, input: conversation, hide });
  // With stages of plugins, the request is recorded once it has passed them.
  if (conversation && gateway.stages.length === 0) span?.asked(conversation);
  return span;
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

/**
 * Runs one hosted call. It has a span of its own if the request is traced. `within`: the request that the model answered
 * with the call.
 */
export async function runTraced(
  ...[call, work, facts, context, within]: [...Parameters<HostedRunner["run"]>, RequestContext, GenerateRequest?]
): ReturnType<HostedRunner["run"]> {
  const { gateway, requestLog } = context;
  const end = requestLog.trace?.tool(call.kind);
  requestLog.capture?.event("hosted tool", call.kind);
  const run = (outgoing: HostedCall) => gateway.hosted.runner.run(outgoing, work, facts);
  // A search among the request's tools goes nowhere. Code stays on this machine, and its results pass the stages on their way.
  const staysInside = gateway.stages.length === 0 || call.kind === "tool-search" || call.kind === "code";
  const result = await (staysInside ? run(call) : runOutgoing(call, work, context, within, run));
  requestLog.capture?.event("hosted tool ended", call.kind, result.kind === "error" ? result.code : undefined);
  end?.(result.kind === "error" ? result.code : undefined);
  return result;
}

/** Has the span of an attempt see its answer and end with it. */
export const TRACING: Stage = {
  name: "tracing",
  operations: ["generate", "relay", "complete", "embed", "rerank", "speak", "transcribe"],
  needs: FACT.traced,
  around(inference, ask) {
    const { target, attempt, context: { requestLog } } = inference;
    const record = target && requestLog.attemptAt(target);
    const answer = ask(inference);
    return record?.trace && attempt ? new TracedAnswer(answer, record, record.trace, attempt) : answer;
  },
};

/** Lives as long as the answer, so it is given no closure over the conversation. */
class TracedAnswer<K extends ModelOperation> implements Answer<K> {
  readonly #answer: Answer<K>;
  /** Read at the end, because the provider is known only once the upstream has answered. */
  readonly #attempt: { readonly provider?: string };
  readonly #trace: AttemptTrace;
  readonly #signal: AbortSignal;
  readonly #isStaged: boolean;

  constructor(
    answer: Answer<K>,
    attempt: { readonly provider?: string },
    trace: AttemptTrace,
    { signal, wayBack }: Pick<Attempt<K>, "signal" | "wayBack">,
  ) {
    this.#isStaged = wayBack !== undefined;
    this.#answer = answer;
    this.#attempt = attempt;
    this.#trace = trace;
    this.#signal = signal;
  }

  whole(): Promise<Output<K>> {
    return this.#watch(this.#answer.whole(), (output) => {
      const { content, ...answer } = output as Partial<Output<"generate">>;
      if (content && !this.#isStaged) this.#trace.writes(content);
      this.#end({ answer });
    });
  }

  next(): Promise<readonly StreamEvent<K>[] | undefined> {
    return this.#watch(this.#answer.next(), this.#see);
  }

  get steps(): Steps<StreamEvent<K>> | undefined {
    const steps = this.#answer.steps;
    return steps && {
      read: steps.read,
      take: (got) => {
        const events = steps.take(got);
        if (events instanceof Promise) return this.#watch(events, this.#see);
        this.#see(events);
        return events;
      },
      fail: (thrown) => this.#watch(Promise.resolve(steps.fail(thrown)), this.#see),
    };
  }

  readonly #see = (events: readonly StreamEvent<K>[] | undefined): void => {
    if (!events) return this.#end({});
    for (const event of events) {
      this.#trace.see(event as SeenEvent);
      // With stages of plugins, content is recorded below them, because they may take something out of it.
      if (!this.#isStaged) this.#trace.write(event as GenerateEvent);
    }
  };

  async cancel(): Promise<void> {
    this.#end({ isAbandoned: true });
    await this.#answer.cancel();
  }

  async #watch<T>(read: Promise<T>, see: (result: T) => void): Promise<T> {
    try {
      const result = await read;
      see(result);
      return result;
    } catch (thrown) {
      this.#end(failureOf(thrown, this.#signal));
      throw thrown;
    }
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
