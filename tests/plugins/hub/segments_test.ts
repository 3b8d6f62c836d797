import { assertEquals } from "@std/assert";
import type { TranscriptionRequest } from "../../../src/canonical/audio.ts";
import { parseTranscript } from "../../../plugins/hub/segments.ts";
import { failure, newTranscription } from "./audio.ts";

const VERBOSE = newTranscription({ format: "verbose_json" });
const WORDS = newTranscription({ format: "verbose_json", timestamps: ["word"] });
const BOTH = newTranscription({ format: "verbose_json", timestamps: ["word", "segment"] });
const ENGLISH = newTranscription({ translateTo: "en" });

const words = [
  { text: " Good", timestamp: [0, 0.4] },
  { text: " day.", timestamp: [0.4, 1] },
  { text: " Bye", timestamp: [1.5, null] },
];

const cases: [name: string, output: unknown, input: TranscriptionRequest, expected: object][] = [
  ["a text", " Good day", VERBOSE, { text: "Good day" }],
  ["a text that is a number", 42, VERBOSE, { text: "42" }],
  ["a list of one text", ["Good day"], VERBOSE, { text: "Good day" }],
  ["a list of pieces of a text", ["Good", " day"], VERBOSE, { text: "Good day" }],
  ["an object with a text", { text: " Good day " }, VERBOSE, { text: "Good day" }],
  ["an object in a list", [{ text: "Good day" }], VERBOSE, { text: "Good day" }],
  ["a text under output", { output: "Good day" }, VERBOSE, { text: "Good day" }],
  ["silence", { text: "", chunks: [] }, VERBOSE, { text: "" }],
  [
    "chunks",
    {
      text: " Good day. Bye",
      chunks: [{ text: " Good day.", timestamp: [0, 1.2] }, { text: " Bye", timestamp: [1.5, 2] }],
    },
    VERBOSE,
    {
      text: "Good day. Bye",
      segments: [{ start: 0, end: 1.2, text: "Good day." }, { start: 1.5, end: 2, text: "Bye" }],
    },
  ],
  ["a last chunk without an end", { text: "a", chunks: [{ text: "a", timestamp: [3, null] }] }, VERBOSE, {
    text: "a",
    segments: [{ start: 3, end: 3, text: "a" }],
  }],
  [
    "chunks without times between others",
    {
      text: "a b c",
      chunks: [
        { text: "a", timestamp: [0, null] },
        { text: "b", timestamp: [null, null] },
        { text: "c", timestamp: [2, 3] },
      ],
    },
    VERBOSE,
    {
      text: "a b c",
      segments: [{ start: 0, end: 2, text: "a" }, { start: 2, end: 2, text: "b" }, { start: 2, end: 3, text: "c" }],
    },
  ],
  [
    "segments without a text of the whole",
    {
      detected_language: "de",
      segments: [{ start: 0, end: 1, text: " Guten" }, { start: 1, end: 2, text: " Tag" }],
    },
    VERBOSE,
    {
      text: "Guten Tag",
      language: "de",
      segments: [{ start: 0, end: 1, text: "Guten" }, { start: 1, end: 2, text: "Tag" }],
    },
  ],
  ["words", { text: " Good day. Bye", chunks: words }, WORDS, {
    text: "Good day. Bye",
    words: [
      { word: "Good", start: 0, end: 0.4 },
      { word: "day.", start: 0.4, end: 1 },
      { word: "Bye", start: 1.5, end: 1.5 },
    ],
  }],
  ["words that are to be segments too", { text: " Good day. Bye", chunks: words }, BOTH, {
    text: "Good day. Bye",
    segments: [{ start: 0, end: 1, text: "Good day." }, { start: 1.5, end: 1.5, text: "Bye" }],
    words: [
      { word: "Good", start: 0, end: 0.4 },
      { word: "day.", start: 0.4, end: 1 },
      { word: "Bye", start: 1.5, end: 1.5 },
    ],
  }],
  [
    "words without the spaces between them",
    {
      text: "Good day",
      chunks: [{ text: "Good", timestamp: [0, 1] }, { text: "day", timestamp: [1, 2] }],
    },
    BOTH,
    {
      text: "Good day",
      segments: [{ start: 0, end: 2, text: "Good day" }],
      words: [{ word: "Good", start: 0, end: 1 }, { word: "day", start: 1, end: 2 }],
    },
  ],
  ["longer pieces in place of words", { text: "Good day", chunks: [{ text: "Good day", timestamp: [0, 1] }] }, WORDS, {
    text: "Good day",
    segments: [{ start: 0, end: 1, text: "Good day" }],
  }],
  [
    "words inside segments",
    {
      segments: [{ start: 0, end: 1, text: "Room 7", words: [{ word: "Room", start: 0, end: 0.5 }, { word: "7" }] }],
    },
    WORDS,
    {
      text: "Room 7",
      segments: [{ start: 0, end: 1, text: "Room 7" }],
      words: [{ word: "Room", start: 0, end: 0.5 }, { word: "7", start: 0.5, end: 0.5 }],
    },
  ],
  [
    "who speaks",
    {
      text: "Hi. Yes?",
      inferred_languages: ["en"],
      chunks: [
        { text: "Hi.", timestamp: [0, 1], speaker: "SPEAKER_00" },
        { text: " Yes?", timestamp: [1, 2], speaker: "SPEAKER_01" },
      ],
    },
    newTranscription({ format: "diarized_json" }),
    {
      text: "Hi. Yes?",
      language: "en",
      segments: [
        { start: 0, end: 1, text: "Hi.", speaker: "SPEAKER_00" },
        { start: 1, end: 2, text: "Yes?", speaker: "SPEAKER_01" },
      ],
    },
  ],
  [
    "a translation beside its transcript",
    {
      transcription: "Guten Tag",
      translation: " Good day",
      detected_language: "german",
      segments: [{ start: 0, end: 1, text: "Guten Tag" }],
    },
    ENGLISH,
    { text: "Good day", language: "en" },
  ],
  ["a translation with its pieces", { text: "Good day", chunks: [{ text: "Good day", timestamp: [0, 1] }] }, ENGLISH, {
    text: "Good day",
    language: "en",
    segments: [{ start: 0, end: 1, text: "Good day" }],
  }],
  [
    "a transcript beside a translation that nobody asked for",
    { transcription: "Guten Tag", translation: null },
    VERBOSE,
    {
      text: "Guten Tag",
    },
  ],
];

for (const [name, output, input, expected] of cases) {
  Deno.test(`transcript: ${name}`, () => assertEquals({ ...parseTranscript(output, input) }, expected));
}

const NONE = "The upstream's answer is not a transcript";
const bad: [name: string, output: unknown, input: TranscriptionRequest, expected: [string, string]][] = [
  ["nothing", null, VERBOSE, ["upstream_error", NONE]],
  ["an empty list", [], VERBOSE, ["upstream_error", NONE]],
  ["a page", "\n<!doctype html><title>Oops</title>", VERBOSE, ["upstream_error", NONE]],
  ["other JSON", { label: "speech" }, VERBOSE, ["upstream_error", NONE]],
  ["an error with status 200", { error: "CUDA out of memory" }, VERBOSE, [
    "upstream_error",
    "The upstream failed: CUDA out of memory",
  ]],
  ["a list of details with status 200", { detail: [{ loc: ["body"], msg: "No audio stream" }] }, VERBOSE, [
    "upstream_error",
    "The upstream failed: No audio stream",
  ]],
  ["no translation", { transcription: "Guten Tag" }, ENGLISH, [
    "upstream_error",
    "The model transcribed and did not translate",
  ]],
];

for (const [name, output, input, expected] of bad) {
  Deno.test(`no transcript: ${name}`, async () => {
    assertEquals(await failure(() => parseTranscript(output, input)), expected);
  });
}
