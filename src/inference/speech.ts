/** Speech: which targets make its format, and how it leaves. */
import type { Speech, SpeechEvent, SpeechFormat } from "../canonical/audio.ts";
import { clientClosed, clientStalled, refuseIfStrict, type RequestContext } from "../context/request_context.ts";
import type { Quirks } from "../contract/quirks.ts";
import { toGatewayError } from "../errors.ts";
import { passOn } from "../http/respond.ts";
import { type EventSource, opening, sourceOf } from "../util/event_source.ts";
import type { Answer, Inference, Stage } from "./inference.ts";
import { withTargets } from "./resolve.ts";
import { respondWithStream } from "./stream_response.ts";

type SpeechUsage = Extract<SpeechEvent, { type: "finish" }>["usage"];

/** Tries the targets first that are known to make the requested format. */
export const SPEECH_FORMAT: Stage<"speak"> = {
  name: "speech format",
  operations: ["speak"],
  request(inference) {
    const { plan, input } = inference;
    return { ...inference, plan: withTargets(plan, preferFormat(plan.targets, input.format)) };
  },
};

/** Answers text with speech: bytes as the upstream makes them, or events if the client asked for a stream. */
export async function serveSpeech(
  { protocol, input, exchange, estimate, context }: Inference<"speak">,
  answer: Answer<"speak">,
): Promise<Response> {
  const start = async () => acceptSpeech(await answer.whole(), context);
  // No server reports the tokens of its speech. The tokens of the text are known.
  const usage: SpeechUsage = { inputTokens: estimate, outputTokens: 0, estimated: true };
  if (input.stream) return respondWithStream(protocol, exchange, speechEvents(start, usage), context);
  const speech = await start();
  context.requestLog.settle(usage, () => 0);
  return protocol.serialize(deliverSpeech(speech, context), exchange);
}

/** Accepts speech. Throws if it differs from the request and the client is strict. */
function acceptSpeech(speech: Speech, context: RequestContext): Speech {
  try {
    refuseIfStrict(context);
    return { ...speech, mediaType: context.hide(speech.mediaType) };
  } catch (refusal) {
    if (speech.audio instanceof ReadableStream) speech.audio.cancel().catch(() => {}); // it is not read any more
    throw refusal;
  }
}

/** Streams speech while the upstream makes it. The log entry is written at the end. */
function deliverSpeech(speech: Speech, { gateway, requestLog, leave, hasLeft }: RequestContext): Speech {
  const { audio } = speech;
  if (!(audio instanceof ReadableStream)) return speech;
  const { sendStallMs } = gateway.guards.limits;
  requestLog.firstEvent();
  requestLog.entry.stream = true;
  return {
    ...speech,
    audio: passOn(audio, {
      sendStallMs,
      copy: requestLog.capture?.answer,
      onStall() {
        requestLog.fail(clientStalled(sendStallMs));
        leave();
      },
      onLeave: leave,
      onFailure(thrown) {
        // An answer that ends because the client left has not failed.
        if (!hasLeft()) requestLog.fail(toGatewayError(thrown));
      },
      onEnd: () => requestLog.close(hasLeft() ? clientClosed().status : 200),
    }),
  };
}

/** Speech as the events of a stream. */
function speechEvents(start: () => Promise<Speech>, usage: SpeechUsage): EventSource<SpeechEvent> {
  const finish: SpeechEvent = { type: "finish", usage };
  return opening(async () => {
    const { audio } = await start();
    return audio instanceof Uint8Array ? sourceOf([{ type: "audio", bytes: audio }, finish]) : soundsOf(audio, finish);
  });
}

function soundsOf(audio: ReadableStream<Uint8Array<ArrayBuffer>>, finish: SpeechEvent): EventSource<SpeechEvent> {
  const reader = audio.getReader();
  let isOver = false;
  return {
    async next() {
      if (isOver) return undefined;
      const { done, value } = await reader.read();
      isOver = done;
      return [done ? finish : { type: "audio", bytes: value }];
    },
    async cancel() {
      isOver = true;
      await reader.cancel().catch(() => {}); // it has failed already
    },
  };
}

/** Moves the targets that are known not to support the speech format to the end. */
export function preferFormat<T extends Quirks>(targets: readonly T[], format: SpeechFormat): T[] {
  const makes = ({ speechFormats }: Quirks) => !speechFormats || speechFormats[format] !== undefined;
  return [...targets.filter(makes), ...targets.filter((target) => !makes(target))];
}
