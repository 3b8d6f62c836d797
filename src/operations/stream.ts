/** An answer that is told step by step, as its client reads it. */
import type { StreamEvent } from "../canonical/operations.ts";
import type { ToldUsage } from "../canonical/usage.ts";
import { clientClosed, clientStalled, type RequestContext } from "../context/request_context.ts";
import { withoutSecrets } from "../context/secrets.ts";
import type { Exchange } from "../contract/context.ts";
import type { Frame } from "../contract/frame.ts";
import type { Protocol } from "../contract/protocol.ts";
import { GatewayError, toGatewayError } from "../errors.ts";
import { formatNotes } from "../http/notes.ts";
import { streamResponse } from "../http/respond.ts";
import { guard } from "../upstream/guard.ts";
import { framesOf } from "../upstream/stages.ts";
import { weighRelayed, withoutEventSecrets } from "./carried.ts";
import { learn } from "./counting.ts";

/** The operations whose answers can be told step by step. */
export type Streamed = "generate" | "relay" | "speak" | "transcribe";

/**
 * The commit point of a stream: its head goes out once an upstream has said something, so that a failure before it has a proper
 * status, and the head names who serves; an upstream that is silent for long is not waited for, because proxies and clients give up on a silent gateway.
 */
export async function respondWithStream<K extends Streamed>(
  protocol: Protocol<K>,
  exchange: Exchange<K>,
  told: AsyncIterable<StreamEvent<K>>,
  context: RequestContext,
  through = (events: AsyncGenerator<StreamEvent<K>>): AsyncGenerator<StreamEvent<K>> => events,
): Promise<Response> {
  const { gateway, recorder } = context;
  recorder.entry.stream = true;
  let ending = false;
  let finished = false;
  const guarded = guard(
    told,
    (event) => {
      if (event.type !== "error") {
        recorder.firstEvent();
        recorder.isAnswered = true;
      }
      recorder.emittedTokens += tokensOf(event);
      if (event.type === "finish") {
        const usage = usageOf(event);
        if (usage) recorder.settle(usage, () => recorder.emittedTokens);
        learn(usage, recorder.attempt, gateway);
        finished = true;
      } else if (event.type === "start") {
        const { counted } = recorder.attempt ?? {};
        recorder.countedBy = counted?.used ? counted.by : "upstream";
      }
      if (event.type === "error") recorder.fail(event.error);
      ending ||= event.type === "finish" || event.type === "error";
    },
    (error) => withoutSecrets(error, context.hide),
    (event) => withoutEventSecrets<K>(event, context.hide),
  );
  const events = through(guarded);
  const first = events.next();
  const early = await Promise.race([first, silence(first, gateway.pace.headAfterMs)]);
  if (early?.value?.type === "error") throw early.value.error;

  const frames = framesFor(protocol, resume(first, events), exchange);
  const said = new Set(recorder.notes());
  return streamResponse(frames, {
    keepAlive: () => protocol.keepAlive?.(exchange.frames),
    keepAliveMs: gateway.pace.keepAliveMs,
    interject(): Frame | undefined {
      const late = ending ? recorder.notes().filter((note) => !said.has(note)) : [];
      if (late.length === 0) return undefined;
      for (const note of late) said.add(note);
      return { comment: `notes: ${formatNotes(late)}` };
    },
    sendStallMs: gateway.limits.sendStallMs,
    onStall() {
      // All was said, only the last of it was not taken.
      if (finished) return;
      recorder.fail(clientStalled(gateway.limits.sendStallMs));
      context.leave();
    },
    onLeave: context.leave,
    onFailure: (thrown) => recorder.fail(toGatewayError(thrown)),
    onEnd() {
      // An SDK leaves with the last frame, before the connection ends.
      recorder.close(context.hasLeft() && !finished ? clientClosed().status : 200);
      // A client may leave before the serializer has begun, which then would not end them.
      void events.return(undefined);
    },
  });
}

function framesFor<K extends Streamed>(
  protocol: Protocol<K>,
  events: AsyncGenerator<StreamEvent<K>>,
  exchange: Exchange<K>,
): AsyncIterable<Frame> {
  if (protocol.stream) return framesOf(events, protocol.stream.writer(exchange));
  throw new GatewayError("unsupported", `"${protocol.name}" does not stream`);
}

/** Tokens that an event tells, estimated in little time: what they were is known at the end, if it comes to that. */
function tokensOf(event: StreamEvent<Streamed>): number {
  switch (event.type) {
    case "part-delta":
      return event.delta.text.length / CHARACTERS_PER_TOKEN;
    case "delta":
      return event.text.length / CHARACTERS_PER_TOKEN;
    case "frame":
      return weighRelayed(event.body);
    default:
      return 0;
  }
}

const CHARACTERS_PER_TOKEN = 4;

function usageOf(event: StreamEvent<Streamed> & { type: "finish" }): ToldUsage | undefined {
  if ("usage" in event) return event.usage;
  const usage = "transcript" in event ? event.transcript.usage : undefined;
  return usage && "inputTokens" in usage ? usage : undefined;
}

/** Nothing, after `ms`; cut short by what it waits for, so that no timer is left. */
async function silence(until: Promise<unknown>, ms: number): Promise<undefined> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  await Promise.race([until, new Promise((resolve) => timer = setTimeout(resolve, ms))]);
  clearTimeout(timer);
}

async function* resume<E>(first: Promise<IteratorResult<E>>, rest: AsyncIterable<E>): AsyncGenerator<E> {
  const { done, value } = await first;
  if (done) return;
  yield value;
  yield* rest;
}
