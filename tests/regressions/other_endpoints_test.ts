import { assert, assertEquals, assertMatch } from "@std/assert";
import defaults from "../../gateway.default.json" with { type: "json" };
import type { JsonObject } from "../../src/canonical/json.ts";
import { configSchema } from "../../src/config/schema.ts";
import { type ConfigInput, newApp } from "../support/app.ts";
import { fakeHub, TOKEN } from "../support/fake_hub.ts";
import { fakeUpstream } from "../support/fake_upstream.ts";
import { ask, bodyFor, CONFIG as CHAT_CONFIG, listOf, shortAnswer, testEach, TOOLS } from "./support.ts";

const fake = { driver: "chat", baseUrl: "http://upstream.test/v1" };
const at = (upstream: string) => [{ upstream, model: "org/model" }];

/** A model of each task, and a lane that passes every name on. */
const CONFIG: ConfigInput = {
  upstreams: {
    fake,
    tei: { driver: "tei", baseUrl: "http://upstream.test" },
  },
  lanes: {
    oss: {
      models: {
        talker: { task: "chat", targets: at("fake") },
        "claude-talker": { task: "chat", targets: at("fake"), displayName: "Another talker" },
        embedder: { task: "embedding", targets: at("fake") },
        ranker: { task: "rerank", targets: at("fake") },
        "tei-ranker": { task: "rerank", targets: at("tei") },
        listener: { task: "transcription", targets: at("fake") },
        speaker: { task: "speech", targets: at("fake") },
      },
    },
    any: { upstreams: { chat: "fake", embedding: "fake", rerank: "fake", speech: "fake", transcription: "fake" } },
  },
};

function appWith(answer: (body: JsonObject) => unknown) {
  const upstream = fakeUpstream(({ body }) => {
    const reply = answer(body.startsWith("{") ? JSON.parse(body) : {});
    return reply instanceof Response ? reply : Response.json(reply);
  });
  return { app: newApp({ config: CONFIG, fetch: upstream.fetch }), asked: upstream.asked };
}

// Embeddings

const NUMBERS = [0.5, -1.25, 3];
const BASE64 = new Uint8Array(new Float32Array(NUMBERS).buffer).toBase64();

function vectors(of: (at: number) => unknown, order = (list: unknown[]) => list) {
  return ({ input }: JsonObject) => ({
    data: order(listOfInputs(input).map((_, index) => ({ object: "embedding", index, embedding: of(index) }))),
    usage: { prompt_tokens: 7, total_tokens: 7 },
  });
}

function listOfInputs(input: unknown): unknown[] {
  return Array.isArray(input) && typeof input[0] !== "number" ? input : [input];
}

for (const [answers, vector] of Object.entries({ numbers: NUMBERS, base64: BASE64 })) {
  const cases: [says: string, format: JsonObject, wants: unknown][] = [
    ["nothing", {}, NUMBERS],
    ["null", { encoding_format: null }, NUMBERS],
    ["float", { encoding_format: "float" }, NUMBERS],
    ["base64", { encoding_format: "base64" }, BASE64],
  ];
  for (const [says, format, wants] of cases) {
    Deno.test(`R71 a client that says ${says} of the encoding gets what it means, of ${answers} · embeddings`, async () => {
      const { app, asked } = appWith(vectors(() => vector));
      const body = { model: "embedder", input: "Hello", dimensions: null, user: null, ...format };
      const answer = await (await app.post("/oss/v1/embeddings", body)).json();
      assertEquals(answer.data.map(({ embedding }: JsonObject) => embedding), [wants]);
      assert(!asked[0]!.body.includes("null"), asked[0]!.body);
    });
  }
}

const INPUTS: Record<string, unknown> = {
  "a text": "one",
  "texts": ["one", "two", "three"],
  "tokens": [1, 2, 3],
  "lists of tokens": [[1, 2], [3], [4, 5]],
};

for (const [what, input] of Object.entries(INPUTS)) {
  Deno.test(`R72 vectors of ${what} are in the order of the input, and counted · embeddings`, async () => {
    const { app } = appWith(vectors((index) => [index], (list) => list.toReversed()));
    const response = await app.post("/oss/v1/embeddings", { model: "embedder", input });
    const { data, usage } = await response.json();
    const expected = listOfInputs(input).map((_, index) => ({ object: "embedding", index, embedding: [index] }));
    assertEquals([data, usage], [expected, { prompt_tokens: 7, total_tokens: 7 }]);
  });
}

// Rerank

const DOCUMENTS = ["cat", "dog", "fish"];
const BEST = [[2, 0.9], [0, 0.5], [1, 0.1]];

for (
  const [model, answer] of [
    ["ranker", {
      results: [{ index: 0, relevance_score: 0.5 }, { index: 1, relevance_score: 0.1 }, {
        index: 2,
        relevance_score: 0.9,
      }],
    }],
    ["tei-ranker", [{ index: 0, score: 0.5 }, { index: 1, score: 0.1 }, { index: 2, score: 0.9 }]],
  ] as const
) {
  const shapes: Record<string, JsonObject> = {
    "texts": { documents: DOCUMENTS },
    "objects": { documents: DOCUMENTS.map((text) => ({ text })) },
  };
  for (const [what, fields] of Object.entries(shapes)) {
    Deno.test(`R73 a ranking of ${what} is sorted, whole, and by the client's numbers · ${model}`, async () => {
      const { app } = appWith(() => answer);
      const ranking = await (await app.post("/oss/v1/rerank", { model, query: "pet", ...fields })).json();
      assertEquals(listOf(ranking.results).map(({ index, relevance_score }) => [index, relevance_score]), BEST);
    });
  }
}

// Audio

const WAV = new TextEncoder().encode(`RIFF\x24\0\0\0WAVEfmt ${"\0".repeat(100)}`);
const SEGMENTS = [{ id: 0, start: 0, end: 1.5, text: "Hello" }, { id: 1, start: 1.5, end: 2, text: " there" }];
const TRANSCRIPT = { text: "Hello there", language: "english", duration: 2, segments: SEGMENTS };

function form(fields: Record<string, string>): FormData {
  const form = new FormData();
  // The file may come before the fields that say what to do with it.
  form.append("file", new File([WAV], "Grüße 1.wav", { type: "audio/wav" }));
  for (const [name, value] of Object.entries(fields)) form.append(name, value);
  return form;
}

const FORMATS: Record<string, { type: RegExp; says: RegExp }> = {
  json: { type: /^application\/json/, says: /"text":"Hello there"/ },
  verbose_json: { type: /^application\/json/, says: /"segments":\[/ },
  text: { type: /^text\/plain/, says: /^Hello there\n?$/ },
  srt: { type: /^(text\/plain|application\/x-subrip)/, says: /00:00:00,000 --> 00:00:01,500\nHello/ },
  vtt: { type: /^text\/(plain|vtt)/, says: /^WEBVTT\n\n00:00:00\.000 --> 00:00:01\.500\nHello/ },
};

for (const [response_format, { type, says }] of Object.entries(FORMATS)) {
  Deno.test(`R74 a transcript comes as ${response_format} where it was asked for, of the very file · transcription`, async () => {
    const files: File[] = [];
    const app = newApp({
      config: CONFIG,
      async fetch(_url, init) {
        const body = init.body instanceof FormData ? init.body : await new Response(init.body).formData();
        files.push(body.get("file") as File);
        const format = body.get("response_format");
        return format === "text"
          ? new Response("Hello there", { headers: { "content-type": "text/plain" } })
          : Response.json(format === "json" || format === null ? { text: "Hello there" } : TRANSCRIPT);
      },
    });
    const request = { method: "POST", body: form({ model: "listener", response_format }) };
    const response = await app.fetch(new Request("http://gateway/oss/v1/audio/transcriptions", request));
    assertEquals(response.status, 200);
    assertMatch(response.headers.get("content-type") ?? "", type);
    assertMatch(await response.text(), says);
    assertEquals([files[0]!.name, await files[0]!.bytes()], ["Grüße 1.wav", WAV]);
  });
}

const LONG_WAV = new Uint8Array([...WAV, ...new Uint8Array(3 * 2 ** 20)]);

for (
  const [provider, name, want] of [
    ["hf-inference", "a.wav", { type: "audio/wav", bytes: LONG_WAV }],
    ["fal-ai", "a.wav", { type: "application/json", audio: `data:audio/x-wav;base64,${LONG_WAV.toBase64()}` }],
    ["fal-ai", "a.flac", {
      refusal: 'This file is "audio/flac", and fal takes mp3, mp4, mpeg, mpga, m4a, wav and webm',
    }],
  ] as const
) {
  Deno.test(`R75 three megabytes of ${name} go to ${provider} as it takes them, or are refused in clear words`, async () => {
    const hub = fakeHub();
    const sent: { type: string | null; bytes: Uint8Array; audio?: unknown }[] = [];
    const app = newApp({
      config: configSchema.parse(defaults),
      env: { HF_TOKEN: TOKEN },
      async fetch(input, init) {
        const request = new Request(input, init);
        if (request.method === "POST") {
          const type = request.headers.get("content-type");
          const bytes = await request.clone().bytes();
          const audio = type === "application/json" ? JSON.parse(new TextDecoder().decode(bytes)).audio_url : undefined;
          sent.push({ type, bytes, audio });
        }
        return await hub.fetch(request, {});
      },
    });
    const body = new FormData();
    body.set("model", `openai/whisper-large-v3:${provider}`);
    const isWav = name.endsWith("wav");
    body.set("file", new File([isWav ? LONG_WAV : "fLaC"], name, { type: isWav ? "audio/wav" : "audio/flac" }));
    const request = new Request("http://gateway/hf/v1/audio/transcriptions", { method: "POST", body });
    const response = await app.fetch(request);
    const answer = await response.json();
    if ("refusal" in want) {
      assertEquals([response.status, answer.error.message, sent.length], [415, want.refusal, 0]);
      return;
    }
    assertEquals(response.status, 200);
    assertEquals(sent[0]!.type, want.type);
    if ("bytes" in want) assert(want.bytes.every((byte, at) => byte === sent[0]!.bytes[at]));
    else assert(sent[0]!.audio === want.audio);
  });
}

// Models and tokens

Deno.test("R76 the list of models has the shape of the protocol that asks · messages", async () => {
  const { app } = appWith(() => ({}));
  for (const header of [["anthropic-version", "2023-06-01"], ["x-api-key", "any"]] as [string, string][]) {
    const response = await app.get("/oss/v1/models?limit=1000", [header]);
    const { data, ...rest } = await response.json();
    const ids = listOf(data).map(({ id }) => id);
    // Clients of this protocol show the names of its vendor only.
    assertEquals(ids, ["claude-talker"]);
    assertEquals(rest, { has_more: false, first_id: ids[0], last_id: ids.at(-1) });
    for (const { type, display_name, created_at } of listOf(data)) {
      assertEquals([type, typeof display_name], ["model", "string"]);
      assertMatch(String(created_at), /^\d{4}-\d\d-\d\dT/);
    }
    assertEquals(listOf(data)[0]!.display_name, "Another talker");
  }
});

Deno.test("R76 the list of models has the shape of the protocol that asks · chat", async () => {
  const { app } = appWith(() => ({}));
  const { object, data } = await (await app.get("/oss/v1/models")).json();
  assertEquals(object, "list");
  for (const { object, created, owned_by } of listOf(data)) {
    assertEquals([object, typeof created, typeof owned_by], ["model", "number", "string"]);
  }
});

testEach("R77", "tokens are counted high, of the system and the tools too, and nobody is asked", {
  clients: ["messages"],
  modes: ["whole"],
}, async (client) => {
  const upstream = fakeUpstream();
  const app = newApp({ config: CHAT_CONFIG, fetch: upstream.fetch });
  const count = async (more: JsonObject) => {
    const { max_tokens: _, stream: __, ...body } = bodyFor(client, { turns: [turn] });
    const response = await app.post("/oss/v1/messages/count_tokens?beta=true", { ...body, ...more });
    assertEquals(response.status, 200);
    const { input_tokens } = await response.json();
    return Number(input_tokens);
  };
  const asked = "The quick brown fox jumps over the lazy dog. ".repeat(20);
  const turn = { asked, pictures: [], thought: undefined, answered: undefined, calls: [] };
  const alone = await count({});
  // By the vendors' tokenizers it is ten a sentence.
  assert(alone >= 200 && alone < 600, String(alone));
  assert(await count({ system: asked }) >= alone + 200);
  assert(
    await count({ tools: TOOLS.map(({ name }) => ({ name, description: asked, input_schema: {} })) }) >= alone + 400,
  );
  const source = { type: "base64", media_type: "image/png", data: "iVBORw0KGgo=" };
  assert(await count({ messages: [{ role: "user", content: [{ type: "image", source }] }] }) > 0);
  assertEquals(upstream.asked, []);
});

testEach("R77", "counts are not below what the upstream counted itself of such requests", {
  clients: ["messages"],
  modes: ["whole"],
}, async (client) => {
  const stated = 3_000;
  const upstream = fakeUpstream(() => {
    const message = { role: "assistant", content: "Done" };
    const usage = { prompt_tokens: stated, completion_tokens: 1, total_tokens: stated + 1 };
    return Response.json({ choices: [{ index: 0, message, finish_reason: "stop" }], usage });
  });
  const app = newApp({ config: CHAT_CONFIG, fetch: upstream.fetch });
  const asked = "function f(a,b){return a[b]?.c??{...d}}\n".repeat(200);
  const turn = { asked, pictures: [], thought: undefined, answered: undefined, calls: [] };
  const body = bodyFor(client, { turns: [turn] });
  const count = async () => (await (await app.post("/oss/v1/messages/count_tokens", body)).json()).input_tokens;
  assert(await count() < stated);
  await (await app.post("/oss/v1/messages", body)).body?.cancel();
  const calibrated = await count();
  assert(calibrated >= stated * 0.95 && calibrated < stated * 1.1, String(calibrated));
  for (let turn = 0; turn < 5; turn++) await (await app.post("/oss/v1/messages", body)).body?.cancel();
  assert(await count() >= stated);
});

testEach("R77", "a query that the client adds to the path is no other path", {
  clients: ["messages"],
  modes: ["whole"],
}, async (client) => {
  const upstream = fakeUpstream(() => shortAnswer("chat"));
  const app = newApp({ config: CHAT_CONFIG, fetch: upstream.fetch });
  const response = await app.post("/oss/v1/messages?beta=true", bodyFor(client));
  assertEquals(response.status, 200);
  await response.body?.cancel();
});

Deno.test("R77 a client may look first whether somebody is there", async () => {
  const app = newApp({ config: CHAT_CONFIG });
  assertEquals((await app.fetch(new Request("http://gateway/", { method: "HEAD" }))).status, 200);
});

for (const suffix of [":fastest", ":preferred", ":cheapest", ":together"]) {
  const model = `org/name${suffix}`;
  testEach(
    "R78",
    `the policy ${suffix} of a model's name goes to the upstream`,
    { modes: ["whole"] },
    async (client) => {
      const config: ConfigInput = { ...CHAT_CONFIG, lanes: { oss: { upstreams: { chat: "chat" } } } };
      const { status, asked } = await ask(client, { ...bodyFor(client), model }, [() => shortAnswer("chat")], {
        config,
      });
      assertEquals([status, asked[0]!.model], [200, model]);
    },
  );

  Deno.test(`R78 the policy ${suffix} of a model's name goes to the upstream · embeddings`, async () => {
    const { app, asked } = appWith(vectors(() => NUMBERS));
    const response = await app.post("/any/v1/embeddings", { model, input: "Hello" });
    assertEquals([response.status, JSON.parse(asked[0]!.body).model], [200, model]);
    await response.body?.cancel();
  });

  Deno.test(`R78 the policy ${suffix} of a model's name goes to the upstream · rerank`, async () => {
    const { app, asked } = appWith(() => ({ results: [{ index: 0, relevance_score: 0.5 }] }));
    const response = await app.post("/any/v1/rerank", { model, query: "pet", documents: ["cat"] });
    assertEquals([response.status, JSON.parse(asked[0]!.body).model], [200, model]);
    await response.body?.cancel();
  });
}
