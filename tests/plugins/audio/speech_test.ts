import { assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { parseSpeech, serializeSpeech, serializeSpeechStream } from "../../../plugins/audio/speech.ts";
import { parseSpeechRequest } from "../../../plugins/audio/speech_request.ts";
import type { SpeechEvent, SpeechFormat, SpeechRequest } from "../../../src/canonical/audio.ts";
import type { JsonValue } from "../../../src/canonical/json.ts";
import type { Target } from "../../../src/contract/driver.ts";
import { GatewayError } from "../../../src/errors.ts";
import { newContext } from "../../support/context.ts";
import { writeFrames } from "../../../src/programs/testing/stages.ts";
import { bytesOf, callOf, MP3, PNG, replyOf, speechOf, targetOf, WAV } from "./support.ts";

const asked = { model: "tts", input: "Hello" };

const READ: [what: string, body: object, request: Partial<SpeechRequest>][] = [
  ["the least", {}, {}],
  [
    "null means absent",
    { voice: null, response_format: null, speed: null, instructions: null, stream_format: null },
    {},
  ],
  ["a voice by its name", { voice: "alloy" }, { voice: "alloy" }],
  ["a voice by its id", { voice: { id: "voice_1" } }, { voice: "voice_1" }],
  [
    "all that is modelled",
    { response_format: "opus", speed: 0.25, instructions: "Whisper", stream_format: "sse" },
    { format: "opus", speed: 0.25, instructions: "Whisper", stream: true },
  ],
  ["unknown fields ride along", { lang_code: "a" }, { extra: { wire: "audio", fields: { lang_code: "a" } } }],
  ["a stream of MP3 is the server's to decide", { stream_format: "audio" }, {}],
  [
    "a stream of samples is hinted at",
    { stream_format: "sse", response_format: "pcm" },
    { format: "pcm", stream: true, extra: { wire: "audio", fields: {}, hints: { stream_format: "audio" } } },
  ],
];
for (const [what, body, request] of READ) {
  Deno.test(`audio: speech request: ${what}`, () => {
    assertEquals(parseSpeechRequest({ ...asked, ...body }), speechOf(request));
  });
}

const REFUSED: [what: string, body: object, param: string][] = [
  ["no model", { model: undefined }, "model"],
  ["an empty model", { model: "" }, "model"],
  ["no input", { input: undefined }, "input"],
  ["an empty input", { input: "" }, "input"],
  ["an input that is a list", { input: ["Hello"] }, "input"],
  ["a voice without an id", { voice: {} }, "voice.id"],
  ["too slow", { speed: 0.2 }, "speed"],
  ["too fast", { speed: 4.1 }, "speed"],
  ["an unknown format", { response_format: "ogg" }, "response_format"],
  ["an unknown stream format", { stream_format: "websocket" }, "stream_format"],
];
for (const [what, body, param] of REFUSED) {
  Deno.test(`audio: speech request: ${what} is the client's fault`, () => {
    const error = assertThrows(() => parseSpeechRequest({ ...asked, ...body }), GatewayError);
    assertEquals([error.code, error.details.param], ["invalid_request", param]);
  });
}

const TOGETHER = { needsVoice: true, speechFormats: { mp3: "mp3", wav: "wav", pcm: "raw" } };

const SENT: [what: string, input: Partial<SpeechRequest>, target: Partial<Target>, body: object, notes: string[]][] = [
  ["the least", {}, {}, { response_format: "mp3" }, []],
  [
    "all that is modelled, and what rides along",
    { voice: "v", speed: 2, instructions: "Fast", extra: { wire: "audio", fields: { sample_rate: 8000 } } },
    {},
    { response_format: "mp3", voice: "v", speed: 2, instructions: "Fast", sample_rate: 8000 },
    [],
  ],
  [
    "the place's own word for a format",
    { format: "pcm" },
    { ...TOGETHER, model: "hexgrad/Kokoro-82M" },
    { model: "hexgrad/Kokoro-82M", voice: "af_heart", response_format: "raw" },
    [],
  ],
  [
    "the first format that the place makes",
    { format: "opus", voice: "tara" },
    TOGETHER,
    { voice: "tara", response_format: "mp3" },
    ["delivered mp3 in place of opus"],
  ],
  [
    "another wire's fields stay behind",
    { extra: { wire: "elsewhere", fields: { odd: 1 } } },
    {},
    { response_format: "mp3" },
    ["dropped odd"],
  ],
];
for (const [what, input, target, body, notes] of SENT) {
  Deno.test(`audio: speech request for an upstream: ${what}`, () => {
    const context = newContext("audio");
    const call = callOf("speak", speechOf(input), targetOf(target), context);
    assertEquals(call.path, "audio/speech");
    assertEquals(JSON.parse(JSON.stringify(call.body)), { model: "there", input: "Hello", ...body });
    assertEquals(context.notes, notes);
  });
}

const SAMPLES = bytesOf("\x01\0\x02\0");
const wav = WAV.toBase64();

const ANSWERS: [
  what: string,
  body: JsonValue | Uint8Array<ArrayBuffer>,
  type: string,
  wanted: SpeechFormat,
  mediaType: string,
  notes: string[],
][] = [
  ["bytes of the wanted format", MP3, "audio/mpeg", "mp3", "audio/mpeg", []],
  ["bytes of no declared type", MP3, "application/octet-stream", "mp3", "audio/mpeg", []],
  ["bytes that say otherwise than their type", WAV, "audio/mpeg", "mp3", "audio/wav", [
    "delivered audio/wav in place of mp3",
  ]],
  ["samples", SAMPLES, "audio/pcm", "pcm", "audio/pcm", []],
  ["{audio}", { audio: wav }, "application/json", "wav", "audio/wav", []],
  ["{base64}", { base64: wav }, "application/json", "wav", "audio/wav", []],
  ["{data: [{b64_json}]}", { data: [{ b64_json: wav }] }, "application/json", "wav", "audio/wav", []],
  ["a data URL", { audio: `data:audio/wav;base64,${wav}` }, "application/json", "wav", "audio/wav", []],
  [
    "a data URL whose type is all that tells",
    { audio: `data:audio/flac;base64,${SAMPLES.toBase64()}` },
    "application/json",
    "flac",
    "audio/flac",
    [],
  ],
];
for (const [what, body, type, wanted, mediaType, notes] of ANSWERS) {
  Deno.test(`audio: speech from an upstream: ${what}`, async () => {
    const context = newContext("audio");
    const speech = parseSpeech(replyOf(body, type), speechOf({ format: wanted }), targetOf(), context);
    assertEquals(speech.mediaType, mediaType);
    assertEquals(context.notes, notes);
    const response = serializeSpeech(speech);
    assertEquals(response.headers.get("content-type"), mediaType);
    const expected = body instanceof Uint8Array ? body : wanted === "wav" ? WAV : SAMPLES;
    assertEquals(await response.bytes(), expected);
  });
}

Deno.test("audio: speech is passed on as it comes", async () => {
  const stream = ReadableStream.from<Uint8Array<ArrayBuffer>>([MP3, SAMPLES]);
  const reply = { ...replyOf(MP3, "audio/mpeg"), stream };
  const speech = parseSpeech(reply, speechOf(), targetOf(), newContext("audio"));
  assertEquals(speech.audio, stream);
  assertEquals(await serializeSpeech(speech).bytes(), new Uint8Array([...MP3, ...SAMPLES]));
});

Deno.test("audio: speech in the format that the place makes is noted once", () => {
  const context = newContext("audio");
  const target = targetOf(TOGETHER);
  const input = speechOf({ format: "opus", voice: "tara" });
  callOf("speak", input, target, context);
  parseSpeech(replyOf(MP3, "audio/mpeg"), input, target, context);
  assertEquals(context.notes, ["delivered mp3 in place of opus"]);
});

const BROKEN: [what: string, body: JsonValue | Uint8Array<ArrayBuffer>, type: string, message: string][] = [
  ["no bytes", new Uint8Array(), "audio/mpeg", "no audio"],
  ["a picture", PNG, "audio/mpeg", "image/png"],
  ["a page", "<html></html>", "text/html", "text/html"],
  ["events", "data: {}", "text/event-stream", "text/event-stream"],
  ["JSON without sound", { data: [{ url: "https://cdn.test/a.mp3" }] }, "application/json", "application/json"],
  ["what is no base64", { audio: "%%%" }, "application/json", "base64"],
  ["an error with status 200", { error: { message: "Out of memory" } }, "application/json", "Out of memory"],
];
for (const [what, body, type, message] of BROKEN) {
  Deno.test(`audio: speech from an upstream: ${what} is its failure`, () => {
    const read = () => parseSpeech(replyOf(body, type), speechOf(), targetOf(), newContext("audio"));
    const error = assertThrows(read, GatewayError);
    assertEquals(error.code, "upstream_error");
    assertStringIncludes(error.message, message);
  });
}

Deno.test("audio: speech as events: bytes, the count, a failure", () => {
  const events: SpeechEvent[] = [
    { type: "audio", bytes: MP3 },
    { type: "finish", usage: { inputTokens: 2, outputTokens: 3, estimated: true } },
    { type: "error", error: new GatewayError("upstream_error", "The connection to the upstream was lost") },
  ];
  const frames = writeFrames(serializeSpeechStream(), events);
  assertEquals(frames.map(({ event, data }) => [event, JSON.parse(data!)]), [
    [undefined, { type: "speech.audio.delta", audio: MP3.toBase64() }],
    [undefined, { type: "speech.audio.done", usage: { input_tokens: 2, output_tokens: 3, total_tokens: 5 } }],
    ["error", {
      error: {
        message: "The connection to the upstream was lost",
        type: "server_error",
        param: null,
        code: "upstream_error",
      },
    }],
  ]);
});
