/**
 * The shapes of the audio wire on both sides. Clients' requests are checked against the published schema, and unknown fields are
 * kept. Upstreams' answers are accepted as loosely as possible.
 */
import { z } from "zod";
import { SPEECH_FORMATS, TRANSCRIPT_FORMATS } from "../../src/canonical/audio.ts";
import { double } from "../shared/shapes.ts";

export const WIRE = "audio";

const model = z.string().min(1).max(512);

// What clients send

const speechFields = {
  model,
  input: z.string().min(1),
  /** An object names a custom voice of the user. */
  voice: z.union([z.string().min(1), z.looseObject({ id: z.string().min(1) })]).nullish(),
  response_format: z.enum(SPEECH_FORMATS).nullish(),
  speed: double(z.number().min(0.25).max(4)).nullish(),
  instructions: z.string().nullish(),
  stream_format: z.enum(["audio", "sse"]).nullish(),
};
export const speechSchema = z.looseObject(speechFields);
export const SPEECH_KEYS: ReadonlySet<string> = new Set(Object.keys(speechFields));

/** The text fields of a form. On the wire, all of them are texts. */
const transcriptionFields = {
  model,
  language: z.string().optional(),
  prompt: z.string().optional(),
  response_format: z.enum(TRANSCRIPT_FORMATS).optional(),
  temperature: z.coerce.number({ error: "Expected a number" }).optional(),
  timestamp_granularities: z.array(z.enum(["word", "segment"])).optional(),
  stream: z.stringbool({ truthy: ["true", "1"], falsy: ["false", "0"] }).optional(),
};
export const transcriptionSchema = z.object(transcriptionFields);
export const TRANSCRIPTION_KEYS: ReadonlySet<string> = new Set(Object.keys(transcriptionFields));

// Answers of upstreams

/** Seconds, which vLLM writes as a text. */
const seconds = z.union([z.number(), z.string().regex(/^\d+(\.\d+)?$/).transform(Number)]);

const word = z.looseObject({
  word: z.string().optional(),
  /** DeepInfra's name for it. */
  text: z.string().optional(),
  start: seconds,
  end: seconds,
});
const words = z.array(word).nullish().catch(undefined);
export type WireWord = z.output<typeof word>;

const segmentFields = {
  start: seconds,
  end: seconds,
  text: z.string(),
  speaker: z.union([z.string(), z.number().transform(String)]).nullish(),
};
export const segmentSchema = z.looseObject({
  ...segmentFields,
  /** whisper.cpp puts the words here. */
  words,
});
export type WireSegment = z.output<typeof segmentSchema>;
export const SEGMENT_KEYS: ReadonlySet<string> = new Set([...Object.keys(segmentFields), "type"]);

/** An invalid count is ignored, without affecting the others. */
const tokens = z.int().min(0).nullish().catch(undefined);
const usageFields = {
  type: z.string().nullish(),
  input_tokens: tokens,
  output_tokens: tokens,
  total_tokens: tokens,
  /** vLLM's name in a stream. */
  prompt_tokens: tokens,
  completion_tokens: tokens,
  seconds: z.number().nullish(),
};
const usage = z.looseObject(usageFields);
export type WireUsage = z.output<typeof usage>;
export const USAGE_KEYS: ReadonlySet<string> = new Set(Object.keys(usageFields));

const transcriptFields = {
  type: z.unknown().optional(),
  task: z.unknown().optional(),
  text: z.string().nullish(),
  language: z.string().nullish().catch(undefined),
  duration: seconds.nullish().catch(undefined),
  // Invalid times must not cost the text.
  segments: z.array(segmentSchema).nullish().catch(undefined),
  words,
  usage: usage.nullish().catch(undefined),
};
/** A whole transcript of any format in JSON, or the event that ends a stream. */
export const transcriptSchema = z.looseObject(transcriptFields);
export const TRANSCRIPT_KEYS: ReadonlySet<string> = new Set(Object.keys(transcriptFields));

/** One event of a stream: the wire's own, distinguished by `type`, or vLLM's chunk with `choices`. */
export const eventSchema = z.looseObject({
  type: z.string().nullish(),
  delta: z.string().nullish(),
  text: z.string().nullish(),
  logprobs: z.unknown().optional(),
  choices: z.array(z.looseObject({
    delta: z.looseObject({ content: z.string().nullish() }).nullish(),
  })).nullish(),
  usage: usage.nullish().catch(undefined),
});
export type WireEvent = z.output<typeof eventSchema>;
