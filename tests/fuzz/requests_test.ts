/** Requests as no client should send them, to every endpoint, in front of upstreams of each wire and the sandbox. */
import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import type { JsonObject, JsonValue } from "../../src/canonical/json.ts";
import { CONFIG as WIRES, HELLO, shortAnswer, streamed, type Wire } from "../regressions/support.ts";
import { assertAnswer, assertError } from "../support/answer_shapes.ts";
import { type ConfigInput, newApp, type TestApp } from "../support/app.ts";
import { fakeUpstream } from "../support/fake_upstream.ts";
import { type Fixture, loadFixtures } from "../support/fixtures.ts";
import { assertSound, damaged, damages, fuzz, HOSTILE_NAMES, hostileJson } from "../support/fuzz.ts";
import { LAW_INPUTS } from "../support/law_inputs.ts";

const SANDBOX = { upstream: "sandbox", model: "sandbox" };

const CONFIG: ConfigInput = {
  upstreams: {
    ...WIRES.upstreams,
    sandbox: { driver: "sandbox" },
    hub: { driver: "hub", baseUrl: "http://upstream.test", secret: { env: "UPSTREAM_SECRET" } },
    tei: { driver: "tei", baseUrl: "http://upstream.test", secret: { env: "UPSTREAM_SECRET" } },
  },
  lanes: {
    oss: {
      models: {
        ...WIRES.lanes.oss.models,
        sandbox: { task: "chat", targets: [SANDBOX] },
        vectors: { task: "embedding", targets: [SANDBOX] },
        ranks: { task: "rerank", targets: [SANDBOX] },
        voice: { task: "speech", targets: [SANDBOX] },
        ears: { task: "transcription", targets: [SANDBOX] },
        "tei-vectors": { task: "embedding", targets: [{ upstream: "tei", model: "m" }] },
        "tei-ranks": { task: "rerank", targets: [{ upstream: "tei", model: "m" }] },
      },
    },
    any: {
      upstreams: { chat: "chat", embedding: "hub", rerank: "hub", speech: "hub", transcription: "hub" },
    },
  },
};

function wireOf(url: URL, body: string): { wire: Wire; stream: boolean } {
  const wire = url.pathname.endsWith("/messages")
    ? "messages"
    : url.pathname.endsWith("/responses")
    ? "responses"
    : "chat";
  return { wire, stream: /"stream":true/.test(body) };
}

const STREAM = HELLO.frames!.replaceAll('{"model"', '{"id":"chatcmpl-1","object":"chat.completion.chunk","model"');

function newGateway(): TestApp {
  const upstream = fakeUpstream(({ url, body }) => {
    const { wire, stream } = wireOf(url, body);
    return stream && wire === "chat" ? streamed(STREAM) : shortAnswer(wire);
  });
  return newApp({ config: CONFIG, fetch: upstream.fetch });
}

const JSON_HEADERS = { "content-type": "application/json" };

const headersFor = (wire: string): Record<string, string> =>
  wire === "messages" ? { ...JSON_HEADERS, "anthropic-version": "2023-06-01" } : JSON_HEADERS;

const model = fc.constantFrom("chat", "messages", "responses", "sandbox");

for (const { wire, request } of LAW_INPUTS) {
  const asked = loadFixtures(wire.name).map(({ request: { body } }: Fixture) => body);
  const bodies = hostileJson(
    fc.tuple(fc.oneof(fc.constantFrom(...asked), request as fc.Arbitrary<JsonValue>), model)
      .map(([body, model]) => ({ ...body as JsonObject, model })),
  );
  const path = {
    chat: "/oss/v1/chat/completions",
    messages: "/oss/v1/messages",
    responses: "/oss/v1/responses",
  }[wire.name as Wire];
  fuzz(`${wire.name}: requests`, 80, bodies, async (body) => {
    const app = newGateway();
    const response = await app.post(path, body, headersFor(wire.name));
    const text = await response.text();
    assertSound(app, response.status, text);
    await assertAnswer(wire.name as Wire, response, text);
  });

  if (wire.name === "chat") continue;
  const counts = wire.name === "messages" ? `${path}/count_tokens` : `${path}/input_tokens`;
  fuzz(`${wire.name}: requests to count tokens`, 20, bodies, async (body) => {
    const app = newGateway();
    const response = await app.post(counts, body, headersFor(wire.name));
    const text = await response.text();
    assertSound(app, response.status, text);
    if (!response.ok) return assertError(wire.name, JSON.parse(text));
    assert(Number.isInteger(JSON.parse(text).input_tokens), text);
  });
}

// Other endpoints

async function assertOther(app: TestApp, response: Response): Promise<void> {
  const bytes = await response.bytes();
  const text = new TextDecoder().decode(bytes);
  assertSound(app, response.status, text);
  if (response.status >= 400) return assertError("chat", JSON.parse(text));
  assertEquals(response.status, 200);
  if (response.headers.get("content-type")?.startsWith("application/json")) JSON.parse(text);
}

const BODIES: Record<string, JsonObject[]> = {
  "/oss/v1/embeddings": [
    { model: "vectors", input: ["a", "b"], encoding_format: "base64", dimensions: 4, user: "u" },
    { model: "tei-vectors", input: "a", encoding_format: "float" },
    { model: "vectors", input: [[1, 2], [3]] },
  ],
  "/oss/v1/rerank": [
    { model: "ranks", query: "a", documents: ["a", { text: "b" }], top_n: 1, return_documents: true },
    { model: "tei-ranks", query: "a", documents: [{ title: "a", text: "b" }], rank_fields: ["title"] },
  ],
  "/oss/v2/rerank": [{ model: "ranks", query: "a", documents: ["a", "b"], max_tokens_per_doc: 5 }],
  "/oss/v1/audio/speech": [
    { model: "voice", input: "Hello", voice: "alloy", response_format: "wav", speed: 1, instructions: "a" },
    { model: "voice", input: "Hello", voice: { id: "a" }, stream_format: "sse" },
  ],
};

for (const [path, valid] of Object.entries(BODIES)) {
  fuzz(`${path}: requests`, 40, hostileJson(fc.constantFrom(...valid)), async (body) => {
    const app = newGateway();
    await assertOther(app, await app.post(path, body, JSON_HEADERS));
  });
}

/** A form as clients write it, of the fields that are known and of others. */
const FORM = (file: string) =>
  '--b\r\ncontent-disposition: form-data; name="model"\r\n\r\nears\r\n' +
  '--b\r\ncontent-disposition: form-data; name="response_format"\r\n\r\nverbose_json\r\n' +
  '--b\r\ncontent-disposition: form-data; name="timestamp_granularities[]"\r\n\r\nword\r\n' +
  '--b\r\ncontent-disposition: form-data; name="temperature"\r\n\r\n0.5\r\n' +
  '--b\r\ncontent-disposition: form-data; name="stream"\r\n\r\nfalse\r\n' +
  '--b\r\ncontent-disposition: form-data; name="language"\r\n\r\nen\r\n' +
  `--b\r\ncontent-disposition: form-data; name="file"; filename="a.wav"\r\ncontent-type: audio/wav\r\n\r\n${file}\r\n--b--\r\n`;

const formTexts = fc.tuple(
  fc.constantFrom("RIFF\x24\0\0\0WAVEfmt aaaaaaaaaaaa", "ID3\x04aaa", "", "\r\n--", "a\r\n".repeat(1_000)),
  fc.array(
    fc.tuple(
      fc.constantFrom(
        "model",
        "ears",
        "response_format",
        "verbose_json",
        "word",
        "0.5",
        "file",
        "a.wav",
        "form-data",
        "--b",
        "\r\n",
      ),
      fc.constantFrom(
        ...HOSTILE_NAMES,
        "__proto__",
        "NaN",
        "1e400",
        'a"; b="',
        "\r\n\r\n",
        "srt",
        "diarized_json",
        "voice",
      ),
    ),
    { maxLength: 2 },
  ),
  damages,
).map(([file, swaps, hurt]) =>
  damaged(swaps.reduce((form, [from, to]) => form.replace(from, () => to), FORM(file)), hurt)
);

fuzz(
  "forms",
  60,
  fc.tuple(
    fc.constantFrom("/oss/v1/audio/transcriptions", "/oss/v1/audio/translations", "/v1/audio/translations"),
    formTexts,
  ),
  async ([path, text]) => {
    const app = newGateway();
    const body = Uint8Array.from(text, (char) => char.charCodeAt(0) & 0xff);
    const init = { method: "POST", body, headers: { "content-type": "multipart/form-data; boundary=b" } };
    await assertOther(app, await app.fetch(new Request(`http://gateway${path}`, init)));
  },
);

const segment = fc.oneof(
  fc.constantFrom(
    ...HOSTILE_NAMES.map(encodeURIComponentLoosely),
    "%",
    "%ff",
    "%2e%2e",
    "..",
    ":",
    "*",
    "oss",
    "any",
    "v1",
    "models",
    "responses",
    "input_items",
    "resp_1",
    "a%2Fb",
    "cancel",
  ),
  fc.string({ unit: "binary-ascii", maxLength: 8 }).map(encodeURIComponent),
);

function encodeURIComponentLoosely(text: string): string {
  return encodeURIComponent(text.toWellFormed());
}

const QUERY = fc.constantFrom(
  "",
  "?limit=-1",
  "?limit=1e9",
  "?limit=__proto__",
  "?after=msg_1_in0&order=asc",
  "?after=%00",
  "?order=constructor",
  "?task=__proto__",
  "?task=chat",
  "?include[]=a",
  "?client_version=1",
  "?limit=&after=&order=",
);

fuzz(
  "paths, methods, queries and ids",
  80,
  fc.tuple(
    fc.constantFrom("GET", "POST", "DELETE", "HEAD", "PUT", "OPTIONS", "PATCH"),
    fc.oneof(
      fc.tuple(
        fc.constantFrom("/oss/v1/models", "/any/v1/models", "/oss/v1/responses"),
        fc.array(segment, { maxLength: 3 }),
      ).map(([path, rest]) => [path, ...rest].join("/")),
      fc.array(segment, { maxLength: 5 }).map((all) => `/${all.join("/")}`),
    ),
    QUERY,
    fc.constantFrom<Record<string, string>>(
      {},
      { "anthropic-version": "x" },
      { authorization: "Bearer \u00ff" },
      { "content-encoding": "gzip" },
      { "content-length": "-1" },
      { upgrade: "websocket" },
      { "x-laneway-explain": "true" },
    ),
  ),
  async ([method, path, query, headers]) => {
    const app = newGateway();
    const request = new Request(`http://gateway${path}${query}`, {
      method,
      headers,
      ...(method === "POST" && { body: "{}" }),
    });
    const response = await app.fetch(request);
    const text = await response.text();
    assertSound(app, response.status, text);
    if (response.status >= 400 && text !== "") {
      assertError(JSON.parse(text).type === "error" ? "messages" : "chat", JSON.parse(text));
    }
  },
);

/** What a stored answer is asked for again. */
const stored = hostileJson(fc.constantFrom<JsonValue>(
  { model: "sandbox", input: "Hello", store: true },
  { model: "sandbox", input: [{ type: "message", role: "user", content: "Hello", id: "msg_a" }], metadata: { a: "b" } },
));

fuzz("stored responses, and their input items", 30, fc.tuple(stored, QUERY), async ([body, query]) => {
  const app = newGateway();
  const first = await app.post("/oss/v1/responses", body, JSON_HEADERS);
  const text = await first.text();
  assertSound(app, first.status, text);
  const id = first.ok && !first.headers.get("content-type")?.startsWith("text/event") ? JSON.parse(text).id : "resp_1";
  for (const path of [`/oss/v1/responses/${id}`, `/oss/v1/responses/${id}/input_items${query}`]) {
    const response = await app.get(path);
    const told = await response.text();
    assertSound(app, response.status, told);
    for (const { error, cause } of app.logs) if (error === "internal") throw new Error("It failed", { cause });
    if (!response.ok) assertError("responses", JSON.parse(told));
  }
});
