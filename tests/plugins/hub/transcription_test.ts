import { assertEquals } from "@std/assert";
import type { TranscriptionRequest } from "../../../src/canonical/audio.ts";
import type { JsonObject } from "../../../src/canonical/json.ts";
import { hubTranscription } from "../../../plugins/hub/inference.ts";
import { ask, failure, follow, newReply, newTarget, newTranscription, WAV } from "./audio.ts";

const TARGET = newTarget("openai/whisper-large-v3");
const PATH = "models/openai/whisper-large-v3";

const types: [mediaType: string, sent: string][] = [
  ["audio/wav", "audio/wav"],
  ["audio/mpeg", "audio/mpeg"],
  ["audio/flac", "audio/flac"],
  ["audio/ogg", "audio/ogg"],
  ["audio/webm", "audio/webm"],
  ["audio/mp4", "audio/m4a"],
  ["video/mp4", "audio/m4a"],
  ["audio/aac", "application/octet-stream"],
];
for (const [mediaType, sent] of types) {
  Deno.test(`hf-inference transcription: ${mediaType} goes up as it is, called ${sent}`, async () => {
    const input = newTranscription({ file: { bytes: WAV, name: "a", mediaType }, temperature: 0 });
    assertEquals(await ask(hubTranscription, input, TARGET), {
      call: { path: PATH, headers: { "content-type": sent }, body: WAV },
      notes: [],
    });
  });
}

const asked: [name: string, fields: Partial<TranscriptionRequest>, parameters: JsonObject][] = [
  ["subtitles", { format: "srt" }, { return_timestamps: true }],
  ["segments", { format: "verbose_json" }, { return_timestamps: true }],
  ["words", { format: "verbose_json", timestamps: ["word", "segment"] }, { return_timestamps: "word" }],
  ["a language", { language: "de" }, { generation_parameters: { language: "de" } }],
  ["a temperature", { temperature: 0.4 }, { generation_parameters: { temperature: 0.4 } }],
  ["all of it", { format: "vtt", language: "de", temperature: 0 }, {
    return_timestamps: true,
    generation_parameters: { language: "de" },
  }],
];
for (const [name, fields, parameters] of asked) {
  Deno.test(`hf-inference transcription: ${name} can only be asked for beside base64`, async () => {
    assertEquals(await ask(hubTranscription, newTranscription(fields), TARGET), {
      call: { path: PATH, body: { inputs: WAV.toBase64(), parameters } },
      notes: [],
    });
  });
}

Deno.test("hf-inference transcription: a prompt and fields of another API are noted", async () => {
  const extra = { wire: "audio", fields: { chunking_strategy: "auto" } };
  const { notes } = await ask(hubTranscription, newTranscription({ prompt: "Names: Ada", extra }), TARGET);
  assertEquals(notes, ["dropped prompt", "dropped chunking_strategy"]);
});

Deno.test("hf-inference transcription: what it cannot do leaves the request to another provider", async () => {
  assertEquals(await failure(() => ask(hubTranscription, newTranscription({ translateTo: "en" }), TARGET)), [
    "unsupported",
    "hf-inference transcribes and does not translate",
  ]);
  assertEquals(await failure(() => ask(hubTranscription, newTranscription({ format: "diarized_json" }), TARGET)), [
    "unsupported",
    'hf-inference does not identify the speakers: use "verbose_json"',
  ]);
});

Deno.test("hf-inference transcription: text and chunks", () => {
  const body = { text: " Good day", chunks: [{ text: " Good day", timestamp: [0, 1] }] };
  assertEquals(follow(hubTranscription, [newReply(body)], newTranscription({ format: "srt" })).output, {
    text: "Good day",
    segments: [{ start: 0, end: 1, text: "Good day" }],
  });
});
