import { mediaTypeOfSpeech } from "../../src/canonical/media.ts";
import { parseDataUrl, type Speech, type SpeechEvent, type SpeechRequest } from "../../src/canonical/audio.ts";
import { asList, isJsonObject } from "../../src/canonical/json.ts";
import type { Context } from "../../src/contract/context.ts";
import type { Reply } from "../../src/contract/call.ts";
import type { Target } from "../../src/contract/driver.ts";
import type { Frame } from "../../src/contract/frame.ts";
import type { StreamWriter } from "../../src/contract/stream.ts";
import { GatewayError } from "../../src/errors.ts";
import { saysError, upstreamStreamError } from "../shared/errors.ts";
import { errorFrame, frame } from "./frames.ts";
import { formatAt } from "./speech_request.ts";

/** Parses an upstream's speech: bytes, which are passed on as they arrive, or base64 inside JSON. */
export function parseSpeech(reply: Reply, input: SpeechRequest, target: Target, context: Context): Speech {
  const { headers, body, stream } = reply;
  const contentType = headers.get("content-type");
  const { bytes, declared } = body instanceof Uint8Array
    ? { bytes: body, declared: contentType }
    : decodeJson(body, contentType);
  const mediaType = mediaTypeOfSpeech(bytes, declared, formatAt(target, input.format), context.note);
  return { mediaType, audio: stream ?? bytes };
}

interface Sound {
  bytes: Uint8Array<ArrayBuffer>;
  declared: string | null;
}

/** Some servers answer `{audio}`, `{base64}` or `{data: [{b64_json}]}`, as base64 or as a data URL. */
function decodeJson(body: unknown, contentType: string | null): Sound {
  if (!isJsonObject(body)) throw noSound(contentType);
  if (saysError(body)) throw upstreamStreamError(body);
  const [first] = asList(body.data);
  const text = [body.audio, body.base64, isJsonObject(first) ? first.b64_json : undefined]
    .find((value) => typeof value === "string");
  if (text === undefined) throw noSound(contentType);
  const { mediaType: declared = null, base64 = text } = parseDataUrl(text) ?? {};
  try {
    return { bytes: Uint8Array.fromBase64(base64), declared };
  } catch {
    throw new GatewayError("upstream_error", "The upstream's audio is not valid base64");
  }
}

function noSound(contentType: string | null): GatewayError {
  return new GatewayError("upstream_error", `The upstream sent ${contentType ?? "text"} instead of audio`);
}

export function serializeSpeech({ mediaType, audio }: Speech): Response {
  return new Response(audio, { headers: { "content-type": mediaType } });
}

/** Writes the bytes in events. The last event has the usage. There is no `[DONE]`. */
export function serializeSpeechStream(): StreamWriter<SpeechEvent> {
  return { write: (event, emit) => emit(serializeSpeechEvent(event)) };
}

function serializeSpeechEvent(event: SpeechEvent): Frame {
  switch (event.type) {
    case "audio":
      return frame({ type: "speech.audio.delta", audio: event.bytes.toBase64() });
    case "finish": {
      const { inputTokens, outputTokens } = event.usage;
      const usage = {
        input_tokens: inputTokens,
        output_tokens: outputTokens,
        total_tokens: inputTokens + outputTokens,
      };
      return frame({ type: "speech.audio.done", usage });
    }
    case "error":
      return errorFrame(event.error);
    default:
      return event satisfies never;
  }
}
