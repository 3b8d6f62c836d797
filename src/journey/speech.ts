/** Speech on its way to the client. */
import type { Speech, SpeechEvent } from "../canonical/audio.ts";
import { toGatewayError } from "../errors.ts";
import { passOn } from "../http/respond.ts";
import { clientClosed, clientStalled, closeLog, type Journey, record, refuseIfStrict } from "./journey.ts";

/** Speech that is not what was wanted is refused where the client is strict. */
export function acceptSpeech(speech: Speech, journey: Journey): Speech {
  try {
    refuseIfStrict(journey);
    return { ...speech, mediaType: journey.hide(speech.mediaType) };
  } catch (refusal) {
    if (speech.audio instanceof ReadableStream) speech.audio.cancel().catch(() => {}); // nobody hears it any more
    throw refusal;
  }
}

/** What comes as the upstream makes it goes out so, and its log entry waits for the end. */
export function deliverSpeech(speech: Speech, journey: Journey): Speech {
  const { audio } = speech;
  if (!(audio instanceof ReadableStream)) return speech;
  journey.entry.firstEventMs = journey.elapsed();
  journey.entry.stream = true;
  return {
    ...speech,
    audio: passOn(audio, {
      sendStallMs: journey.gateway.limits.sendStallMs,
      onStall() {
        record(clientStalled(journey.gateway.limits.sendStallMs), journey);
        journey.leave();
      },
      onLeave: journey.leave,
      onFailure: (thrown) => record(toGatewayError(thrown), journey),
      onEnd: () => closeLog(journey, journey.hasLeft() ? clientClosed().status : 200),
    }),
  };
}

export type SpeechUsage = Extract<SpeechEvent, { type: "finish" }>["usage"];

export async function* speechEvents(start: () => Promise<Speech>, usage: SpeechUsage): AsyncGenerator<SpeechEvent> {
  const { audio } = await start();
  if (audio instanceof Uint8Array) yield { type: "audio", bytes: audio };
  else for await (const bytes of audio) yield { type: "audio", bytes };
  yield { type: "finish", usage };
}
