import { assertEquals } from "@std/assert";
import type { SpeechRequest, TranscriptionRequest } from "../../../src/canonical/audio.ts";
import type { JsonObject, JsonValue } from "../../../src/canonical/json.ts";
import { falDriver } from "../../../plugins/hub/fal.ts";
import { ask, failure, FLAC, follow, newReply, newSpeech, newTarget, newTranscription, WAV, wayOf } from "./audio.ts";

const speak = wayOf(falDriver, "speak");
const transcribe = wayOf(falDriver, "transcribe");
const KOKORO = newTarget("fal-ai/kokoro/american-english");
const WHISPER = newTarget("fal-ai/whisper");

const spoken: [name: string, fields: Partial<SpeechRequest>, body: JsonObject, notes: string[]][] = [
  ["a text", {}, {}, []],
  ["a voice of its own", { voice: "af_heart" }, { voice: "af_heart" }, []],
  ["a voice by another name", { voice: "alloy" }, { voice: "af_alloy" }, ["mapped voice alloy>af_alloy"]],
  ["a voice that nobody knows", { voice: "toString" }, { voice: "toString" }, []],
  ["a pace", { speed: 1.5 }, { speed: 1.5 }, []],
  ["more than it takes", { instructions: "calmly", extra: { wire: "audio", fields: { sample_rate: 8000 } } }, {}, [
    "dropped instructions",
    "dropped sample_rate",
  ]],
];
for (const [name, fields, body, notes] of spoken) {
  Deno.test(`fal speech: asks for ${name}`, async () => {
    const sent = { text: "Good day", prompt: "Good day", voice: undefined, speed: undefined, ...body };
    assertEquals(await ask(speak, newSpeech(fields), KOKORO), { call: { path: KOKORO.model, body: sent }, notes });
  });
}

Deno.test("fal speech: the configuration's voices come first, and its star stands for all others", async () => {
  const voices = { nova: "leah", "*": "tara" };
  const voiceOf = async (voice: string) => {
    const { call, notes } = await ask(speak, newSpeech({ voice }), { ...KOKORO, voices });
    return [call.body.voice, ...notes];
  };
  assertEquals(await voiceOf("nova"), ["leah", "mapped voice nova>leah"]);
  assertEquals(await voiceOf("alloy"), ["tara", "mapped voice alloy>tara"]);
});

Deno.test("fal speech: the sound is fetched from where the answer says that it is", () => {
  const body = { audio: { url: "https://v3.fal.media/files/a.wav", content_type: "audio/wav", file_size: 9 } };
  const { calls, output, notes } = follow(
    speak,
    [newReply(body), newReply(WAV, "application/octet-stream")],
    newSpeech(),
  );
  assertEquals(calls, [{ url: "https://v3.fal.media/files/a.wav" }]);
  assertEquals([output, notes], [{ mediaType: "audio/wav", audio: WAV }, []]);
});

Deno.test("fal speech: another format than the wanted one is said", () => {
  const replies = [newReply({ audio: { url: "https://v3.fal.media/a" } }), newReply(FLAC, "audio/flac")];
  const { output, notes } = follow(speak, replies, newSpeech({ format: "mp3" }));
  assertEquals([output.mediaType, notes], ["audio/flac", ["delivered audio/flac in place of mp3"]]);
});

const urls: [name: string, body: JsonValue][] = [
  ["audio as a text", { audio: "https://v3.fal.media/a.wav" }],
  ["audio_url", { audio_url: "https://v3.fal.media/a.wav" }],
  ["url", { url: "https://v3.fal.media/a.wav" }],
  ["a list of files", { audio: [{ url: "https://v3.fal.media/a.wav" }] }],
];
for (const [name, body] of urls) {
  Deno.test(`fal speech: the URL is found: ${name}`, () => {
    const { calls } = follow(speak, [newReply(body), newReply(WAV)], newSpeech());
    assertEquals(calls, [{ url: "https://v3.fal.media/a.wav" }]);
  });
}

Deno.test("fal speech: sound inside the answer needs no second call", () => {
  const body = { audio: { url: `data:audio/flac;base64,${FLAC.toBase64()}` } };
  const { calls, output } = follow(speak, [newReply(body)], newSpeech({ format: "flac" }));
  assertEquals([calls, output], [[], { mediaType: "audio/flac", audio: FLAC }]);
});

Deno.test("fal speech: sound as base64 in a file of the answer", () => {
  const body = { audio: { content_type: "audio/wav", file_data: WAV.toBase64() } };
  const { calls, output } = follow(speak, [newReply(body)], newSpeech({ format: "wav" }));
  assertEquals([calls, output.audio], [[], WAV]);
});

Deno.test("fal speech: a failure with status 200, and an answer without sound", async () => {
  const fails = (body: JsonValue) => failure(() => follow(speak, [newReply(body)], newSpeech()));
  assertEquals(await fails({ detail: "Worker died" }), ["upstream_error", "The upstream failed: Worker died"]);
  assertEquals(await fails({ detail: [{ loc: ["body", "prompt"], msg: "Too long", type: "x" }] }), [
    "upstream_error",
    "The upstream failed: Too long",
  ]);
  assertEquals(await fails({ images: [] }), ["upstream_error", "The upstream's answer has no audio"]);
});

const DATA = `data:audio/x-wav;base64,${WAV.toBase64()}`;
const transcriptions: [name: string, fields: Partial<TranscriptionRequest>, body: JsonObject, notes: string[]][] = [
  ["a transcript", {}, {}, []],
  ["a translation", { translateTo: "en" }, { task: "translate" }, []],
  ["a language and a prompt", { language: "de", prompt: "Ada" }, { language: "de", prompt: "Ada" }, []],
  ["segments", { format: "srt" }, { chunk_level: "segment" }, []],
  ["words", { format: "verbose_json", timestamps: ["word"] }, { chunk_level: "word" }, []],
  ["who speaks", { format: "diarized_json" }, { chunk_level: "segment", diarize: true }, []],
  [
    "more than it takes",
    { temperature: 0.2, extra: { wire: "audio", fields: { include: ["logprobs"] } } },
    {},
    [
      "dropped temperature",
      "dropped include",
    ],
  ],
];
for (const [name, fields, body, notes] of transcriptions) {
  Deno.test(`fal transcription: asks for ${name}`, async () => {
    assertEquals(await ask(transcribe, newTranscription(fields), WHISPER), {
      call: { path: "fal-ai/whisper", body: { audio_url: DATA, task: "transcribe", language: null, ...body } },
      notes,
    });
  });
}

const labels: [mediaType: string, label: string][] = [
  ["audio/mpeg", "audio/mpeg"],
  ["audio/mp3", "audio/mpeg"],
  ["audio/wav", "audio/x-wav"],
  ["audio/mp4", "video/mp4"],
  ["audio/x-m4a", "video/mp4"],
  ["audio/webm", "video/webm"],
  ["audio/webm;codecs=opus", "video/webm"],
];
for (const [mediaType, label] of labels) {
  Deno.test(`fal transcription: takes ${mediaType} as ${label}`, async () => {
    const input = newTranscription({ file: { bytes: WAV, name: "a", mediaType } });
    const { call } = await ask(transcribe, input, WHISPER);
    assertEquals(call.body.audio_url, `data:${label};base64,${WAV.toBase64()}`);
  });
}

for (const mediaType of ["audio/ogg", "audio/flac", "audio/aac", "constructor"]) {
  Deno.test(`fal transcription: refuses ${mediaType} and says what it takes`, async () => {
    const input = newTranscription({ file: { bytes: FLAC, name: "a", mediaType } });
    assertEquals(await failure(() => ask(transcribe, input, WHISPER)), [
      "unsupported_media_type",
      `This file is "${mediaType}", and fal takes mp3, mp4, mpeg, mpga, m4a, wav and webm`,
    ]);
  });
}

Deno.test("fal transcription: text, chunks and the language that was heard", () => {
  const body = { text: " Good day", chunks: [{ text: " Good day", timestamp: [0, 1] }], inferred_languages: ["en"] };
  assertEquals(follow(transcribe, [newReply(body)], newTranscription({ format: "vtt" })).output, {
    text: "Good day",
    language: "en",
    segments: [{ start: 0, end: 1, text: "Good day" }],
  });
});

const errors: [status: number, body: JsonValue, code: string, message: string][] = [
  [
    422,
    { detail: [{ loc: ["body", "voice"], msg: "unexpected value", type: "enum" }] },
    "invalid_request",
    "unexpected value",
  ],
  [
    422,
    { detail: [{ loc: ["body", "audio_url"], msg: "Unsupported data URL", type: "value_error" }] },
    "unsupported_media_type",
    "The file was refused, and fal takes mp3, mp4, mpeg, mpga, m4a, wav and webm",
  ],
  [
    400,
    { error: "Model not supported by provider fal-ai" },
    "model_not_found",
    "Model not supported by provider fal-ai",
  ],
  [500, { detail: "Internal Server Error" }, "upstream_error", "The upstream failed (500): Internal Server Error"],
  [
    403,
    { detail: "User is locked. Reason: Exhausted balance." },
    "upstream_error",
    "The upstream refused the gateway's credentials (403)",
  ],
];
for (const [status, body, code, message] of errors) {
  Deno.test(`fal: ${status} ${JSON.stringify(body)}`, () => {
    const error = falDriver.parseError(newReply(body, "application/json", status));
    assertEquals([error.code, error.message], [code, message]);
  });
}
