/** fal: each model is an app with its own fields. This file has those of its Whisper and of its voices. */
import type { AudioFile } from "../../src/canonical/audio.ts";
import { fieldsFor } from "../../src/canonical/extra.ts";
import type { Reply } from "../../src/contract/call.ts";
import type { Driver, UpstreamOperation } from "../../src/contract/driver.ts";
import { GatewayError } from "../../src/errors.ts";
import { upstreamError, upstreamMessage } from "../shared/errors.ts";
import { resolveVoice } from "../shared/voices.ts";
import { FILE, jsonWithFile } from "./json_with_file.ts";
import { pathOf } from "./paths.ts";
import { parseTranscript, wantedTimes } from "./segments.ts";
import { parseSpeech, soundCall } from "./sound.ts";

const speak: UpstreamOperation<"speak"> = {
  request(input, target, context) {
    const { text, speed, instructions, extra } = input;
    if (instructions !== undefined) context.note("dropped instructions");
    fieldsFor("fal", extra, context.note);
    // Some apps read one name and some the other. All of them ignore unknown fields.
    return {
      path: pathOf(target.model),
      body: { text, prompt: text, voice: resolveVoice(input.voice, target, context.note), speed },
    };
  },
  next: ({ body }, _input, step) => step === 0 ? soundCall(body) : undefined,
  response: ([reply], input, _target, context) => parseSpeech(reply!, input, context),
};

const transcribe: UpstreamOperation<"transcribe"> = {
  request(input, { model }, context) {
    if (input.temperature) context.note("dropped temperature");
    fieldsFor("fal", input.extra, context.note);
    return {
      path: pathOf(model),
      body: jsonWithFile({
        audio_url: `data:${labelOf(input.file)};base64,${FILE}`,
        task: input.translateTo ? "translate" : "transcribe",
        // Without this field, one of the apps treats every file as English. With null it detects the language.
        language: input.language ?? null,
        prompt: input.prompt,
        chunk_level: wantedTimes(input),
        diarize: input.format === "diarized_json" || undefined,
      }, input.file.bytes),
    };
  },
  response: ([reply], input) => parseTranscript(reply!.body, input),
};

/**
 * The media type by which each format is accepted. fal derives a file name extension from it, and refuses types without a known one,
 * such as `audio/wav` and `audio/mp4`.
 */
const LABELS: Readonly<Record<string, string>> = {
  "audio/mpeg": "audio/mpeg",
  "audio/mp3": "audio/mpeg",
  "audio/wav": "audio/x-wav",
  "audio/x-wav": "audio/x-wav",
  "audio/mp4": "video/mp4",
  "audio/m4a": "video/mp4",
  "audio/x-m4a": "video/mp4",
  "video/mp4": "video/mp4",
  "audio/webm": "video/webm",
  "video/webm": "video/webm",
};

function labelOf({ mediaType }: AudioFile): string {
  const [type = ""] = mediaType.split(";");
  const label = Object.hasOwn(LABELS, type) ? LABELS[type] : undefined;
  if (label === undefined) throw refusedFormat(`This file is "${mediaType}"`);
  return label;
}

function refusedFormat(why: string): GatewayError {
  const message = `${why}, and fal takes mp3, mp4, mpeg, mpga, m4a, wav and webm`;
  return new GatewayError("unsupported_media_type", message, { param: "file" });
}

function parseError(reply: Reply): GatewayError {
  const message = upstreamMessage(reply.body);
  return /unsupported data url/i.test(message) ? refusedFormat("The file was refused") : upstreamError(reply);
}

export const falDriver: Driver = {
  name: "fal",
  wire: "fal",
  operations: { speak, transcribe },
  parseError,
};
