/** Describes the endpoints of the audio wire and their answers. */
import { z } from "zod";
import { SPEECH_FORMATS, TRANSCRIPT_FORMATS } from "../../src/canonical/audio.ts";
import type { EndpointDescription } from "../../src/contract/description.ts";
import { count, text } from "../shared/descriptions.ts";
import { speechSchema } from "./wire.ts";

const speechEvent = z.discriminatedUnion("type", [
  z.looseObject({ type: z.literal("speech.audio.delta"), audio: z.base64() }),
  z.looseObject({
    type: z.literal("speech.audio.done"),
    usage: z.looseObject({ input_tokens: count, output_tokens: count, total_tokens: count }),
  }),
]);

export const speech: EndpointDescription = {
  summary: "A text read aloud",
  description: `Gives sound as the upstream makes it (${SPEECH_FORMATS.join(", ")}), or as events with ` +
    '`stream_format: "sse"`.',
  request: speechSchema,
  answer: { "audio/*": undefined },
  event: speechEvent,
};

const span = { start: z.number(), end: z.number() };
const transcript = z.looseObject({
  text,
  language: text.optional(),
  duration: z.union([z.number(), text]).optional().meta({ description: "Seconds." }),
  segments: z.array(z.looseObject({ ...span, text })).optional(),
  words: z.array(z.looseObject({ ...span, word: text })).optional(),
});
const transcriptEvent = z.discriminatedUnion("type", [
  z.looseObject({ type: z.literal("transcript.text.delta"), delta: text }),
  z.looseObject({ type: z.literal("transcript.text.segment"), ...span, text }),
  z.looseObject({ type: z.literal("transcript.text.done"), text }),
]);

export const transcription: EndpointDescription = {
  summary: "What is said in a recording",
  description: "Takes a form with a file. Gives JSON, text or subtitles, or the text as it is recognized.",
  request: z.object({
    file: z.file().meta({ description: "The recording." }),
    model: z.string().min(1).max(512),
    language: text.optional().meta({ description: "The language that is spoken, such as en." }),
    prompt: text.optional(),
    response_format: z.enum(TRANSCRIPT_FORMATS).optional(),
    temperature: z.number().optional(),
    "timestamp_granularities[]": z.array(z.enum(["word", "segment"])).optional(),
    stream: z.boolean().optional(),
  }),
  answer: { "application/json": transcript, "text/plain": undefined, "text/vtt": undefined },
  event: transcriptEvent,
};

export const translation: EndpointDescription = {
  ...transcription,
  summary: "What is said in a recording, in English",
};
