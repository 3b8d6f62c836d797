import { assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { parseTranscript, serializeTranscript } from "../../../plugins/audio/transcript.ts";
import type { Transcript, TranscriptFormat, TranscriptionRequest } from "../../../src/canonical/audio.ts";
import type { JsonValue } from "../../../src/canonical/json.ts";
import { GatewayError } from "../../../src/errors.ts";
import { newContext } from "../../support/context.ts";
import { bytesOf, replyOf, transcriptionOf } from "./support.ts";

const extra = (fields: Record<string, JsonValue>) => ({ extra: { wire: "audio", fields } });

/** A segment as Whisper's servers tell it. */
const WIRE_SEGMENT = {
  id: 0,
  seek: 0,
  start: 0,
  end: 1.5,
  text: " Hello.",
  tokens: [50364, 2425],
  temperature: 0,
  avg_logprob: -0.25,
  compression_ratio: 0.6,
  no_speech_prob: 0.01,
};
const { start, end, text, ...MORE } = WIRE_SEGMENT;
const SEGMENT = { start, end, text, ...extra(MORE) };
const WORD = { word: "Hello.", start: 0, end: 1.5 };

const READ: [what: string, body: JsonValue | Uint8Array<ArrayBuffer>, type: string, transcript: Transcript][] = [
  ["together, json", { text: "Hello." }, "application/json", { text: "Hello." }],
  [
    "vLLM, json: usage in seconds",
    { text: " Hello.", usage: { type: "duration", seconds: 2 } },
    "application/json",
    { text: " Hello.", usage: { seconds: 2 } },
  ],
  [
    "json with usage in tokens and log probabilities",
    {
      text: "Hello.",
      logprobs: [{ token: "Hello", logprob: -0.1 }],
      usage: {
        type: "tokens",
        input_tokens: 14,
        output_tokens: 3,
        total_tokens: 17,
        input_token_details: { audio_tokens: 14 },
      },
    },
    "application/json",
    {
      text: "Hello.",
      usage: { inputTokens: 14, outputTokens: 3 },
      ...extra({ logprobs: [{ token: "Hello", logprob: -0.1 }], "usage.input_token_details": { audio_tokens: 14 } }),
    },
  ],
  [
    "speaches, verbose: no words",
    { task: null, language: "en", duration: 1.5, text: "Hello.", segments: [WIRE_SEGMENT], words: null, usage: null },
    "application/json",
    { text: "Hello.", language: "en", duration: 1.5, segments: [SEGMENT] },
  ],
  [
    "vLLM, verbose: the duration is a text",
    {
      duration: "1.5",
      language: "en",
      text: " Hello.",
      segments: [{ ...WIRE_SEGMENT, no_speech_prob: null }],
      words: null,
    },
    "application/json",
    {
      text: " Hello.",
      language: "en",
      duration: 1.5,
      segments: [{
        ...SEGMENT,
        ...extra(Object.fromEntries(Object.entries(MORE).filter(([key]) => key !== "no_speech_prob"))),
      }],
    },
  ],
  [
    "together, verbose with words",
    {
      task: "transcribe",
      language: "en",
      duration: 1.5,
      text: "Hello.",
      segments: [{ start, end, text }],
      words: [WORD],
    },
    "application/json",
    { text: "Hello.", language: "en", duration: 1.5, segments: [{ start, end, text }], words: [WORD] },
  ],
  [
    "DeepInfra: words by another name",
    {
      text: "Hello.",
      segments: [{ id: 7, start, end, text }],
      words: [{ start, end, text: "Hello." }],
      input_length_ms: 1500,
    },
    "application/json",
    {
      text: "Hello.",
      segments: [{ start, end, text, ...extra({ id: 7 }) }],
      words: [WORD],
      ...extra({ input_length_ms: 1500 }),
    },
  ],
  [
    "whisper.cpp: words inside segments",
    { text: "Hello.", segments: [{ start, end, text, words: [{ ...WORD, probability: 0.9 }] }] },
    "application/json",
    {
      text: "Hello.",
      segments: [{ start, end, text, ...extra({ words: [{ ...WORD, probability: 0.9 }] }) }],
      words: [WORD],
    },
  ],
  [
    "LocalAI: nanoseconds",
    {
      text: "Hello. Bye.",
      segments: [{ start: 0, end: 1_500_000_000, text }, { start: 1_500_000_000, end: 2e9, text: " Bye." }],
    },
    "application/json",
    { text: "Hello. Bye.", segments: [{ start, end, text }, { start: 1.5, end: 2, text: " Bye." }] },
  ],
  [
    "who speaks",
    {
      task: "transcribe",
      duration: 3,
      text: "Hello. Bye.",
      segments: [{ id: "seg_9", type: "transcript.text.segment", speaker: "A", start, end, text }, {
        speaker: 1,
        start: 2,
        end: 3,
        text: "Bye.",
      }],
    },
    "application/json",
    {
      text: "Hello. Bye.",
      duration: 3,
      segments: [{ start, end, text, speaker: "A", ...extra({ id: "seg_9" }) }, {
        start: 2,
        end: 3,
        text: "Bye.",
        speaker: "1",
      }],
    },
  ],
  ["segments without the whole text", { segments: [{ start, end, text }] }, "application/json", {
    text: "Hello.",
    segments: [{ start, end, text }],
  }],
  [
    "times that make no sense",
    { text: "Hello.", segments: [{ start: null, end, text }], duration: "long" },
    "application/json",
    { text: "Hello." },
  ],
  ["silence", { text: "", segments: [] }, "application/json", { text: "", segments: [] }],
  ["plain text although JSON was asked for", "Hello.\n", "text/plain; charset=utf-8", { text: "Hello." }],
  ["plain text in brackets", "[Music]", "text/plain", { text: "[Music]" }],
  ["plain text that is a number", 42, "text/plain", { text: "42" }],
  ["plain silence", "", "text/plain", { text: "" }],
  ["a JSON string", "Hello.", "application/json", { text: "Hello." }],
];
for (const [what, body, type, transcript] of READ) {
  Deno.test(`audio: transcript from an upstream: ${what}`, () => {
    assertEquals(parseTranscript(replyOf(body, type)), transcript);
  });
}

const BROKEN: [what: string, body: JsonValue | Uint8Array<ArrayBuffer>, type: string, message?: string][] = [
  ["nothing", "", "application/json"],
  ["a page", "<!DOCTYPE html><title>Hi</title>", "text/html"],
  ["JSON that is cut off", '{"text": "Hel', "application/json"],
  ["a list", ["Hello."], "application/json"],
  ["null", null, "application/json"],
  ["bytes", bytesOf("Hello."), "application/octet-stream"],
  ["no text", { duration: 1 }, "application/json"],
  ["a text that is none", { text: { value: "Hello." } }, "application/json"],
  ["an error with status 200", { error: { message: "Out of memory" } }, "application/json", "Out of memory"],
  [
    "a stream although none was asked for",
    'data: {"type":"transcript.text.done","text":"Hi"}\n\n',
    "text/event-stream",
  ],
];
for (const [what, body, type, message = "not a transcript"] of BROKEN) {
  Deno.test(`audio: transcript from an upstream: ${what} is its failure`, () => {
    const error = assertThrows(() => parseTranscript(replyOf(body, type)), GatewayError);
    assertEquals(error.code, "upstream_error");
    assertStringIncludes(error.message, message);
  });
}

const WHOLE: Transcript = {
  text: "Hello.",
  language: "en",
  duration: 1.5,
  segments: [SEGMENT],
  usage: { seconds: 2 },
  ...extra({ logprobs: [1] }),
};
const SPOKEN: Transcript = { text: "Hello.", duration: 1.5, segments: [{ start, end, text, speaker: "A" }] };

const JSON_TYPE = "application/json";
const WRITTEN: [
  what: string,
  transcript: Transcript,
  input: Partial<TranscriptionRequest>,
  type: string,
  body: JsonValue,
  notes?: string[],
][] = [
  ["json", WHOLE, {}, JSON_TYPE, { text: "Hello.", logprobs: [1], usage: { type: "duration", seconds: 2 } }],
  ["json of which no more is known", { text: "Hello." }, {}, JSON_TYPE, { text: "Hello." }],
  [
    "usage in tokens, with its details",
    {
      text: "Hello.",
      usage: { inputTokens: 14, outputTokens: 3 },
      ...extra({ "usage.input_token_details": { audio_tokens: 14 } }),
    },
    {},
    JSON_TYPE,
    {
      text: "Hello.",
      usage: {
        type: "tokens",
        input_tokens: 14,
        output_tokens: 3,
        total_tokens: 17,
        input_token_details: { audio_tokens: 14 },
      },
    },
  ],
  [
    "another wire's extra stays behind",
    { text: "Hello.", extra: { wire: "elsewhere", fields: { odd: 1 } } },
    {},
    JSON_TYPE,
    { text: "Hello." },
  ],
  ["text", WHOLE, { format: "text" }, "text/plain; charset=utf-8", "Hello."],
  ["srt", WHOLE, { format: "srt" }, "text/plain; charset=utf-8", "1\n00:00:00,000 --> 00:00:01,500\nHello.\n"],
  ["vtt", WHOLE, { format: "vtt" }, "text/vtt; charset=utf-8", "WEBVTT\n\n00:00:00.000 --> 00:00:01.500\nHello.\n"],
  [
    "srt of a server without segments, by how long it says that the recording is",
    { text: "Hello.", duration: 1.5 },
    { format: "srt" },
    "text/plain; charset=utf-8",
    "1\n00:00:00,000 --> 00:00:01,500\nHello.\n",
    ["returned the whole recording as one segment"],
  ],
  [
    "vtt of a server without segments, by the seconds that it counts",
    { text: "Hello.", segments: [], usage: { seconds: 2 } },
    { format: "vtt" },
    "text/vtt; charset=utf-8",
    "WEBVTT\n\n00:00:00.000 --> 00:00:02.000\nHello.\n",
    ["returned the whole recording as one segment"],
  ],
  [
    "verbose: a server without segments",
    { text: "Hello.", duration: 1.5 },
    { format: "verbose_json" },
    JSON_TYPE,
    { task: "transcribe", duration: 1.5, text: "Hello." },
    ["dropped segments"],
  ],
  ["srt of silence", { text: "" }, { format: "srt" }, "text/plain; charset=utf-8", ""],
  ["vtt of silence", { text: " ", segments: [] }, { format: "vtt" }, "text/vtt; charset=utf-8", "WEBVTT\n"],
  [
    "verbose: all that was said of a segment",
    WHOLE,
    { format: "verbose_json" },
    JSON_TYPE,
    {
      task: "transcribe",
      language: "en",
      duration: 1.5,
      text: "Hello.",
      segments: [WIRE_SEGMENT],
      logprobs: [1],
      usage: { type: "duration", seconds: 2 },
    },
  ],
  [
    "verbose: nothing is invented but ids",
    { text: "Hello. Bye.", segments: [{ start, end, text }, { start: 2, end: 3, text: " Bye." }] },
    { format: "verbose_json", translateTo: "en" },
    JSON_TYPE,
    {
      task: "translate",
      text: "Hello. Bye.",
      segments: [{ id: 0, start, end, text }, { id: 1, start: 2, end: 3, text: " Bye." }],
    },
  ],
  [
    "verbose: the language that the client told",
    { text: "Hallo.", segments: [{ start, end, text: "Hallo." }] },
    { format: "verbose_json", language: "de" },
    JSON_TYPE,
    { task: "transcribe", language: "de", text: "Hallo.", segments: [{ id: 0, start, end, text: "Hallo." }] },
  ],
  [
    "verbose: words alone, as asked",
    { text: "Hello.", words: [WORD] },
    { format: "verbose_json", timestamps: ["word"] },
    JSON_TYPE,
    { task: "transcribe", text: "Hello.", words: [WORD] },
  ],
  [
    "verbose: words that the upstream does not tell",
    { text: "Hello.", segments: [{ start, end, text }] },
    { format: "verbose_json", timestamps: ["word", "segment"] },
    JSON_TYPE,
    { task: "transcribe", text: "Hello.", segments: [{ id: 0, start, end, text }] },
    ["dropped timestamp_granularities word"],
  ],
  [
    "who speaks",
    SPOKEN,
    { format: "diarized_json" },
    JSON_TYPE,
    {
      task: "transcribe",
      duration: 1.5,
      text: "Hello.",
      segments: [{ type: "transcript.text.segment", id: "seg_0", start, end, text, speaker: "A" }],
    },
  ],
];
for (const [what, transcript, input, type, body, notes = []] of WRITTEN) {
  Deno.test(`audio: transcript for a client: ${what}`, async () => {
    const context = newContext("audio");
    const response = serializeTranscript(transcript, transcriptionOf(input), context);
    assertEquals(response.headers.get("content-type"), type);
    assertEquals(type === JSON_TYPE ? await response.json() : await response.text(), body);
    assertEquals(context.notes, notes);
  });
}

const UNTOLD: [
  what: string,
  transcript: Transcript,
  input: { format: TranscriptFormat; timestamps?: ("word" | "segment")[] },
][] = [
  ["srt without times", { text: "Hello." }, { format: "srt" }],
  ["vtt without segments", { text: "Hello.", segments: [] }, { format: "vtt" }],
  ["verbose with segments that the model does not tell", { text: "Hello.", words: [WORD] }, {
    format: "verbose_json",
    timestamps: ["segment"],
  }],
  ["verbose without any words", { text: "Hello." }, { format: "verbose_json", timestamps: ["word"] }],
  ["who speaks without speakers", { text: "Hello.", segments: [{ start, end, text }] }, { format: "diarized_json" }],
];
for (const [what, transcript, input] of UNTOLD) {
  Deno.test(`audio: transcript for a client: ${what} is refused`, () => {
    const write = () => serializeTranscript(transcript, transcriptionOf(input), newContext("audio"));
    const error = assertThrows(write, GatewayError);
    assertEquals([error.code, error.details.param], ["invalid_request", "response_format"]);
    assertStringIncludes(error.message, input.format);
  });
}
