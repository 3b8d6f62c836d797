import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { createParser } from "eventsource-parser";
import { SPEECH_FORMATS, type SpeechFormat } from "../../src/canonical/audio.ts";
import type { TestApp } from "../support/app.ts";
import { bodyOf, piecesOf } from "../support/chunks.ts";
import { MAJORS, newClient, type OpenAI } from "./chat_clients.ts";
import { MODEL, newHubApp, newInferenceClient, newTaskApp, routesOf } from "./task_clients.ts";

function tone(name: string): Uint8Array<ArrayBuffer> {
  return Deno.readFileSync(new URL(`../fixtures/audio/${name}`, import.meta.url));
}

/** Sound of each format, and the content type under which it goes out. Raw samples have no head. */
const SOUNDS: Record<SpeechFormat, { bytes: Uint8Array<ArrayBuffer>; type: string }> = {
  mp3: { bytes: tone("tone.mp3"), type: "audio/mpeg" },
  opus: { bytes: tone("tone.ogg"), type: "audio/opus" },
  aac: { bytes: tone("tone.aac"), type: "audio/aac" },
  flac: { bytes: tone("tone.flac"), type: "audio/flac" },
  wav: { bytes: tone("tone.wav"), type: "audio/wav" },
  pcm: { bytes: tone("tone.wav").slice(44), type: "audio/pcm" },
};

/** What people upload, and what it is by its bytes. */
const FILES = {
  "tone.wav": "audio/wav",
  "tone.mp3": "audio/mpeg",
  "tone.flac": "audio/flac",
  "tone.ogg": "audio/ogg",
  "tone.m4a": "audio/mp4",
  "tone.webm": "audio/webm",
};

const SAID = "The quick brown fox. It jumps.";
const SEGMENTS = [
  { id: 0, start: 0, end: 1.5, text: " The quick brown fox.", avg_logprob: -0.25 },
  { id: 1, start: 1.5, end: 2.25, text: " It jumps.", avg_logprob: -0.5 },
];
const WORDS = SAID.split(" ").map((word, index) => ({ word, start: index / 4, end: (index + 1) / 4 }));
const USAGE = { type: "tokens", input_tokens: 12, output_tokens: 8, total_tokens: 20 };

/** A form as plain data: a file as its name, type and bytes. */
type Form = Record<string, unknown>;

interface Listener {
  /** What the server was asked, in order. */
  asked: { path: string; form: Form }[];
  app: TestApp;
}

/** A server that hears `SAID` in everything, and tells of times and speakers only where it is asked to. */
function newListener(answer: (form: Form) => Response = hear): Listener {
  const asked: Listener["asked"] = [];
  const app = newTaskApp(async (request) => {
    const form: Form = {};
    for (const [name, value] of await request.formData()) {
      form[name] = typeof value === "string"
        ? name in form ? [form[name], value].flat() : value
        : { name: value.name, type: value.type, bytes: await value.bytes() };
    }
    asked.push({ path: new URL(request.url).pathname, form });
    return answer(form);
  });
  return { asked, app };
}

function hear(form: Form): Response {
  if (form.stream === "true") return stream();
  const whole = { text: SAID, language: "english", duration: 2.25 };
  switch (form.response_format) {
    case "verbose_json": {
      const words = [form["timestamp_granularities[]"]].flat().includes("word") ? { words: WORDS } : {};
      return Response.json({ task: "transcribe", ...whole, segments: SEGMENTS, ...words });
    }
    case "diarized_json": {
      const segments = SEGMENTS.map(({ start, end, text }, index) => ({
        type: "transcript.text.segment",
        id: `seg_${index}`,
        start,
        end,
        text,
        speaker: index === 0 ? "A" : "B",
      }));
      return Response.json({ task: "transcribe", duration: 2.25, text: SAID, segments });
    }
    default:
      return Response.json({ text: SAID, usage: USAGE });
  }
}

function stream(): Response {
  const events = [
    ...SAID.split(/(?= )/).map((delta) => ({ type: "transcript.text.delta", delta })),
    { type: "transcript.text.done", text: SAID, usage: USAGE },
  ];
  const frames = events.map((event) => new TextEncoder().encode(`data: ${JSON.stringify(event)}\n\n`));
  return new Response(bodyOf(frames), { headers: { "content-type": "text/event-stream" } });
}

/** A server that says `sound`, in pieces, whatever it is asked for. */
function newSpeaker(sound: { bytes: Uint8Array<ArrayBuffer>; type: string }) {
  const bodies: unknown[] = [];
  const app = newTaskApp(async (request) => {
    bodies.push(await request.json());
    return new Response(bodyOf(piecesOf(sound.bytes, 500)), { headers: { "content-type": sound.type } });
  });
  return { bodies, app };
}

/** The smallest request for speech. */
const SPEAK = { model: MODEL.speech, input: "Hello", voice: "alloy" };
/** The smallest request for a transcript. */
const TRANSCRIBE = {
  model: MODEL.transcription,
  file: new File([SOUNDS.wav.bytes], "tone.wav", { type: "audio/wav" }),
};

for (const major of MAJORS) {
  const { Sdk } = major;

  // Speech

  const speech = (name: string, act: () => Promise<void>) => Deno.test(`openai ${major.major}, speech: ${name}`, act);

  for (const format of SPEECH_FORMATS) {
    speech(`${format} arrives as the upstream sent it`, async () => {
      const { app, bodies } = newSpeaker(SOUNDS[format]);
      const response = await newClient(major, app).audio.speech.create({ ...SPEAK, response_format: format });
      assertEquals(response.headers.get("content-type"), SOUNDS[format].type);
      assertEquals(new Uint8Array(await response.arrayBuffer()), SOUNDS[format].bytes);
      assertEquals(bodies, [{ model: "org/speaker", input: "Hello", voice: "alloy", response_format: format }]);
      assertEquals(response.headers.get("x-laneway-notes"), null);
    });
  }

  speech("mp3 is what is asked for where nothing is; every field reaches the upstream", async () => {
    const { app, bodies } = newSpeaker(SOUNDS.mp3);
    const client = newClient(major, app);
    const all = { speed: 1.5, instructions: "Whisper", voice: { id: "voice_1" } };
    await (await client.audio.speech.create({ ...SPEAK, ...all })).arrayBuffer();
    assertEquals(bodies, [{ model: "org/speaker", input: "Hello", response_format: "mp3", ...all, voice: "voice_1" }]);
  });

  speech("something else than what was asked for goes out under its own name, and is said", async () => {
    const { app } = newSpeaker({ ...SOUNDS.wav, type: "audio/mpeg" });
    const client = newClient(major, app);
    const response = await client.audio.speech.create(SPEAK);
    assertEquals(response.headers.get("content-type"), "audio/wav");
    assertStringIncludes(response.headers.get("x-laneway-notes") ?? "", "delivered audio/wav in place of mp3");
    assertEquals(new Uint8Array(await response.arrayBuffer()), SOUNDS.wav.bytes);
    await assertRejects(
      () => client.audio.speech.create(SPEAK, { headers: { "x-laneway-strict": "true" } }),
      Sdk.BadRequestError,
    );
  });

  speech("the first bytes are there before the upstream has sent the last", async () => {
    const { bytes } = SOUNDS.mp3;
    const rest = Promise.withResolvers<void>();
    const app = newTaskApp(() => {
      const body = new ReadableStream<Uint8Array>({
        async start(controller) {
          controller.enqueue(bytes.subarray(0, 600));
          await rest.promise;
          controller.enqueue(bytes.subarray(600));
          controller.close();
        },
      });
      return new Response(body, { headers: { "content-type": "audio/mpeg" } });
    });
    const response = await newClient(major, app).audio.speech.create(SPEAK);
    const reader = response.body!.getReader();
    const first = await reader.read();
    assert(first.value!.length > 0);
    rest.resolve();
    let length = first.value!.length;
    for (let next = await reader.read(); !next.done; next = await reader.read()) length += next.value.length;
    assertEquals(length, bytes.length);
  });

  speech("stream_format sse gives the same bytes in events, and the end", async () => {
    const { app } = newSpeaker(SOUNDS.mp3);
    const response = await newClient(major, app).audio.speech.create({ ...SPEAK, stream_format: "sse" });
    assertStringIncludes(response.headers.get("content-type")!, "text/event-stream");
    const events = await eventsOf(response);
    const deltas = events.filter(({ type }) => type === "speech.audio.delta");
    assertEquals(joined(deltas.map(({ audio }) => Uint8Array.fromBase64(audio!))), SOUNDS.mp3.bytes);
    assertEquals(events.map(({ type }) => type), [...deltas.map(({ type }) => type), "speech.audio.done"]);
    const { usage } = events.at(-1)!;
    assert(usage!.input_tokens > 0);
    assertEquals(usage!.total_tokens, usage!.input_tokens + usage!.output_tokens);
  });

  speech("what is wrong is raised and named", async () => {
    const { app, bodies } = newSpeaker(SOUNDS.mp3);
    const client = newClient(major, app);
    const wrongs: [wrong: object, param: string][] = [
      [{ input: "" }, "input"],
      [{ speed: 9 }, "speed"],
      [{ response_format: "midi" }, "response_format"],
    ];
    for (const [wrong, param] of wrongs) {
      const error = await assertRejects(() => client.audio.speech.create({ ...SPEAK, ...wrong }), Sdk.BadRequestError);
      assertEquals([error.param, error.type], [param, "invalid_request_error"]);
    }
    const missing = await assertRejects(
      () => client.audio.speech.create({ ...SPEAK, model: "nobody" }),
      Sdk.NotFoundError,
    );
    assertEquals(missing.code, "model_not_found");
    assertEquals(bodies, []);
  });

  speech("what is no sound is the upstream's fault, and said", async () => {
    const page = new TextEncoder().encode("<html>Sign in</html>");
    for (const sound of [{ bytes: page, type: "text/html" }, { bytes: new Uint8Array(), type: "audio/mpeg" }]) {
      const error = await assertRejects(
        () => newClient(major, newSpeaker(sound).app).audio.speech.create(SPEAK),
        Sdk.InternalServerError,
      );
      assertEquals([error.status, error.code], [502, "upstream_error"]);
    }
  });

  speech("the sandbox speaks, and writes down what it said", async () => {
    const client = newClient(major, newTaskApp());
    const body = { ...SPEAK, model: "sandbox-speech", input: "Good morning.", response_format: "wav" } as const;
    const response = await client.audio.speech.create(body);
    const file = new File([await response.arrayBuffer()], "said.wav");
    const model = "sandbox-transcription";
    assertEquals((await client.audio.transcriptions.create({ model, file })).text, "Good morning.");
    const subtitles = await client.audio.transcriptions.create({ model, file, response_format: "srt" });
    assertStringIncludes(subtitles, "00:00:00,000 --> ");
    const streamed = await client.audio.transcriptions.create({ model, file, stream: true });
    assertEquals((await transcriptOf(streamed)).text, "Good morning.");
    assertStringIncludes((await client.audio.translations.create({ model, file })).text, "Good morning.");
  });

  for (
    const [model, format, type, route] of [
      ["hexgrad/Kokoro-82M", "mp3", "audio/mpeg", "/together/v1/audio/speech"],
      ["hexgrad/Kokoro-82M:deepinfra", "flac", "audio/flac", "/deepinfra/v1/openai/audio/speech"],
      ["hexgrad/Kokoro-82M:fal-ai", "wav", "audio/wav", "/fal-ai/fal-ai/kokoro/american-english"],
      ["facebook/mms-tts-eng", "flac", "audio/flac", "/hf-inference/models/facebook/mms-tts-eng"],
    ] as const
  ) {
    speech(`the whole way to the hub and back: ${model}`, async () => {
      const hub = newHubApp();
      const client = newClient(major, hub.app, "hf");
      const input = "A fox jumps.";
      const response = await client.audio.speech.create({ ...SPEAK, model, input, response_format: format });
      assertEquals(response.headers.get("content-type"), type);
      const file = new File([await response.arrayBuffer()], `said.${format}`);
      const transcription = await client.audio.transcriptions.create({ model: "openai/whisper-large-v3", file });
      assertEquals(transcription.text, input);
      assertEquals(routesOf(hub), [route, "/hf-inference/models/openai/whisper-large-v3"]);
    });
  }

  // Transcription

  const test = (name: string, act: () => Promise<void>) =>
    Deno.test(`openai ${major.major}, transcription: ${name}`, act);

  for (const [fixture, type] of Object.entries(FILES)) {
    // The second tells neither by its name nor by its type what it is.
    for (const [name, mediaType] of [[fixture, type], ["Aufnahme für 日本", ""]] as const) {
      test(`${fixture} reaches the upstream byte for byte as "${name}"`, async () => {
        const { app, asked } = newListener();
        const bytes = tone(fixture);
        const file = new File([bytes], name, { type: mediaType });
        const answer = await newClient(major, app).audio.transcriptions.create({ model: MODEL.transcription, file });
        assertEquals<unknown>(answer, { text: SAID, usage: USAGE });
        assertEquals(asked, [{
          path: "/v1/audio/transcriptions",
          form: { model: "org/listener", response_format: "json", file: { name, type, bytes } },
        }]);
      });
    }
  }

  test("every response_format, made from what the upstream tells", async () => {
    const { app, asked } = newListener();
    const { transcriptions } = newClient(major, app).audio;
    const srt = "1\n00:00:00,000 --> 00:00:01,500\nThe quick brown fox.\n\n" +
      "2\n00:00:01,500 --> 00:00:02,250\nIt jumps.\n";
    const vtt = "WEBVTT\n\n00:00:00.000 --> 00:00:01.500\nThe quick brown fox.\n\n" +
      "00:00:01.500 --> 00:00:02.250\nIt jumps.\n";
    assertEquals((await transcriptions.create({ ...TRANSCRIBE, response_format: "json" })).text, SAID);
    assertEquals(await transcriptions.create({ ...TRANSCRIBE, response_format: "text" }), SAID);
    assertEquals(await transcriptions.create({ ...TRANSCRIBE, response_format: "srt" }), srt);
    assertEquals(await transcriptions.create({ ...TRANSCRIBE, response_format: "vtt" }), vtt);

    const verbose = await transcriptions.create({ ...TRANSCRIBE, response_format: "verbose_json" });
    assertEquals([verbose.text, verbose.language, verbose.duration], [SAID, "english", 2.25]);
    assertEquals(
      verbose.segments?.map(({ id, start, end, text, avg_logprob }) => ({ id, start, end, text, avg_logprob })),
      SEGMENTS,
    );

    const diarized = await transcriptions.create({
      ...TRANSCRIBE,
      response_format: "diarized_json",
      chunking_strategy: "auto",
    });
    const { segments } = diarized as OpenAI.Audio.TranscriptionDiarized;
    assertEquals(segments.map(({ speaker, text }) => [speaker, text.trim()]), [
      ["A", "The quick brown fox."],
      ["B", "It jumps."],
    ]);
    assertEquals(asked.map(({ form }) => form.response_format), [
      "json",
      "json",
      "verbose_json",
      "verbose_json",
      "verbose_json",
      "diarized_json",
    ]);
    assertEquals(asked.at(-1)!.form.chunking_strategy, "auto");
  });

  test("timestamps of words and segments", async () => {
    const { app, asked } = newListener();
    const answer = await newClient(major, app).audio.transcriptions.create({
      ...TRANSCRIBE,
      response_format: "verbose_json",
      timestamp_granularities: ["word", "segment"],
    });
    assertEquals(answer.words, WORDS);
    assertEquals(answer.segments?.length, 2);
    assertEquals(asked[0]!.form["timestamp_granularities[]"], ["word", "segment"]);
  });

  test("every field reaches the upstream", async () => {
    const { app, asked } = newListener();
    await newClient(major, app).audio.transcriptions.create({
      ...TRANSCRIBE,
      language: "en",
      prompt: "Foxes",
      temperature: 0.5,
      include: ["logprobs"],
    });
    const { file: _, ...form } = asked[0]!.form;
    assertEquals(form, {
      model: "org/listener",
      response_format: "json",
      language: "en",
      prompt: "Foxes",
      temperature: "0.5",
      "include[]": "logprobs",
    });
  });

  for (
    const [kind, answer] of [
      ["streams", hear],
      ["does not stream", () => Response.json({ text: SAID, usage: USAGE })],
    ] as const
  ) {
    test(`a stream; the upstream ${kind}`, async () => {
      const { app, asked } = newListener(answer);
      const events = await newClient(major, app).audio.transcriptions.create({
        ...TRANSCRIBE,
        stream: true,
      });
      const { text, done } = await transcriptOf(events);
      assertEquals(text, SAID);
      assertEquals<unknown>(done, { type: "transcript.text.done", text: SAID, usage: USAGE });
      assertEquals(asked[0]!.form.stream, "true");
    });
  }

  test("an error in mid-stream is raised, and never an end", async () => {
    const frames = ['{"type":"transcript.text.delta","delta":"The"}', '{"error":{"message":"Out of memory"}}'];
    const bytes = new TextEncoder().encode(frames.map((data) => `data: ${data}\n\n`).join(""));
    const { app } = newListener(() =>
      new Response(bodyOf([bytes]), { headers: { "content-type": "text/event-stream" } })
    );
    const events = await newClient(major, app).audio.transcriptions.create({
      ...TRANSCRIBE,
      stream: true,
    });
    const error = await assertRejects(() => transcriptOf(events), Sdk.APIError, "Out of memory");
    assertEquals(error.code, "upstream_error");
  });

  test("what is wrong is raised and named", async () => {
    const { app, asked } = newListener();
    const client = newClient(major, app);
    const png = new Uint8Array([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
    const wrongs: [wrong: object, param: string, said: string][] = [
      [{ file: new File([], "empty.wav") }, "file", '"empty.wav" is empty'],
      [{ file: new File([png], "photo.wav", { type: "audio/wav" }) }, "file", "image/png"],
      [{ file: "no file" }, "file", "has no file"],
      [{ response_format: "midi" }, "response_format", "response_format"],
      [{ temperature: "warm" }, "temperature", "temperature"],
      [{ timestamp_granularities: ["word"] }, "timestamp_granularities", "verbose_json"],
      [{ stream: true, response_format: "srt" }, "response_format", '"srt"'],
    ];
    for (const [wrong, param, said] of wrongs) {
      const error = await assertRejects(
        () => client.audio.transcriptions.create({ ...TRANSCRIBE, ...wrong }),
        Sdk.BadRequestError,
        said,
      );
      assertEquals([error.param, error.type], [param, "invalid_request_error"]);
    }
    const missing = await assertRejects(
      () => client.audio.transcriptions.create({ ...TRANSCRIBE, model: "nobody" }),
      Sdk.NotFoundError,
    );
    assertEquals(missing.code, "model_not_found");
    assertEquals(asked, []);
  });

  test("times that the upstream does not tell are not made up", async () => {
    const { app } = newListener(() => Response.json({ text: SAID }));
    const transcriptions = newClient(major, app).audio.transcriptions;
    const verbose = await transcriptions.create({ ...TRANSCRIBE, response_format: "verbose_json" });
    assertEquals([verbose.text, verbose.segments], [SAID, undefined]);
    for (const response_format of ["srt", "vtt", "diarized_json"] as const) {
      const error = await assertRejects(
        () => transcriptions.create({ ...TRANSCRIBE, response_format }),
        Sdk.BadRequestError,
        '"json"',
      );
      assertEquals(error.param, "response_format");
    }
  });

  for (
    const [model, route] of [
      ["openai/whisper-large-v3", "/hf-inference/models/openai/whisper-large-v3"],
      ["openai/whisper-large-v3:together", "/together/v1/audio/transcriptions"],
      ["openai/whisper-large-v3:fal-ai", "/fal-ai/fal-ai/whisper"],
      ["nvidia/parakeet-tdt-0.6b-v3", "/deepinfra/v1/openai/audio/transcriptions"],
    ] as const
  ) {
    test(`the whole way to the hub: ${model}`, async () => {
      const hub = newHubApp();
      const { transcriptions } = newClient(major, hub.app, "hf").audio;
      assertEquals((await transcriptions.create({ ...TRANSCRIBE, model })).text, "A recording of 8044 bytes.");
      const verbose = await transcriptions.create({ ...TRANSCRIBE, model, response_format: "verbose_json" });
      assertEquals(verbose.segments?.map(({ text }) => text.trim()), ["A recording of 8044 bytes."]);
      assertEquals(routesOf(hub), [route, route]);
    });
  }

  // Translation

  const translation = (name: string, act: () => Promise<void>) =>
    Deno.test(`openai ${major.major}, translation: ${name}`, act);

  for (const baseURL of ["http://gateway/oss/v1", "http://gateway/v1"]) {
    translation(`at ${baseURL}`, async () => {
      const { app, asked } = newListener();
      const { translations } = newClient(major, app).withOptions({ baseURL }).audio;
      assertEquals((await translations.create({ ...TRANSCRIBE, prompt: "Foxes", temperature: 0 })).text, SAID);
      // The SDK declares an object for every format.
      assertEquals<unknown>(await translations.create({ ...TRANSCRIBE, response_format: "text" }), SAID);
      const verbose = await translations.create({ ...TRANSCRIBE, response_format: "verbose_json" });
      const { text, segments } = verbose as OpenAI.Audio.TranslationVerbose;
      assertEquals([text, segments?.length], [SAID, 2]);
      const subtitles: unknown = await translations.create({ ...TRANSCRIBE, response_format: "srt" });
      assertStringIncludes(subtitles as string, "--> 00:00:01,500");

      assertEquals(asked.map(({ path }) => path), new Array(4).fill("/v1/audio/translations"));
      assertEquals(asked[0]!.form, {
        model: "org/listener",
        response_format: "json",
        prompt: "Foxes",
        temperature: "0",
        file: { name: "tone.wav", type: "audio/wav", bytes: SOUNDS.wav.bytes },
      });
    });
  }

  for (
    const [model, path] of [["whisper-1", "oss/v1"], ["whisper-1", "v1"], ["openai/whisper-large-v3", "v1"]] as const
  ) {
    translation(`the whole way to the hub: ${model} at /${path}`, async () => {
      const hub = newHubApp();
      const client = newClient(major, hub.app).withOptions({ baseURL: `http://gateway/${path}` });
      const { text } = await client.audio.translations.create({ ...TRANSCRIBE, model });
      assertEquals(text, "In English: A recording of 8044 bytes.");
    });
  }

  translation("a model that cannot, and a model that is nowhere", async () => {
    const client = newClient(major, newHubApp().app).withOptions({ baseURL: "http://gateway/v1" });
    await assertRejects(
      () => client.audio.translations.create({ ...TRANSCRIBE, model: "whisper-large-v3-turbo" }),
      Sdk.APIError,
      "translate",
    );
    const error = await assertRejects(
      () => client.audio.translations.create({ ...TRANSCRIBE, model: "nobody" }),
      Sdk.NotFoundError,
    );
    assertEquals(error.code, "model_not_found");
  });
}

interface SpeechEvent {
  type: string;
  audio?: string;
  usage?: { input_tokens: number; output_tokens: number; total_tokens: number };
}

async function eventsOf(response: Response): Promise<SpeechEvent[]> {
  const events: SpeechEvent[] = [];
  const parser = createParser({ onEvent: ({ data }) => void events.push(JSON.parse(data)) });
  parser.feed(await response.text());
  return events;
}

function joined(pieces: readonly Uint8Array[]): Uint8Array {
  return Uint8Array.from(pieces.flatMap((piece) => [...piece]));
}

/** The increments together, and the event that ended them. */
async function transcriptOf(events: AsyncIterable<OpenAI.Audio.TranscriptionStreamEvent>) {
  let text = "";
  let done: OpenAI.Audio.TranscriptionTextDoneEvent | undefined;
  for await (const event of events) {
    assertEquals(done, undefined);
    if (event.type === "transcript.text.delta") text += event.delta;
    if (event.type === "transcript.text.done") done = event;
  }
  return { text, done };
}

Deno.test("@huggingface/inference: speech and transcription in the manner of an OpenAI-compatible provider", async () => {
  const client = newInferenceClient(newHubApp());
  const at = (path: string) =>
    ({ provider: "together", urlTransform: () => `http://gateway/hf/v1/audio/${path}` }) as const;
  const data = await client.textToSpeech({ model: "hexgrad/Kokoro-82M", inputs: "A fox jumps.", ...at("speech") });
  assertEquals(data.type, "audio/mpeg");
  const model = "openai/whisper-large-v3";
  const { text } = await client.automaticSpeechRecognition({ model, data, ...at("transcriptions") });
  assertEquals(text, "A fox jumps.");
});
