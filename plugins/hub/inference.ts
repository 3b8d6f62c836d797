/** The hub's own inference engine (hf-inference). It runs the models of the hub's libraries, each at its own path. */
import type { TranscriptionRequest } from "../../src/canonical/audio.ts";
import { fieldsFor } from "../../src/canonical/extra.ts";
import { asObject, type JsonObject } from "../../src/canonical/json.ts";
import type { Call, Reply } from "../../src/contract/call.ts";
import type { Driver, UpstreamOperation } from "../../src/contract/driver.ts";
import { GatewayError } from "../../src/errors.ts";
import { FILE, jsonWithFile } from "./json_with_file.ts";
import { pathOf } from "./paths.ts";
import { parseTranscript, refuseSpeakers, wantedTimes } from "./segments.ts";
import { parseSpeech } from "./sound.ts";
import { optionsOf, parseRanking, parseVectors, serializeInputs, teiDriver, textsOf } from "./tei.ts";

/** Most embedding models run on Text Embeddings Inference, so errors have its format. */
function parseError(reply: Reply): GatewayError {
  const error = teiDriver.parseError(reply);
  const { code, message, details } = error;
  if (code === "invalid_request" && /content type .+ not supported/i.test(message)) {
    return new GatewayError("unsupported_media_type", message, details);
  }
  // A model that was not used for a while has to be loaded. The answer says how many seconds that takes.
  const { estimated_time } = asObject(reply.body);
  if (code !== "unavailable" || typeof estimated_time !== "number") return error;
  const retryAfter = details.retryAfter ?? String(Math.ceil(estimated_time));
  return new GatewayError(code, message, { ...details, retryAfter });
}

/** Embeddings by the hub's own engine. It does not accept token ids, which another provider of the model may. */
export const featureExtraction: UpstreamOperation<"embed"> = {
  request(input, target, context) {
    const index = input.input.findIndex((one) => typeof one !== "string");
    if (index >= 0) {
      const message = `The hub's own engine embeds only texts, and input ${index} is a list of token ids`;
      throw new GatewayError("unsupported", message, { param: "input" });
    }
    const path = `models/${pathOf(target.model)}/pipeline/feature-extraction`;
    return serializeInputs(input, target, context).map((body) => ({ path, body }));
  },
  response: parseVectors,
};

/** Speech by the hub's own inference engine. A request has only a text, without options. */
export const hubSpeech: UpstreamOperation<"speak"> = {
  request(input, { model }, context) {
    const { text, voice, speed, instructions, extra } = input;
    const left = { voice, speed: speed === 1 ? undefined : speed, instructions };
    for (const [name, value] of Object.entries(left)) if (value !== undefined) context.note(`dropped ${name}`);
    fieldsFor("hub", extra, context.note);
    // If a request accepts JSON, the engine writes the samples as JSON numbers.
    return { path: `models/${pathOf(model)}`, headers: { accept: "*/*" }, body: { inputs: text } };
  },
  response: ([reply], input, _target, context) => parseSpeech(reply!, input, context),
};

/**
 * Rankings by the hub's own engine. The route serves models of the task `text-ranking`, and rerankers that are tagged as classifiers.
 * Its requests have no options.
 */
export const textRanking: UpstreamOperation<"rerank"> = {
  request(input, target, context) {
    optionsOf([], "rerank", input.extra, context);
    const path = `models/${pathOf(target.model)}/pipeline/text-ranking`;
    return textsOf(input, target).map((texts) => ({ path, body: { inputs: { query: input.query, texts } } }));
  },
  response: parseRanking,
};

/** Transcription by the hub's own inference engine, which runs the models of the Transformers library. */
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

/** The parameters that cannot be sent with raw bytes. Absent if raw bytes are enough. Greedy decoding is the default. */
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

/** The media types that the engine accepts for raw bytes. It detects the real format itself. */
const CONTENT_TYPES: readonly string[] = ["audio/flac", "audio/mpeg", "audio/wav", "audio/ogg", "audio/webm"];

function contentTypeOf(mediaType: string): string {
  if (CONTENT_TYPES.includes(mediaType)) return mediaType;
  return /mp4|m4a/.test(mediaType) ? "audio/m4a" : "application/octet-stream";
}

export const inferenceDriver: Driver = {
  name: "hub",
  wire: "hub",
  operations: {
    embed: featureExtraction,
    rerank: textRanking,
    speak: hubSpeech,
    transcribe: hubTranscription,
  },
  parseError,
};
