/** Transcription at the hub's own inference engine, which runs the models of the Transformers library. */
import type { TranscriptionRequest } from "../../src/canonical/audio.ts";
import { fieldsFor } from "../../src/canonical/extra.ts";
import type { JsonObject } from "../../src/canonical/json.ts";
import type { Call } from "../../src/contract/call.ts";
import type { UpstreamOperation } from "../../src/contract/driver.ts";
import { GatewayError } from "../../src/errors.ts";
import { FILE, jsonWithFile } from "./json_with_file.ts";
import { pathOf } from "./paths.ts";
import { parseTranscript, refuseSpeakers, wantedTimes } from "./segments.ts";

export const hubTranscription: UpstreamOperation<"transcribe"> = {
  request(input, { model }, context): Call {
    if (input.translateTo) throw new GatewayError("unsupported", "hf-inference transcribes and does not translate");
    refuseSpeakers(input, "hf-inference");
    if (input.prompt) context.note("dropped prompt");
    fieldsFor("hub", input.extra, context.note);
    const path = `models/${pathOf(model)}`;
    const parameters = parametersOf(input);
    if (parameters) return { path, body: jsonWithFile({ inputs: FILE, parameters }, input.file.bytes) };
    return { path, headers: { "content-type": contentTypeOf(input.file.mediaType) }, body: input.file.bytes };
  },
  response: ([reply], input) => parseTranscript(reply!.body, input),
};

/** What cannot go beside raw bytes; nothing where they are enough. Greedy decoding is what a model does unasked. */
function parametersOf(input: TranscriptionRequest): JsonObject | undefined {
  const times = wantedTimes(input);
  const { language, temperature } = input;
  const generates = language !== undefined || (temperature ?? 0) > 0;
  if (!times && !generates) return undefined;
  return {
    return_timestamps: times && (times === "word" ? "word" : true),
    generation_parameters: generates ? { language, temperature: temperature || undefined } : undefined,
  };
}

/** The types that the engine takes for raw bytes; it detects by itself what is in them. */
const CONTENT_TYPES: readonly string[] = ["audio/flac", "audio/mpeg", "audio/wav", "audio/ogg", "audio/webm"];

function contentTypeOf(mediaType: string): string {
  if (CONTENT_TYPES.includes(mediaType)) return mediaType;
  return /mp4|m4a/.test(mediaType) ? "audio/m4a" : "application/octet-stream";
}
