/** Requests as no client should send them, to every endpoint; and the gateway that gets them. */
import fc from "fast-check";
import type { JsonObject, JsonValue } from "../../src/canonical/json.ts";
import { CONFIG as WIRES, HELLO, PATH, shortAnswer, streamed, type Wire } from "../regressions/support.ts";
import type { ConfigInput } from "./app.ts";
import { png } from "./fake_hub/pictures.ts";
import type { Asked } from "./fake_upstream.ts";
import { type Fixture, loadFixtures } from "./fixtures.ts";
import { damaged, damages, HOSTILE_NAMES, hostileJson } from "./fuzz.ts";
import { LAW_INPUTS } from "./law_inputs.ts";

/** One request, as a client writes it. */
export interface HostileRequest {
  method: string;
  path: string;
  headers: Record<string, string>;
  body?: string | Uint8Array<ArrayBuffer>;
}

const SANDBOX = { upstream: "sandbox", model: "sandbox" };

export const HOSTILE_CONFIG: ConfigInput = {
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
        brush: { task: "image", targets: [SANDBOX] },
        "tei-vectors": { task: "embedding", targets: [{ upstream: "tei", model: "m" }] },
        "tei-ranks": { task: "rerank", targets: [{ upstream: "tei", model: "m" }] },
      },
    },
    any: {
      upstreams: { chat: "chat", embedding: "hub", rerank: "hub", speech: "hub", transcription: "hub", image: "hub" },
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

/** Answers as a healthy upstream of any wire does. */
export function answerWell({ url, body }: Pick<Asked, "url" | "body">): Response {
  const { wire, stream } = wireOf(url, body);
  return stream && wire === "chat" ? streamed(STREAM) : shortAnswer(wire);
}

export const JSON_HEADERS = { "content-type": "application/json" };

export const headersFor = (wire: string): Record<string, string> =>
  wire === "messages" ? { ...JSON_HEADERS, "anthropic-version": "2023-06-01" } : JSON_HEADERS;

const model = fc.constantFrom("chat", "messages", "responses", "sandbox");

/** Bodies for the endpoints of each wire. */
export const HOSTILE_BODIES: readonly { wire: Wire; path: string; countPath?: string; bodies: fc.Arbitrary<string> }[] =
  LAW_INPUTS.map(({ wire, request }) => {
    const asked = loadFixtures(wire.name).map(({ request: { body } }: Fixture) => body);
    const bodies = hostileJson(
      fc.tuple(fc.oneof(fc.constantFrom(...asked), request as fc.Arbitrary<JsonValue>), model)
        .map(([body, model]) => ({ ...body as JsonObject, model })),
    );
    const name = wire.name as Wire;
    const counts = { chat: undefined, messages: "count_tokens", responses: "input_tokens" }[name];
    return { wire: name, path: PATH[name], bodies, ...(counts && { countPath: `${PATH[name]}/${counts}` }) };
  });

const CONTENTS: JsonObject = {
  contents: [
    { role: "user", parts: [{ text: "Look" }, { inlineData: { mimeType: "image/png", data: "iVBORw0KGgo=" } }] },
    {
      role: "model",
      parts: [
        { text: "Hm", thought: true },
        { functionCall: { id: "c", name: "look", args: { a: [1] } }, thoughtSignature: "bHcxLkFBQUE=" },
      ],
    },
    { role: "user", parts: [{ functionResponse: { id: "c", name: "look", response: { output: "Found" } } }] },
  ],
  system_instruction: { parts: [{ text: "Be brief" }] },
  tools: [{
    functionDeclarations: [{
      name: "look",
      parameters: { type: "OBJECT", properties: { a: { type: "ARRAY", items: { type: "NUMBER" }, nullable: true } } },
    }],
  }, { googleSearch: {} }],
  toolConfig: { functionCallingConfig: { mode: "ANY", allowedFunctionNames: ["look"] } },
  generationConfig: {
    topK: 3,
    stopSequences: ["X"],
    responseMimeType: "application/json",
    responseSchema: { type: "OBJECT", properties: { a: { type: "STRING" } }, propertyOrdering: ["a"] },
    thinkingConfig: { includeThoughts: true, thinkingBudget: 100 },
  },
};

const PICTURE = `data:image/png;base64,${png("a", 2, 2).toBase64()}`;

/** Valid bodies for each of the other endpoints that take JSON. */
export const OTHER_BODIES: Record<string, JsonObject[]> = {
  "/oss/v1/embeddings": [
    { model: "vectors", input: ["a", "b"], encoding_format: "base64", dimensions: 4, user: "u" },
    { model: "tei-vectors", input: "a", encoding_format: "float" },
    { model: "vectors", input: [[1, 2], [3]] },
  ],
  "/oss/v1beta/models/chat:generateContent": [CONTENTS],
  "/oss/v1beta/models/messages:streamGenerateContent?alt=sse": [CONTENTS],
  "/oss/v1/models/responses:streamGenerateContent": [CONTENTS],
  "/oss/v1/models/chat:countTokens": [CONTENTS, { generate_content_request: CONTENTS }],
  "/oss/v1/models/vectors:embedContent": [{ content: { parts: [{ text: "a" }] }, outputDimensionality: 4 }],
  "/oss/v1/models/vectors:batchEmbedContents": [{
    requests: ["a", "b"].map((text) => ({ content: { parts: [{ text }] } })),
  }],
  "/oss/v1/rerank": [
    { model: "ranks", query: "a", documents: ["a", { text: "b" }], top_n: 1, return_documents: true },
    { model: "tei-ranks", query: "a", documents: [{ title: "a", text: "b" }], rank_fields: ["title"] },
  ],
  "/oss/v1/decisions": [
    {
      model: "sandbox",
      input: [
        { role: "developer", content: "a" },
        {
          role: "user",
          content: [{ type: "input_json", data: { a: 1 } }, {
            type: "input_image",
            image_url: "data:image/png;base64,aGk=",
          }],
        },
        { type: "function_call", call_id: "c", name: "f", arguments: "{}" },
        { type: "function_call_output", call_id: "c", output: "a" },
      ],
      questions: [
        { type: "predicate", name: "a", instructions: "a" },
        {
          type: "choice",
          instructions: [{ type: "input_text", text: "a" }],
          choices: [{ value: "a", description: "b" }, { value: true }],
        },
        { type: "score", instructions: "a", levels: [{ label: "a" }, { label: "b", description: "c" }] },
      ],
      prompt_cache_key: "a",
    },
    {
      model: "sandbox",
      input: { a: 1 },
      images: ["https://images.test/a.png"],
      questions: [
        { id: "a", type: "yes_no", question: "a", yes: "b" },
        { id: "b", type: "choice", question: "a", options: [{ name: "a", description: "b" }, { name: "b" }] },
        { id: "c", type: "score", question: "a", levels: ["a", "b"] },
      ],
    },
  ],
  "/oss/v1/systemone": [{
    model: "sandbox",
    state: [{ a: 1 }],
    images: ["https://images.test/a.png", { content_type: "image/png", base64: "aGk=" }],
    questions: {
      a: { type: "noul", instructions: "a", criteria: { true: "b", false: "c" } },
      b: { type: "choice", instructions: "a", criteria: { a: "b", c: null } },
      c: { type: "score", criteria: ["a", "b"] },
    },
  }],
  "/oss/v2/rerank": [{ model: "ranks", query: "a", documents: ["a", "b"], max_tokens_per_doc: 5 }],
  "/oss/v1/images/generations": [
    { model: "brush", prompt: "a", n: 2, size: "64x32", quality: "high", background: "transparent", seed: 1 },
    { model: "brush", prompt: "a", stream: true, partial_images: 2, output_format: "webp", response_format: "url" },
  ],
  "/oss/v1/images/edits": [
    { model: "brush", prompt: "a", images: [{ image_url: PICTURE }], mask: { image_url: PICTURE } },
    { model: "brush", prompt: "a", images: [{ file_id: "file-1" }, { image_url: "https://a.test/b.png" }] },
  ],
  "/oss/v1/audio/speech": [
    { model: "voice", input: "Hello", voice: "alloy", response_format: "wav", speed: 1, instructions: "a" },
    { model: "voice", input: "Hello", voice: { id: "a" }, stream_format: "sse" },
  ],
};

/** A form as clients write it, of the fields that are known and of others. */
const FORM = (file: string) =>
  '--b\r\ncontent-disposition: form-data; name="model"\r\n\r\nears\r\n' +
  '--b\r\ncontent-disposition: form-data; name="response_format"\r\n\r\nverbose_json\r\n' +
  '--b\r\ncontent-disposition: form-data; name="timestamp_granularities[]"\r\n\r\nword\r\n' +
  '--b\r\ncontent-disposition: form-data; name="temperature"\r\n\r\n0.5\r\n' +
  '--b\r\ncontent-disposition: form-data; name="stream"\r\n\r\nfalse\r\n' +
  '--b\r\ncontent-disposition: form-data; name="language"\r\n\r\nen\r\n' +
  `--b\r\ncontent-disposition: form-data; name="file"; filename="a.wav"\r\ncontent-type: audio/wav\r\n\r\n${file}\r\n--b--\r\n`;

export const hostileForms = fc.tuple(
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

export const FORM_PATHS = ["/oss/v1/audio/transcriptions", "/oss/v1/audio/translations", "/v1/audio/translations"];

/** A form as it goes over the wire. */
export function asForm(path: string, text: string): HostileRequest {
  const body = Uint8Array.from(text, (char) => char.charCodeAt(0) & 0xff);
  return { method: "POST", path, headers: { "content-type": "multipart/form-data; boundary=b" }, body };
}

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

export const QUERY = fc.constantFrom(
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

/** Requests to all paths, in all ways. */
export const hostilePaths: fc.Arbitrary<HostileRequest> = fc.tuple(
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
).map(([method, path, query, headers]) => ({
  method,
  path: path + query,
  headers,
  ...(method === "POST" && { body: "{}" }),
}));

/** Bodies of requests whose answers are stored. */
export const storedBodies = hostileJson(fc.constantFrom<JsonValue>(
  { model: "sandbox", input: "Hello", store: true },
  { model: "sandbox", input: [{ type: "message", role: "user", content: "Hello", id: "msg_a" }], metadata: { a: "b" } },
));
