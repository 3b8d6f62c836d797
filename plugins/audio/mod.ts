/**
 * The wire of speech, transcription and translation, as protocols for clients and as a driver for OpenAI-compatible servers. Three
 * endpoints make up the wire, so its files are named after their data, and each of them both parses and serializes.
 */
import type { FormField } from "../../src/contract/context.ts";
import type { Driver } from "../../src/contract/driver.ts";
import { PathPattern } from "../../src/contract/path_pattern.ts";
import type { AnyProtocol, Protocol } from "../../src/contract/protocol.ts";
import { serializeAllowance, serializeError, upstreamError } from "../shared/errors.ts";
import { parseSpeech, serializeSpeech, serializeSpeechStream } from "./speech.ts";
import { parseSpeechRequest, serializeSpeechRequest } from "./speech_request.ts";
import { parseTranscript, serializeTranscript } from "./transcript.ts";
import { parseTranscriptStream, serializeTranscriptStream } from "./transcript_stream.ts";
import { parseTranscriptionRequest, serializeTranscriptionRequest } from "./transcription_request.ts";
import { WIRE } from "./wire.ts";

const speech: Protocol<"speak"> = {
  name: "speech",
  describe: async () => (await import("./description.ts")).speech,
  wire: WIRE,
  operation: "speak",
  method: "POST",
  pattern: new PathPattern("/:lane/v1/audio/speech"),
  body: "json",
  parse: ({ body }) => parseSpeechRequest(body),
  serialize: serializeSpeech,
  stream: { framing: "sse", writer: serializeSpeechStream },
  serializeAllowance,
  serializeError,
};

const transcriptions: Protocol<"transcribe"> = {
  name: "transcriptions",
  describe: async () => (await import("./description.ts")).transcription,
  wire: WIRE,
  operation: "transcribe",
  method: "POST",
  pattern: new PathPattern("/:lane/v1/audio/transcriptions"),
  body: "form",
  parse: ({ body }, context) => parseTranscriptionRequest(body as FormField[], context),
  serialize: (output, exchange) => serializeTranscript(output, exchange.input, exchange),
  stream: { framing: "sse", writer: serializeTranscriptStream },
  serializeAllowance,
  serializeError,
};

const translations: Protocol<"transcribe"> = {
  ...transcriptions,
  name: "translations",
  describe: async () => (await import("./description.ts")).translation,
  pattern: new PathPattern("/:lane/v1/audio/translations"),
  parse: ({ body }, context) => parseTranscriptionRequest(body as FormField[], context, "en"),
};

/** For clients whose base address has no lane. */
const translationsAnyLane: Protocol<"transcribe"> = {
  ...translations,
  name: "translations-any-lane",
  pattern: new PathPattern("/v1/audio/translations"),
};

export const audioProtocols: readonly AnyProtocol[] = [speech, transcriptions, translations, translationsAnyLane];

/** Any server that speaks this wire: speaches, Kokoro-FastAPI, vLLM, vLLM-Omni, Together, DeepInfra, LocalAI. */
export const audioDriver: Driver = {
  name: WIRE,
  wire: WIRE,
  operations: {
    speak: {
      request: (input, target, context) => ({
        path: "audio/speech",
        headers: { accept: "audio/*, */*;q=0.5" },
        body: serializeSpeechRequest(input, target, context),
      }),
      response: ([reply], input, target, context) => parseSpeech(reply!, input, target, context),
    },
    transcribe: {
      request: (input, target, context) => ({
        path: input.translateTo ? "audio/translations" : "audio/transcriptions",
        form: serializeTranscriptionRequest(input, target, context),
      }),
      response: ([reply]) => parseTranscript(reply!),
      stream: { framing: "sse", reader: parseTranscriptStream },
    },
  },
  parseError: upstreamError,
};
