import { assertEquals } from "@std/assert";
import type { JsonValue } from "../../../src/canonical/json.ts";
import { inferenceDriver } from "../../../plugins/hub/inference.ts";
import { hubSpeech } from "../../../plugins/hub/inference.ts";
import { ask, failure, FLAC, follow, newReply, newSpeech, newTarget, WAV } from "./audio.ts";

const TARGET = newTarget("hexgrad/Kokoro-82M");

Deno.test("hf-inference speech: the text is all that the engine takes, and what is left out is noted", async () => {
  const input = newSpeech({
    voice: "alloy",
    speed: 1.5,
    instructions: "calmly",
    extra: { wire: "audio", fields: { sample_rate: 8000 } },
  });
  assertEquals(await ask(hubSpeech, input, TARGET), {
    call: { path: "models/hexgrad/Kokoro-82M", headers: { accept: "*/*" }, body: { inputs: "Good day" } },
    notes: ["dropped voice", "dropped speed", "dropped instructions", "dropped sample_rate"],
  });
  assertEquals((await ask(hubSpeech, newSpeech({ speed: 1 }), TARGET)).notes, []);
});

Deno.test("hf-inference speech: bytes are what they are, whatever was wanted", () => {
  const { output, notes } = follow(hubSpeech, [newReply(FLAC, "audio/x-wav")], newSpeech({ format: "mp3" }));
  assertEquals([output, notes], [{ mediaType: "audio/flac", audio: FLAC }, ["delivered audio/flac in place of mp3"]]);
});

Deno.test("hf-inference speech: bytes that still come are passed on", () => {
  const stream = new ReadableStream<Uint8Array<ArrayBuffer>>();
  const { output, notes } = follow(hubSpeech, [{ ...newReply(WAV, "audio/wav"), stream }], newSpeech());
  assertEquals([output.mediaType, output.audio === stream, notes], ["audio/wav", true, []]);
});

const base64 = WAV.toBase64();
const shapes: [name: string, body: JsonValue][] = [
  ["audio", { audio: base64, sampling_rate: 16_000 }],
  ["base64", { base64 }],
  ["data[].b64_json", { data: [{ b64_json: base64 }] }],
  ["a data URL", { audio: { url: `data:audio/wav;base64,${base64}` } }],
  ["a list", [{ audio: base64 }]],
];
for (const [name, body] of shapes) {
  Deno.test(`hf-inference speech: base64 inside JSON is decoded: ${name}`, () => {
    const { output, notes } = follow(hubSpeech, [newReply(body, "application/json")], newSpeech());
    assertEquals([output, notes], [{ mediaType: "audio/wav", audio: WAV }, []]);
  });
}

const bad: [name: string, body: JsonValue | Uint8Array<ArrayBuffer>, message: string][] = [
  ["no bytes", new Uint8Array(), "The upstream sent no audio"],
  ["a picture", new Uint8Array([0x89, 0x50, 0x4e, 0x47]), "The upstream sent image/png instead of audio"],
  ["an error with status 200", { error: "CUDA error" }, "The upstream failed: CUDA error"],
  ["a text", "no model here", "The upstream's answer has no audio"],
  ["samples as numbers", { audio: [[0.1, 0.2]], sampling_rate: 16_000 }, "The upstream's answer has no audio"],
  ["what is no base64", { audio: "é" }, "The upstream's answer has no audio"],
  ["a URL that is not to be fetched", { audio: "https://example.com/a.wav" }, "The upstream's answer has no audio"],
];
for (const [name, body, message] of bad) {
  Deno.test(`hf-inference speech: refuses ${name}`, async () => {
    assertEquals(await failure(() => follow(hubSpeech, [newReply(body)], newSpeech())), ["upstream_error", message]);
  });
}

Deno.test("hf-inference: a model that is loading is unavailable for as long as it says", () => {
  const body = { error: "Model hexgrad/Kokoro-82M is currently loading", estimated_time: 20.4 };
  const { code, message, details } = inferenceDriver.parseError(newReply(body, "application/json", 503));
  assertEquals([code, message, details.retryAfter], ["unavailable", body.error, "21"]);
  const reply = newReply(body, "application/json", 503);
  reply.headers.set("retry-after", "3");
  assertEquals(inferenceDriver.parseError(reply).details.retryAfter, "3");
});

const errors: [status: number, body: JsonValue, code: string][] = [
  [400, { error: "Model not supported by provider hf-inference" }, "model_not_found"],
  [
    400,
    { error: '\n  Content type "audio/aac" not supported.\n Supported content types are:' },
    "unsupported_media_type",
  ],
  [400, { error: "Invalid inputs" }, "invalid_request"],
  [401, "<html><body>Unauthorized</body></html>", "upstream_error"],
  [402, { error: "You have depleted your monthly included credits." }, "billing"],
  [404, { error: "Not Found" }, "model_not_found"],
  [424, { error: "Backend error", error_type: "Backend" }, "upstream_error"],
  [429, { error: "Model is overloaded", error_type: "Overloaded" }, "rate_limit"],
  [503, { error: "unhealthy", error_type: "unhealthy" }, "unavailable"],
  [504, "", "upstream_timeout"],
];
for (const [status, body, code] of errors) {
  Deno.test(`hf-inference: ${status} ${JSON.stringify(body)} is ${code}`, () => {
    assertEquals(inferenceDriver.parseError(newReply(body, undefined, status)).code, code);
  });
}
