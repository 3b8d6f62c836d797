import { SPEECH_FORMATS, type SpeechFormat, type SpeechRequest } from "../../src/canonical/audio.ts";
import { type Extra, extraOf, fieldsFor } from "../../src/canonical/extra.ts";
import { type JsonObject, present } from "../../src/canonical/json.ts";
import type { Context } from "../../src/contract/context.ts";
import type { Target } from "../../src/contract/driver.ts";
import { validate } from "../../src/contract/validate.ts";
import { resolveVoice } from "../shared/voices.ts";
import { SPEECH_KEYS, speechSchema, WIRE } from "./wire.ts";

/** A client's request for speech. `null` means absent, as the vendor's SDK has it. */
export function parseSpeechRequest(body: unknown): SpeechRequest {
  const request = validate(speechSchema, body);
  const { model, input, voice, response_format, stream_format } = request;
  const format = response_format ?? "mp3";
  const extra = parseExtra(request, format, stream_format !== null && stream_format !== undefined);
  return {
    model,
    text: input,
    ...present("voice", typeof voice === "object" ? voice?.id : voice),
    format,
    ...present("speed", request.speed),
    ...present("instructions", request.instructions),
    stream: stream_format === "sse",
    ...(extra && { extra }),
  };
}

/**
 * Passes the wish to stream on to servers that stream only on request (vLLM-Omni), in the two formats for which they accept it. The
 * gateway itself wraps the bytes in events, because the events of servers do not always contain the requested format.
 */
function parseExtra(request: object, format: SpeechFormat, streams: boolean): Extra | undefined {
  const extra = extraOf(WIRE, request, SPEECH_KEYS);
  if (!streams || (format !== "pcm" && format !== "wav")) return extra;
  return { wire: WIRE, fields: extra?.fields ?? {}, hints: { stream_format: "audio" } };
}

/** Serializes the body for a server of this wire. Requested options that it does not support are noted. */
export function serializeSpeechRequest(input: SpeechRequest, target: Target, context: Context): JsonObject {
  const format = formatAt(target, input.format);
  if (format !== input.format) context.note(`delivered ${format} in place of ${input.format}`);
  return {
    model: target.model,
    input: input.text,
    voice: resolveVoice(input.voice, target, context.note),
    response_format: target.speechFormats?.[format] ?? format,
    speed: input.speed,
    instructions: input.instructions,
    ...fieldsFor(WIRE, input.extra, context.note),
  };
}

/** The format to request from the target: the client's, or else the first one that it supports. */
export function formatAt({ speechFormats }: Target, wanted: SpeechFormat): SpeechFormat {
  if (!speechFormats || speechFormats[wanted] !== undefined) return wanted;
  return SPEECH_FORMATS.find((format) => speechFormats[format] !== undefined) ?? wanted;
}
