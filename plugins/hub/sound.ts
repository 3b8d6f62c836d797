/** Reads speech of services behind the hub: bytes, base64 inside JSON, or a URL to fetch. */
import { mediaTypeOfSpeech } from "../../src/canonical/media.ts";
import { parseDataUrl, type Speech, type SpeechRequest } from "../../src/canonical/audio.ts";
import { isJsonObject } from "../../src/canonical/json.ts";
import type { Context } from "../../src/contract/context.ts";
import type { Call, Reply } from "../../src/contract/call.ts";
import { GatewayError } from "../../src/errors.ts";
import { refuseFailure } from "./failure.ts";

type Sound = { url: string } | { url?: undefined; bytes: Uint8Array<ArrayBuffer>; mediaType: string | null };

/** The keys under which an answer has its audio, or an object or list with it. */
const SOUND_KEYS = ["audio", "output", "data", "url", "audio_url", "base64", "b64_json", "file_data"];

/** The audio in an answer. Absent if there is none. A plain text is base64 only under a key that means so. */
function soundIn(value: unknown, key?: string): Sound | undefined {
  if (Array.isArray(value)) return soundIn(value[0], key);
  if (isJsonObject(value)) {
    const held = SOUND_KEYS.find((name) => value[name] !== undefined && value[name] !== null);
    return held === undefined ? undefined : soundIn(value[held], held);
  }
  if (typeof value !== "string") return undefined;
  if (/^https?:\/\//i.test(value)) return { url: value };
  const { mediaType = null, base64 = key === undefined ? undefined : value } = parseDataUrl(value) ?? {};
  const bytes = base64 === undefined ? undefined : decode(base64);
  return bytes && { bytes, mediaType };
}

function decode(base64: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    return Uint8Array.fromBase64(base64);
  } catch {
    return undefined;
  }
}

/** The call for the audio, if an answer has only its URL. */
export function soundCall(body: unknown): Call | undefined {
  const sound = soundIn(body);
  return sound?.url === undefined ? undefined : { url: sound.url };
}

/** Throws `upstream_error` if the reply has no audio. */
export function parseSpeech({ body, headers, stream }: Reply, { format }: SpeechRequest, { note }: Context): Speech {
  if (body instanceof Uint8Array) {
    return { mediaType: mediaTypeOfSpeech(body, headers.get("content-type"), format, note), audio: stream ?? body };
  }
  refuseFailure(body);
  const sound = soundIn(body);
  if (!sound || sound.url !== undefined) throw new GatewayError("upstream_error", "The upstream's answer has no audio");
  return { mediaType: mediaTypeOfSpeech(sound.bytes, sound.mediaType, format, note), audio: sound.bytes };
}
