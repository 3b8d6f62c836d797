/** Speech, transcription and translation, from the client's request to its answer, over a fake upstream. */
import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import type { Catalog } from "../../../src/contract/catalog.ts";
import { type ConfigInput, ENV, newApp, type TestApp, type TestAppOptions } from "../../support/app.ts";
import { bodyOf } from "../../support/chunks.ts";
import { delay, until, within } from "../../support/wait.ts";

type Bytes = Uint8Array<ArrayBuffer>;
const SPEECH = "/oss/v1/audio/speech";
const TRANSCRIPTIONS = "/oss/v1/audio/transcriptions";
const ANY_LANE = "/v1/audio/translations";
const WAV = Uint8Array.from([...text("RIFF\x24\0\0\0WAVEfmt "), ...new Uint8Array(100)]);
const MP3 = Uint8Array.from([...text("ID3\x04\0\0"), ...new Uint8Array(100)]);

function text(characters: string): number[] {
  return Array.from(characters, (char) => char.charCodeAt(0));
}

/** Two lanes with names of their own, and one that takes any. */
const CONFIG = {
  upstreams: { fake: { driver: "chat", baseUrl: "http://upstream.test/v1", secret: { env: "UPSTREAM_SECRET" } } },
  catalogs: { list: { plugin: "list", baseUrl: "http://list.test" } },
  lanes: {
    oss: {
      models: {
        voice: { task: "speech", targets: [{ upstream: "fake", model: "org/voice" }] },
        ears: { task: "transcription", targets: [{ upstream: "fake", model: "org/ears" }] },
      },
    },
    second: { models: { "second-*": { task: "transcription", targets: [{ upstream: "fake", model: "org/second" }] } } },
    any: { catalog: "list", upstreams: { transcription: "fake" } },
  },
} satisfies ConfigInput;

const list: Catalog = {
  name: "list",
  listing: () => [{ path: "models" }],
  parseListing: () => [{ id: "org/listed", task: "transcription", created: 1, ownedBy: "org" }],
};

interface Sent {
  url: string;
  init: RequestInit;
}

/** An app whose upstream answers as the test says; a catalog beside it knows one model. */
function audioApp(answer: (sent: Sent) => Response | Promise<Response>, options: TestAppOptions = {}) {
  const sent: Sent[] = [];
  const app = newApp({
    config: CONFIG,
    plugins: { catalogs: [list] },
    fetch(url, init) {
      if (url.startsWith("http://list.test")) return Promise.resolve(Response.json([]));
      sent.push({ url, init });
      return Promise.resolve(answer({ url, init }));
    },
    ...options,
  });
  return { app, sent };
}

function soundOf(...chunks: Bytes[]): Response {
  return new Response(bodyOf(chunks), { headers: { "content-type": "audio/mpeg" } });
}

function speechBody(more: object = {}): object {
  return { model: "voice", input: "Hello", voice: "alloy", ...more };
}

function formOf(more: Record<string, string | Blob> = {}, file: Blob | null = new Blob([WAV])): FormData {
  const form = new FormData();
  for (const [name, value] of Object.entries({ model: "ears", ...more })) form.append(name, value);
  if (file) form.append("file", file, "a.wav");
  return form;
}

async function upload(app: TestApp, path: string, form: BodyInit, headers: HeadersInit = {}): Promise<Response> {
  return await app.fetch(new Request(`http://gateway${path}`, { method: "POST", body: form, headers }));
}

const transcript = () => Response.json({ text: "Hello" });

/** The status, and the error in the chat wire's shape. */
async function refusalOf(
  response: Response,
): Promise<{ status: number; code: string; message: string; param: string }> {
  const { error } = await response.json();
  assertEquals(Object.keys(error).sort(), ["code", "message", "param", "type"]);
  return { status: response.status, code: error.code, message: error.message, param: error.param };
}

// Speech

Deno.test("audio: speech goes to the client as it is made, and its log line comes with its end", async () => {
  let controller!: ReadableStreamDefaultController<Bytes>;
  let clock = 1_800_000_000_000;
  const body = new ReadableStream<Bytes>({ start: (one) => void (controller = one) });
  const { app } = audioApp(() => new Response(body, { headers: { "content-type": "audio/mpeg" } }), {
    now: () => clock,
  });
  controller.enqueue(MP3);
  const response = await within(app.post(SPEECH, speechBody()));
  assertEquals([response.status, response.headers.get("content-type")], [200, "audio/mpeg"]);
  assert(response.headers.has("x-request-id"));
  const reader = response.body!.getReader();
  assertEquals((await within(reader.read())).value, MP3);
  controller.enqueue(WAV);
  assertEquals((await within(reader.read())).value, WAV);
  assertEquals(app.logs, []);
  clock += 1_234;
  controller.close();
  assertEquals((await within(reader.read())).done, true);
  assertEquals(app.logs.length, 1);
  const { status, durationMs, stream, protocol, lane, model, target, error } = app.logs[0]!;
  assertEquals({ status, durationMs, stream, protocol, lane, model, target, error }, {
    status: 200,
    durationMs: 1_234,
    stream: true,
    protocol: "speech",
    lane: "oss",
    model: "voice",
    target: "fake/org/voice",
    error: undefined,
  });
});

Deno.test("audio: a client that leaves ends the upstream's call, and is logged as gone", async () => {
  let signal: AbortSignal | undefined | null;
  const body = new ReadableStream<Bytes>({ start: (controller) => controller.enqueue(MP3) });
  const { app } = audioApp(({ init }) => {
    signal = init.signal;
    return new Response(body, { headers: { "content-type": "audio/mpeg" } });
  });
  const reader = (await app.post(SPEECH, speechBody())).body!.getReader();
  await reader.read();
  assertEquals(signal?.aborted, false);
  await reader.cancel();
  assert(signal?.aborted);
  assertEquals(app.logs.map(({ status }) => status), [499]);
});

Deno.test("audio: a client that leaves before the first byte is logged as gone", async () => {
  const left = new AbortController();
  const { app, sent } = audioApp(({ init }) =>
    new Promise((_, reject) => init.signal!.addEventListener("abort", () => reject(init.signal!.reason)))
  );
  const body = JSON.stringify(speechBody());
  const answering = app.fetch(new Request(`http://gateway${SPEECH}`, { method: "POST", body, signal: left.signal }));
  await until(() => sent.length === 1);
  left.abort();
  assertEquals((await within(answering)).status, 499);
  assertEquals(app.logs.map(({ status, error }) => [status, error]), [[499, "client_closed"]]);
});

Deno.test("audio: a break in the middle breaks the client's answer off, and the log says why", async () => {
  const broken = () =>
    new Response(bodyOf([MP3], new TypeError("reset")), { headers: { "content-type": "audio/mpeg" } });
  const { app } = audioApp(broken);
  const reader = (await app.post(SPEECH, speechBody())).body!.getReader();
  assertEquals((await reader.read()).value, MP3);
  await assertRejects(() => reader.read());
  assertEquals(app.logs.map(({ status, error }) => [status, error]), [[200, "upstream_error"]]);
});

Deno.test("audio: another format than was wanted is delivered as what it is, and said", async () => {
  const { app } = audioApp(() => soundOf(WAV));
  const response = await app.post(SPEECH, speechBody());
  assertEquals(response.headers.get("content-type"), "audio/wav");
  assertEquals(response.headers.get("x-laneway-notes"), "delivered audio/wav in place of mp3");
  assertEquals(await response.bytes(), WAV);
  assertEquals(app.logs[0]?.notes, ["delivered audio/wav in place of mp3"]);
});

for (const stream_format of ["audio", "sse"]) {
  Deno.test(`audio: another format than was wanted is refused to a strict client that wants ${stream_format}`, async () => {
    let isCancelled = false;
    const body = () =>
      new ReadableStream<Bytes>({
        start: (controller) => controller.enqueue(WAV),
        cancel: () => void (isCancelled = true),
      }, { highWaterMark: 0 });
    const { app } = audioApp(() => new Response(body(), { headers: { "content-type": "audio/wav" } }));
    const response = await app.post(SPEECH, speechBody({ stream_format }), { "x-laneway-strict": "true" });
    const { status, message } = await refusalOf(response);
    assertEquals(status, 400);
    assertStringIncludes(message, "delivered audio/wav in place of mp3");
    assertEquals(response.headers.get("x-laneway-target"), "none; attempts=1");
    assert(isCancelled);
    assertEquals(app.logs.map((entry) => entry.status), [400]);
  });
}

Deno.test("audio: speech inside events ends with what it was made of", async () => {
  const { app } = audioApp(() => soundOf(MP3, WAV));
  const response = await app.post(SPEECH, speechBody({ stream_format: "sse" }));
  assertEquals(response.headers.get("content-type"), "text/event-stream; charset=utf-8");
  const events = (await response.text()).split("\n\n").filter(Boolean).map((frame) => JSON.parse(frame.slice(6)));
  assertEquals(events.map(({ type }) => type), ["speech.audio.delta", "speech.audio.delta", "speech.audio.done"]);
  assertEquals(Uint8Array.fromBase64(events[0].audio), MP3);
  assertEquals(app.logs.map(({ status, stream }) => [status, stream]), [[200, true]]);
});

Deno.test("audio: a break inside events is told as an error, after which nothing comes", async () => {
  const broken = () =>
    new Response(bodyOf([MP3], new TypeError("reset")), { headers: { "content-type": "audio/mpeg" } });
  const { app } = audioApp(broken);
  const sse = await (await app.post(SPEECH, speechBody({ stream_format: "sse" }))).text();
  assertStringIncludes(sse.split("\n\n").at(-2)!, "connection to the upstream was lost");
  assert(!sse.includes("speech.audio.done"));
  assertEquals(app.logs.map(({ error }) => error), ["upstream_error"]);
});

Deno.test("audio: leaving events ends the upstream's call", async () => {
  let signal: AbortSignal | undefined | null;
  const body = new ReadableStream<Bytes>({ start: (controller) => controller.enqueue(MP3) });
  const { app } = audioApp(({ init }) => {
    signal = init.signal;
    return new Response(body, { headers: { "content-type": "audio/mpeg" } });
  });
  const reader = (await app.post(SPEECH, speechBody({ stream_format: "sse" }))).body!.getReader();
  await reader.read();
  await reader.cancel();
  assert(signal?.aborted);
  assertEquals(app.logs.map(({ status }) => status), [499]);
});

Deno.test("audio: the next target is asked when one fails before its first byte, and not after", async () => {
  const targets = [{ upstream: "fake", model: "org/first" }, { upstream: "fake", model: "org/second" }];
  const lanes = { oss: { models: { voice: { task: "speech" as const, targets } } } };
  const failures = [
    () => new Response("busy", { status: 503 }),
    () => new Response(bodyOf([], new TypeError("reset")), { headers: { "content-type": "audio/mpeg" } }),
    () => new Response(new Uint8Array(), { headers: { "content-type": "audio/mpeg" } }),
    () => new Response("<html>busy</html>", { headers: { "content-type": "text/html" } }),
  ];
  for (const failure of failures) {
    let calls = 0;
    const { app } = audioApp(() => ++calls === 1 ? failure() : soundOf(MP3), { config: { ...CONFIG, lanes } });
    const response = await app.post(SPEECH, speechBody());
    assertEquals([response.status, calls], [200, 2]);
    assertEquals(await response.bytes(), MP3);
    assertEquals(app.logs[0]?.target, "fake/org/second");
  }
});

// Which lane a translation without one goes to

for (
  const [model, lane] of [["ears", "oss"], ["second-7", "second"], ["org/listed", "any"], [
    "org/listed:together",
    "any",
  ]]
) {
  Deno.test(`audio: a translation by "${model}" without a lane goes to lane "${lane}"`, async () => {
    const { app, sent } = audioApp(transcript);
    const response = await upload(app, ANY_LANE, formOf({ model: model! }));
    assertEquals([response.status, await response.json()], [200, { text: "Hello" }]);
    assertEquals(sent.map(({ url }) => url), ["http://upstream.test/v1/audio/translations"]);
    assertEquals(app.logs.map((entry) => [entry.lane, entry.protocol]), [[lane, "translations-any-lane"]]);
  });
}

Deno.test("audio: a translation by a model that no lane has is answered 404", async () => {
  const { app } = audioApp(transcript);
  const unlisted = await refusalOf(await upload(app, ANY_LANE, formOf({ model: "org/none" })));
  assertEquals([unlisted.status, unlisted.code, unlisted.param], [404, "model_not_found", "model"]);
  const { any: _, ...lanes } = CONFIG.lanes;
  const closed = audioApp(transcript, { config: { ...CONFIG, lanes } });
  const unknown = await refusalOf(await upload(closed.app, ANY_LANE, formOf({ model: "org/none" })));
  assertEquals([unknown.status, unknown.message], [404, 'Cannot find model "org/none" in any lane']);
});

Deno.test("audio: a translation without a model is answered 400, whichever lanes there are", async () => {
  const { any: _, ...lanes } = CONFIG.lanes;
  for (const config of [CONFIG, { ...CONFIG, lanes }]) {
    const form = new FormData();
    form.append("file", new Blob([WAV]), "a.wav");
    const { status, param } = await refusalOf(await upload(audioApp(transcript, { config }).app, ANY_LANE, form));
    assertEquals([status, param], [400, "model"]);
  }
});

Deno.test("audio: a translation is refused where the key does not open the lane that has the model", async () => {
  const keys = [
    { name: "team", secret: { env: "TEAM_KEY" }, lanes: ["oss"] },
    { name: "guest", secret: { env: "GUEST_KEY" }, lanes: ["any"] },
  ];
  const { app, sent } = audioApp(transcript, { config: { ...CONFIG, keys } });
  const statusOf = async (model: string, key: string) =>
    (await upload(app, ANY_LANE, formOf({ model }), { authorization: `Bearer ${ENV[key]}` })).status;
  assertEquals(await statusOf("ears", "TEAM_KEY"), 200);
  assertEquals(await statusOf("org/listed", "TEAM_KEY"), 403);
  assertEquals(await statusOf("ears", "GUEST_KEY"), 403);
  assertEquals(await statusOf("second-7", "GUEST_KEY"), 403);
  assertEquals(await statusOf("org/listed", "GUEST_KEY"), 200);
  assertEquals((await upload(app, ANY_LANE, formOf())).status, 401);
  assertEquals(sent.length, 2);
});

Deno.test("audio: a model of another task is refused without a lane too, and told where it belongs", async () => {
  const { app } = audioApp(transcript);
  const { status, code, message } = await refusalOf(await upload(app, ANY_LANE, formOf({ model: "voice" })));
  assertEquals([status, code], [422, "model_task_mismatch"]);
  assertStringIncludes(message, '"voice" is for speech (/oss/v1/audio/speech');
});

// Forms

Deno.test("audio: a form's file reaches the upstream with its name, its true type and all its bytes", async () => {
  const { app, sent } = audioApp(transcript);
  const form = formOf({ model: "ears", prompt: "Grüße", language: "de" });
  assertEquals(await (await upload(app, TRANSCRIPTIONS, form)).json(), { text: "Hello" });
  const body = sent[0]!.init.body as FormData;
  const file = body.get("file") as File;
  assertEquals([file.name, file.type, await file.bytes()], ["a.wav", "audio/wav", WAV]);
  assertEquals([body.get("model"), body.get("prompt"), body.get("language")], ["org/ears", "Grüße", "de"]);
});

const twoFiles = formOf();
twoFiles.append("file", new Blob([WAV]), "b.wav");

const BAD_FORMS: Record<string, { form: BodyInit; type?: string; status: number; says: string; param?: string }> = {
  "without a file": { form: formOf({}, null), status: 400, says: "no file", param: "file" },
  "with two files": { form: twoFiles, status: 400, says: "more than one file", param: "file" },
  "with an empty file": { form: formOf({}, new Blob([])), status: 400, says: "is empty", param: "file" },
  "with a picture": {
    form: formOf({}, new Blob([Uint8Array.from(text("\x89PNG\r\n\x1a\n"))])),
    status: 400,
    says: "image/png",
    param: "file",
  },
  "with a format that is none": {
    form: formOf({ response_format: "odd" }),
    status: 400,
    says: "",
    param: "response_format",
  },
  "that is JSON": { form: '{"model":"ears"}', type: "application/json", status: 415, says: "multipart/form-data" },
  "without a boundary": { form: "--b--", type: "multipart/form-data", status: 415, says: "boundary" },
  "that is cut off": { form: "--b\r\n", type: "multipart/form-data; boundary=b", status: 400, says: "truncated" },
  "that is empty": { form: "", type: "multipart/form-data; boundary=b", status: 400, says: "empty" },
  "that is too large": { form: formOf({}, new Blob([new Uint8Array(20_000)])), status: 413, says: "limit" },
};

for (const [name, { form, type, status, says, param }] of Object.entries(BAD_FORMS)) {
  Deno.test(`audio: a form ${name} is answered ${status} in the chat wire's shape`, async () => {
    const { app, sent } = audioApp(transcript, { config: { ...CONFIG, limits: { bodyBytes: 10_000 } } });
    const answer = await refusalOf(
      await upload(app, TRANSCRIPTIONS, form, type === undefined ? {} : { "content-type": type }),
    );
    assertEquals(answer.status, status);
    assertStringIncludes(answer.message, says);
    if (param !== undefined) assertEquals(answer.param, param);
    assertEquals(sent.length, 0);
  });
}

// The budget of uploads

/** Room for one form at a time. */
const NARROW: ConfigInput = { ...CONFIG, limits: { bodyBytes: 10_000, uploadBytes: 15_000 } };

const LARGE = new Blob([WAV, new Uint8Array(9_000)]);

Deno.test("audio: above the budget of uploads more are asked to come again, and served when there is room", async () => {
  const answers: ((response: Response) => void)[] = [];
  const { app } = audioApp(() => new Promise<Response>((resolve) => answers.push(resolve)), { config: NARROW });
  const first = upload(app, TRANSCRIPTIONS, formOf({}, LARGE));
  await until(() => answers.length === 1);
  const second = await upload(app, TRANSCRIPTIONS, formOf({}, LARGE));
  assertEquals([second.status, second.headers.get("retry-after")], [503, "5"]);
  assertStringIncludes((await refusalOf(second)).message, "busy with other uploads");
  answers[0]!(transcript());
  assertEquals((await first).status, 200);
  // Room was set aside for a body of unknown length; only what came is held of it.
  const third = upload(app, TRANSCRIPTIONS, formOf({}, LARGE));
  await until(() => answers.length === 2);
  answers[1]!(transcript());
  assertEquals((await third).status, 200);
});

Deno.test("audio: who says how little is coming needs no more room than that", async () => {
  const answers: ((response: Response) => void)[] = [];
  const { app } = audioApp(() => new Promise<Response>((resolve) => answers.push(resolve)), { config: NARROW });
  const send = async () => {
    const request = new Request("http://gateway/", { method: "POST", body: formOf() });
    const type = request.headers.get("content-type")!;
    const body = await request.bytes();
    return await upload(app, TRANSCRIPTIONS, body, { "content-type": type, "content-length": String(body.length) });
  };
  const uploads = Array.from({ length: 5 }, send);
  await until(() => answers.length === 5);
  for (const answer of answers) answer(transcript());
  for (const response of await Promise.all(uploads)) assertEquals(response.status, 200);
});

const ENDINGS: Record<string, (app: TestApp) => Promise<unknown>> = {
  "an answer": (app) => upload(app, TRANSCRIPTIONS, formOf()),
  "an upstream's error": (app) => upload(app, TRANSCRIPTIONS, formOf({ prompt: "fail" })),
  "a form that is refused": (app) => upload(app, TRANSCRIPTIONS, formOf({}, null)),
  "a form that cannot be read": (app) =>
    upload(app, TRANSCRIPTIONS, "x", { "content-type": "multipart/form-data; boundary=b" }),
  "a form that is too large": (app) => upload(app, TRANSCRIPTIONS, formOf({}, new Blob([new Uint8Array(20_000)]))),
  "a content type that is not read": (app) => upload(app, TRANSCRIPTIONS, "{}", { "content-type": "application/json" }),
  "a length that is none": (app) => upload(app, TRANSCRIPTIONS, formOf(), { "content-length": "odd" }),
  "a length that is below nothing": (app) => upload(app, TRANSCRIPTIONS, formOf(), { "content-length": "-1000000" }),
  "a model that is not there": (app) => upload(app, TRANSCRIPTIONS, formOf({ model: "none" })),
  "a stream": async (app) => await (await upload(app, TRANSCRIPTIONS, formOf({ stream: "true" }))).text(),
  "a stream that its client leaves": async (app) =>
    await (await upload(app, TRANSCRIPTIONS, formOf({ stream: "true" }))).body!.cancel(),
  "a client that breaks off its form": (app) =>
    upload(app, TRANSCRIPTIONS, bodyOf([WAV], new TypeError("gone")), {
      "content-type": "multipart/form-data; boundary=b",
    }),
};

for (const [name, spend] of Object.entries(ENDINGS)) {
  Deno.test(`audio: after ${name} the budget of uploads is as it was`, async () => {
    const events = ["Hel", "lo"].map((delta) => `data: {"type":"transcript.text.delta","delta":"${delta}"}\n\n`);
    const stream = () =>
      new Response(`${events.join("")}data: {"type":"transcript.text.done","text":"Hello"}\n\n`, {
        headers: { "content-type": "text/event-stream" },
      });
    const { app } = audioApp(({ init }) => {
      const form = init.body as FormData;
      if (form.get("prompt") === "fail") return new Response("no", { status: 500 });
      return form.get("stream") === "true" ? stream() : transcript();
    }, { config: NARROW });
    for (let time = 0; time < 3; time++) {
      await spend(app);
      await delay(0);
    }
    assert(app.logs.every(({ status }) => status !== 503));
    // Not less than before, and not more either.
    assertEquals((await upload(app, TRANSCRIPTIONS, formOf())).status, 200);
    const { answer, end } = slowUpload(app);
    assertEquals((await upload(app, TRANSCRIPTIONS, formOf())).status, 503);
    end();
    assertEquals((await answer).status, 400);
  });
}

/** A form of which nothing comes before its end. */
function slowUpload(app: TestApp, headers: HeadersInit = {}): { answer: Promise<Response>; end(): void } {
  const { promise: ended, resolve: end } = Promise.withResolvers<void>();
  const body = new ReadableStream({
    async pull(controller) {
      await ended;
      controller.close();
    },
  });
  const type = { "content-type": "multipart/form-data; boundary=b" };
  return { answer: upload(app, TRANSCRIPTIONS, body, { ...type, ...headers }), end };
}

Deno.test("audio: a compressed form takes the room that it may need", async () => {
  const { app } = audioApp(transcript, { config: NARROW });
  const { answer, end } = slowUpload(app, { "content-encoding": "gzip", "content-length": "9" });
  assertEquals((await upload(app, TRANSCRIPTIONS, formOf())).status, 503);
  end();
  assertEquals((await answer).status, 400);
});

Deno.test("audio: a form that is compressed and does not say so grows no larger than it said", async () => {
  const { app } = audioApp(transcript, { config: NARROW });
  const request = new Request("http://gateway/", {
    method: "POST",
    body: formOf({}, new Blob([new Uint8Array(9_000)])),
  });
  const type = request.headers.get("content-type")!;
  const packed = await new Response(request.body!.pipeThrough(new CompressionStream("gzip"))).bytes();
  const headers = { "content-type": type, "content-length": String(packed.length) };
  assertEquals((await upload(app, TRANSCRIPTIONS, packed, headers)).status, 413);
});

Deno.test("audio: a transcript without an end of its own that breaks off is told as an error", async () => {
  const pieces = bodyOf([new TextEncoder().encode('data: {"text":"Hello"}\n\n')], new TypeError("reset"));
  const { app } = audioApp(() => new Response(pieces, { headers: { "content-type": "text/event-stream" } }));
  const text = await (await upload(app, TRANSCRIPTIONS, formOf({ stream: "true" }))).text();
  assertStringIncludes(text, '"transcript.text.delta","delta":"Hello"');
  assertStringIncludes(text, "event: error\n");
  assert(!text.includes("transcript.text.done"));
});
