import { assertEquals } from "@std/assert";
import type { SpeechRequest, TranscriptionRequest } from "../../../src/canonical/audio.ts";
import type { JsonObject, JsonValue } from "../../../src/canonical/json.ts";
import { replicateDriver } from "../../../plugins/hub/replicate.ts";
import { ask, failure, follow, newReply, newSpeech, newTarget, newTranscription, WAV, wayOf } from "./audio.ts";

const speak = wayOf(replicateDriver, "speak");
const transcribe = wayOf(replicateDriver, "transcribe");
const KOKORO = newTarget("jaaari/kokoro-82m:f559560e");
const headers = { prefer: "wait" };
const FILE_URL = "https://replicate.delivery/x/out.wav";

const spoken: [name: string, fields: Partial<SpeechRequest>, input: JsonObject, notes: string[]][] = [
  ["a text", {}, {}, []],
  ["a voice and a pace", { voice: "onyx", speed: 2 }, { voice: "am_onyx", speed: 2 }, ["mapped voice onyx>am_onyx"]],
  ["more than it takes", { instructions: "calmly", extra: { wire: "audio", fields: { sample_rate: 8000 } } }, {}, [
    "dropped instructions",
    "dropped sample_rate",
  ]],
];
for (const [name, fields, input, notes] of spoken) {
  Deno.test(`replicate speech: asks a version for ${name}`, async () => {
    const sent = { text: "Good day", voice: undefined, speed: undefined, ...input };
    assertEquals(await ask(speak, newSpeech(fields), KOKORO), {
      call: { path: "v1/predictions", headers, body: { input: sent, version: "f559560e" } },
      notes,
    });
  });
}

Deno.test("replicate speech: a model without a version is asked on its own page", async () => {
  const { call } = await ask(speak, newSpeech(), newTarget("minimax/speech-02-turbo"));
  assertEquals(JSON.parse(JSON.stringify(call)), {
    path: "v1/models/minimax/speech-02-turbo/predictions",
    headers,
    body: { input: { text: "Good day" } },
  });
});

const outputs: [name: string, output: JsonValue][] = [
  ["a URL", FILE_URL],
  ["a list of one URL", [FILE_URL]],
  ["an object with a URL", { audio: FILE_URL }],
];
for (const [name, output] of outputs) {
  Deno.test(`replicate speech: the sound is fetched: ${name}`, () => {
    const replies = [newReply({ id: "p1", status: "succeeded", output, error: null }), newReply(WAV, "audio/wav")];
    const { calls, output: speech, notes } = follow(speak, replies, newSpeech());
    assertEquals([calls, speech, notes], [[{ url: FILE_URL }], { mediaType: "audio/wav", audio: WAV }, []]);
  });
}

Deno.test("replicate speech: sound inside the prediction needs no second call", () => {
  const body = { id: "p1", status: "succeeded", output: `data:audio/wav;base64,${WAV.toBase64()}` };
  assertEquals(follow(speak, [newReply(body)], newSpeech()).output, { mediaType: "audio/wav", audio: WAV });
});

Deno.test("replicate: what is not done is asked for again, below the same base, ever more seldom", () => {
  const waiting = (status: string): JsonObject => ({
    id: "p/1",
    status,
    output: null,
    urls: { get: "https://api.replicate.com/v1/predictions/p1" },
  });
  const states = ["starting", ...Array(5).fill("processing")].map((status) =>
    newReply(waiting(status), undefined, 201)
  );
  const replies = [...states, newReply({ ...waiting("succeeded"), output: FILE_URL }), newReply(WAV)];
  const path = "v1/predictions/p%2F1";
  assertEquals(follow(speak, replies, newSpeech()).calls, [
    { path, afterMs: 500 },
    { path, afterMs: 1000 },
    { path, afterMs: 2000 },
    { path, afterMs: 4000 },
    { path, afterMs: 5000 },
    { path, afterMs: 5000 },
    { url: FILE_URL },
  ]);
});

Deno.test("replicate: the part of an output that is there before the end is not taken for all of it", () => {
  const replies = [
    newReply({ id: "p1", status: "processing", output: ["Good"] }),
    newReply({ id: "p1", status: "succeeded", output: ["Good", " day"] }),
  ];
  assertEquals(follow(transcribe, replies, newTranscription()).output, { text: "Good day" });
});

const failed: [prediction: JsonObject, message: string][] = [
  [{ status: "failed", error: "CUDA out of memory" }, "The upstream failed: CUDA out of memory"],
  [{ status: "failed", error: "Bad\nTraceback (most recent call last):\n  x" }, "The upstream failed: Bad"],
  [{ status: "canceled", error: null }, `The upstream's prediction ended with status "canceled"`],
  [{ status: "aborted" }, `The upstream's prediction ended with status "aborted"`],
  [{ status: "processing" }, "The upstream's prediction has no id"],
];
for (const [prediction, message] of failed) {
  Deno.test(`replicate: a prediction that ${JSON.stringify(prediction)}`, async () => {
    const reply = newReply(prediction);
    assertEquals(await failure(() => follow(speak, [reply], newSpeech())), ["upstream_error", message]);
    assertEquals(await failure(() => follow(transcribe, [reply], newTranscription())), ["upstream_error", message]);
  });
}

Deno.test("replicate: a prediction that gave nothing, and an error with status 200", async () => {
  const nothing = newReply({ id: "p1", status: "succeeded", output: null });
  const error = newReply({ error: "No such model" });
  assertEquals(await failure(() => follow(speak, [nothing], newSpeech())), [
    "upstream_error",
    "The upstream's answer has no audio",
  ]);
  assertEquals(await failure(() => follow(transcribe, [nothing], newTranscription())), [
    "upstream_error",
    "The upstream's answer is not a transcript",
  ]);
  const message = "The upstream failed: No such model";
  assertEquals(await failure(() => follow(speak, [error], newSpeech())), ["upstream_error", message]);
  assertEquals(await failure(() => follow(transcribe, [error], newTranscription())), ["upstream_error", message]);
});

const audio = `data:audio/wav;base64,${WAV.toBase64()}`;
const transcriptions: [name: string, fields: Partial<TranscriptionRequest>, input: JsonObject][] = [
  ["a transcript", {}, {}],
  ["a translation", { translateTo: "en" }, { translate: true, task: "translate" }],
  ["what Whisper knows", { language: "de", temperature: 0, prompt: "Ada" }, {
    language: "de",
    temperature: 0,
    initial_prompt: "Ada",
  }],
  ["words", { format: "verbose_json", timestamps: ["word"] }, { timestamp: "word" }],
];
for (const [name, fields, input] of transcriptions) {
  Deno.test(`replicate transcription: asks for ${name}`, async () => {
    assertEquals(await ask(transcribe, newTranscription(fields), newTarget("openai/whisper:8099696")), {
      call: { path: "v1/predictions", headers, body: { input: { audio, ...input }, version: "8099696" } },
      notes: [],
    });
  });
}

Deno.test("replicate transcription: who speaks is left to another provider, fields of another API are noted", async () => {
  const target = newTarget("openai/whisper");
  assertEquals(await failure(() => ask(transcribe, newTranscription({ format: "diarized_json" }), target)), [
    "unsupported",
    'replicate does not identify the speakers: use "verbose_json"',
  ]);
  const extra = { wire: "audio", fields: { include: ["logprobs"] } };
  assertEquals((await ask(transcribe, newTranscription({ extra }), target)).notes, ["dropped include"]);
});

const transcripts: [name: string, output: JsonValue, input: TranscriptionRequest, expected: object][] = [
  ["a text", "Good day", newTranscription(), { text: "Good day" }],
  ["a list of one text", ["Good day"], newTranscription(), { text: "Good day" }],
  [
    "a transcription with segments",
    {
      transcription: " Good day",
      detected_language: "english",
      segments: [{ id: 0, start: 0, end: 1.5, text: " Good day", avg_logprob: -0.2 }],
      translation: null,
      txt_file: "https://replicate.delivery/x/out.txt",
    },
    newTranscription({ format: "srt" }),
    {
      text: "Good day",
      language: "english",
      segments: [{ start: 0, end: 1.5, text: "Good day" }],
    },
  ],
  ["a translation", { transcription: "Guten Tag", translation: "Good day" }, newTranscription({ translateTo: "en" }), {
    text: "Good day",
    language: "en",
  }],
  ["a text with chunks", { text: "Hi", chunks: [{ text: "Hi", timestamp: [0, 1] }] }, newTranscription(), {
    text: "Hi",
    segments: [{ start: 0, end: 1, text: "Hi" }],
  }],
];
for (const [name, output, input, expected] of transcripts) {
  Deno.test(`replicate transcription: reads ${name}`, () => {
    const { calls, output: transcript } = follow(transcribe, [newReply({ status: "succeeded", output })], input);
    assertEquals([calls, transcript], [[], expected]);
  });
}

Deno.test("replicate transcription: a text file is fetched, where the text is in nothing else", () => {
  const url = "https://replicate.delivery/x/out.txt";
  const body = { status: "succeeded", output: { detected_language: "en", txt_file: url } };
  const { calls, output } = follow(
    transcribe,
    [newReply(body), newReply("Good day\n", "text/plain")],
    newTranscription(),
  );
  assertEquals([calls, output], [[{ url }], { text: "Good day" }]);
});

Deno.test("replicate: errors outside 2xx", () => {
  const body = { title: "Invalid input", detail: "- input.audio: Does not match format 'uri'", status: 422 };
  const { code, message } = replicateDriver.parseError(newReply(body, "application/json", 422));
  assertEquals([code, message], ["invalid_request", body.detail]);
});

Deno.test("replicate: a prediction that is still at work can be ended, one that is over cannot", () => {
  for (const { cancel } of [speak, transcribe]) {
    assertEquals(cancel!(newReply({ id: "a/b", status: "processing", output: null })), {
      path: "v1/predictions/a%2Fb/cancel",
      method: "POST",
    });
    assertEquals(cancel!(newReply({ id: "a", status: "succeeded", output: "x" })), undefined);
    assertEquals(cancel!(newReply({ status: "starting" })), undefined);
  }
});
