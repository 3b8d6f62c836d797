/** Answers in the background. Each is a streamed answer that the gateway itself reads. */
import type { GenerateEvent, GenerateRequest, Message } from "../canonical/generate.ts";
import type { StoredAnswer } from "../canonical/stored.ts";
import { clientClosed, type RequestContext, shuttingDown } from "../context/request_context.ts";
import { RequestLog } from "../context/request_log.ts";
import type { Exchange } from "../contract/context.ts";
import type { Protocol } from "../contract/protocol.ts";
import { GatewayError, toGatewayError } from "../errors.ts";
import { MEDIA_TYPE } from "../http/framing.ts";
import { streamResponse } from "../http/respond.ts";
import type { Run } from "../state/runs.ts";
import type { EventSeries } from "../state/stored_events.ts";
import type { EventSource } from "../util/event_source.ts";
import { streamedAnswer } from "./answer.ts";
import { FACT } from "./facts.ts";
import type { Incoming } from "./incoming.ts";
import type { Stage } from "./inference.ts";

/**
 * Starts the answer in the background. The client gets the queued response at once, or its events if it asked for a
 * stream.
 */
export async function runInBackground(
  incoming: Incoming<"generate">,
  serve: (incoming: Incoming<"generate">) => Promise<Response>,
): Promise<Response> {
  const { context, input } = incoming;
  const { gateway } = context;
  if (gateway.process.draining.aborted) throw shuttingDown();
  gateway.state.runs.checkRoom(context.caller.owner, gateway.guards);
  const apart = detach(context);
  const begun = Promise.withResolvers<{ exchange: Exchange<"generate">; run: Run }>();
  const answering = serve({
    ...incoming,
    protocol: withoutKeepAlive(incoming.protocol),
    input: { ...input, stream: true },
    context: apart.context,
    async begin(exchange, messages) {
      const { id, created } = exchange;
      const { previous, keep = {} } = input.recall!;
      const facts = { id, previous, created, model: input.model, messages, keep };
      const run = await gateway.state.runs.begin(facts, context.caller.owner, input.stream, gateway.guards);
      apart.follow(run);
      begun.resolve({ exchange, run });
    },
  });
  // A failure before the run has begun is the client's error. A later one is recorded in the run.
  const started = await Promise.race([begun.promise, answering.then(() => begun.promise)]).catch((thrown) => {
    apart.context.requestLog.fail(toGatewayError(thrown));
    apart.context.requestLog.close(0); // gives back what it holds, and writes no second log line
    throw thrown;
  });
  const { exchange, run } = started;
  void finishRun(answering, run, exchange, apart.context);
  if (input.stream) return follow(run.log!, 0, context);
  return incoming.protocol.serializeQueued!(pending(exchange, input), exchange);
}

/** A context for work that outlives the request. It has its own log line, signal and end. */
function detach(context: RequestContext): { context: RequestContext; follow(run: Run): void } {
  const { gateway, requestLog, hide } = context;
  const abort = new AbortController();
  let run: Run | undefined;
  const since = gateway.clocks.monotonic();
  const { time, id, method, path, key, lane, protocol } = requestLog.entry;
  const entry = { time: time!, id: id!, method: method!, path: path! };
  const own = new RequestLog({
    entry,
    log: (line) => run && gateway.observe.log(line),
    elapsedMs: () => Math.round(gateway.clocks.monotonic() - since),
    trace: requestLog.trace?.background(),
  });
  Object.assign(own.entry, { key, lane, protocol });
  own.capture = requestLog.capture;
  const dependent = gateway.process.running.add(abort);
  own.atEnd(() => gateway.process.running.delete(dependent));
  return {
    context: {
      ...context,
      requestLog: own,
      note(text) {
        own.note(hide(text));
        context.note(text);
      },
      signal: abort.signal,
      leave: () => abort.abort(),
      hasLeft: () => run?.isCancelled() ?? false,
    },
    follow(begun) {
      run = begun;
      begun.signal.addEventListener("abort", () => abort.abort(begun.signal.reason), { once: true });
    },
  };
}

/** The protocol without keep-alives: events are numbered by their positions, so nothing may stand between them. */
function withoutKeepAlive(protocol: Protocol<"generate">): Protocol<"generate"> {
  return { ...protocol, keepAlive: undefined };
}

/** Reads the answer to its end, whether or not a client follows it. */
async function finishRun(
  answering: Promise<Response>,
  run: Run,
  exchange: Exchange<"generate">,
  context: RequestContext,
): Promise<void> {
  const { requestLog } = context;
  try {
    const response = await answering;
    run.start();
    for await (const block of blocksOf(response)) if (!block.startsWith(":")) run.log?.add(block);
    if (!requestLog.failure && !exchange.stored) {
      requestLog.fail(new GatewayError("internal", "The response could not be stored"));
    }
  } catch (thrown) {
    requestLog.fail(toGatewayError(thrown));
  }
  const failure = context.signal.aborted ? toGatewayError(context.signal.reason) : requestLog.failure;
  await run.end(failure && { code: failure.code, message: failure.message });
  requestLog.close(run.isCancelled() ? clientClosed().status : 200);
}

/** The events of a streamed body, each with the blank line at its end. */
async function* blocksOf({ body }: Response): AsyncGenerator<string> {
  if (!body) return;
  const decoder = new TextDecoder();
  let text = "";
  for await (const chunk of body) {
    text += decoder.decode(chunk, { stream: true });
    const end = text.lastIndexOf("\n\n");
    if (end < 0) continue;
    for (const block of text.slice(0, end).split("\n\n")) yield `${block}\n\n`;
    text = text.slice(end + 2);
  }
}

/** Sends a client the events from number `from` on: those that are stored, then those that still come. */
export function follow(
  log: EventSeries,
  from: number,
  { requestLog, gateway, isServed }: RequestContext,
): Response {
  const { pace, guards: { limits } } = gateway;
  requestLog.entry.stream = true;
  let at = from;
  let isOver = false;
  const end = () => {
    isOver = true;
    log.stop?.();
  };
  return streamResponse({
    async next() {
      const events = isOver ? undefined : await log.read(at);
      at += events?.length ?? 0;
      return events?.join("");
    },
    cancel: () => Promise.resolve(end()),
  }, {
    mediaType: MEDIA_TYPE.sse,
    keepAlive: () => ": keep-alive\n\n",
    keepAliveMs: pace.keepAliveMs,
    sendStallMs: limits.sendStallMs,
    isServed,
    onStall: end,
    onLeave: end,
    onFailure(thrown) {
      requestLog.fail(toGatewayError(thrown));
      end();
    },
    onEnd: () => requestLog.close(200),
  });
}

/** The response before the model has begun. */
function pending({ id, created }: Exchange<"generate">, input: GenerateRequest): StoredAnswer {
  const { previous, keep = {} } = input.recall!;
  const nothing = { finish: { reason: "other" as const }, usage: { inputTokens: 0, outputTokens: 0 }, content: [] };
  const facts = { id, created, completed: created, previous, keep, model: input.model };
  return {
    ...facts,
    messages: [] as Message[],
    response: { model: input.model, ...nothing },
    run: { status: "queued" },
  };
}

/** Stores the answer's state before any upstream is called, and starts it at once. */
export const BACKGROUND: Stage<"generate"> = {
  name: "background",
  operations: ["generate"],
  needs: FACT.background,
  admit: ({ begin, exchange, added }) => begin?.(exchange, added.messages),
  around: (inference, ask) => streamedAnswer(startedAtOnce(ask(inference), inference.input.model, inference.estimate)),
};

/** A source whose start does not wait for an upstream, because a client needs the response's id to come back to it. */
function startedAtOnce(
  source: EventSource<GenerateEvent>,
  model: string,
  inputTokens: number,
): EventSource<GenerateEvent> {
  let hasStarted = false;
  return {
    async next() {
      if (!hasStarted) {
        hasStarted = true;
        return [{ type: "start", model, inputTokens }];
      }
      for (;;) {
        const events = (await source.next())?.filter(({ type }) => type !== "start");
        if (!events || events.length > 0) return events;
      }
    },
    cancel: () => source.cancel(),
  };
}
