/** Sends a streamed answer to its client. */
import type { StreamEvent } from "../canonical/operations.ts";
import type { ReportedUsage } from "../canonical/usage.ts";
import { clientClosed, clientStalled, type RequestContext } from "../context/request_context.ts";
import { withoutSecrets } from "../context/secrets.ts";
import type { Exchange } from "../contract/context.ts";
import type { Protocol } from "../contract/protocol.ts";
import { GatewayError, toGatewayError } from "../errors.ts";
import { formatFrames, FRAME_TEXT, MEDIA_TYPE } from "../http/framing.ts";
import { formatNotes } from "../http/notes.ts";
import { streamResponse } from "../http/respond.ts";
import { formatCost } from "../observe/cost.ts";
import { guard } from "../upstream/guard.ts";
import type { EventSource } from "../util/event_source.ts";
import { settleWithin } from "../util/timeout.ts";
import { AnswerLoop, type Passage } from "./answer_loop.ts";
import { CHARACTERS_PER_TOKEN, learn } from "./counting.ts";
import { weighRelayed } from "./mask_secrets.ts";

/** The operations whose answers can be streamed. */
export type Streamed = "generate" | "relay" | "complete" | "speak" | "transcribe" | "draw";

/**
 * How long the head of a streamed completion waits, in milliseconds. Editors drop most of what they ask, and over HTTP/1.1 Deno
 * (2.9.6) learns only after the head that a client has left. A refusal that comes at once still gets its own status.
 */
const SOON_MS = 20;

/**
 * Responds with a stream. Its head goes out at the upstream's first event: a failure before that gets its own status,
 * and the head names the target. A silent upstream is not waited for any longer than `headAfterMs`, because proxies and
 * clients give up on a silent gateway.
 */
export async function respondWithStream<K extends Streamed>(
  protocol: Protocol<K>,
  exchange: Exchange<K>,
  source: EventSource<StreamEvent<K>>,
  context: RequestContext,
  passage: Passage<StreamEvent<K>> = {},
): Promise<Response> {
  const { gateway: { pace, guards: { limits }, observe: { meter } }, requestLog, hide, leave } = context;
  if (!protocol.stream) throw new GatewayError("unsupported", `"${protocol.name}" does not stream`);
  requestLog.entry.stream = true;
  if (meter) requestLog.atEnd(meter.openStream());
  const { framing } = protocol.stream;
  const writer = protocol.stream.writer(exchange);
  const observer = new Observer(context);
  const events = guard(source, {
    changeError: (error) => withoutSecrets(error, hide),
    change: passage.change,
    onEvent: observer.see,
  });
  const first = events.next();
  const headAfterMs = protocol.operation === "complete" ? Math.min(SOON_MS, pace.headAfterMs) : pace.headAfterMs;
  const [early] = await settleWithin(first, headAfterMs) ?? [];
  if (early?.type === "error") {
    await events.cancel();
    throw early.error;
  }

  const reported = new Set(requestLog.notes());
  const chunks = new AnswerLoop(resume(first, events), writer, passage, {
    frames: new FRAME_TEXT[framing](),
    signal: context.signal,
    lateNotes() {
      const late = requestLog.notes().filter((note) => !reported.has(note));
      const cost = requestLog.cost && `cost: ${formatCost(requestLog.cost)}`;
      const notes = late.length > 0 ? `notes: ${formatNotes(late)}` : undefined;
      return [cost, notes].flatMap((comment) => comment === undefined ? [] : [{ comment }]);
    },
  });
  return streamResponse(chunks, {
    mediaType: MEDIA_TYPE[framing],
    keepAlive: () => formatFrames([protocol.keepAlive?.(exchange) ?? { comment: "keep-alive" }], framing),
    keepAliveMs: pace.keepAliveMs,
    sendStallMs: limits.sendStallMs,
    copy: requestLog.capture?.answerCopy,
    isServed: context.isServed,
    onStall() {
      // The answer is complete except for the last chunk, so this is no failure.
      if (observer.finished) return;
      requestLog.fail(clientStalled(limits.sendStallMs));
      leave();
    },
    onLeave: leave,
    onFailure(thrown) {
      requestLog.fail(toGatewayError(thrown));
      void chunks.cancel();
    },
    // SDKs disconnect at the last frame, before the stream ends.
    onEnd: () => requestLog.close(context.hasLeft() && !observer.finished ? clientClosed().status : 200),
  });
}

/** Records what a stream reports: for the log, the charge and the gateway's own counting. */
class Observer {
  finished = false;
  #hasSeen = false;
  readonly #context: RequestContext;

  constructor(context: RequestContext) {
    this.#context = context;
  }

  readonly see = (event: StreamEvent<Streamed>): void => {
    const { requestLog, hasLeft } = this.#context;
    if (event.type === "error") {
      // An answer that ends because the client left has not failed.
      if (!hasLeft()) requestLog.fail(event.error);
      return;
    }
    if (!this.#hasSeen) requestLog.firstEvent();
    this.#hasSeen = true;
    requestLog.isAnswered = true;
    if (event.type === "part-delta") requestLog.emittedTokens += event.delta.text.length / CHARACTERS_PER_TOKEN;
    else this.#note(event);
  };

  #note(event: Exclude<StreamEvent<Streamed>, { type: "part-delta" | "error" }>): void {
    const { gateway, requestLog } = this.#context;
    requestLog.emittedTokens += tokensOf(event);
    if (event.type === "start") {
      const { counted } = requestLog.attempt ?? {};
      requestLog.countedBy = counted?.used ? counted.by : "upstream";
    } else if (event.type === "finish") {
      const usage = usageOf(event);
      if (usage) requestLog.settle(usage, () => requestLog.emittedTokens);
      // An abandoned hedge may end after the answer, and the end of the answer states the cost of both.
      requestLog.closeBills();
      learn(usage, requestLog.attempt, gateway.counting);
      this.finished = true;
    }
  }
}

/** Estimates the tokens of an event cheaply. The exact number comes with the finish, if there is one. */
function tokensOf(event: StreamEvent<Streamed>): number {
  switch (event.type) {
    case "delta":
      return event.text.length / CHARACTERS_PER_TOKEN;
    case "frame":
      return weighRelayed(event.body);
    default:
      return 0;
  }
}

function usageOf(event: StreamEvent<Streamed> & { type: "finish" }): ReportedUsage | undefined {
  if ("usage" in event) return event.usage;
  const usage = "transcript" in event ? event.transcript.usage : undefined;
  return usage && "inputTokens" in usage ? usage : undefined;
}

/** The source including its first events, which were requested already. */
function resume<E>(first: Promise<readonly E[] | undefined>, source: EventSource<E>): EventSource<E> {
  let pending: typeof first | undefined = first;
  return {
    next() {
      const events = pending ?? source.next();
      pending = undefined;
      return events;
    },
    get steps() {
      return pending ? undefined : source.steps;
    },
    cancel: () => source.cancel(),
  };
}
