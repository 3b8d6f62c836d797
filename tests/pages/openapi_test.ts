/** `GET /openapi.json`: what the gateway says of its own API. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { Ajv2020 } from "ajv/2020";
import { Validator } from "openapi-validator";
import { z } from "zod";
import { protocols } from "../../plugins/mod.ts";
import type { Protocol } from "../../src/contract/protocol.ts";
import { PathPattern } from "../../src/contract/path_pattern.ts";
import type { ResponseObject, Schema } from "../../src/pages/openapi/json.ts";
import { PAGES } from "../../src/pages/mod.ts";
import { CONFIG, ENV, newApp } from "../support/app.ts";
import { ENDPOINTS, payloadOf, serveAll, TURNS } from "../support/endpoints.ts";
import { Checker, operationsOf, readOpenapi, resolved } from "../support/openapi.ts";

const document = await readOpenapi();

Deno.test("openapi: a public validator finds nothing wrong", async () => {
  const { valid, errors } = await new Validator().validate(structuredClone(document) as never);
  assert(valid, JSON.stringify(errors, null, 1));
});

Deno.test("openapi: every schema is a JSON schema whose references are there", () => {
  const ajv = new Ajv2020({ strict: true, strictTypes: false, strictRequired: false, validateFormats: false });
  for (const [name, schema] of Object.entries(document.components.schemas)) {
    assertEquals(ajv.validateSchema(schema), true, `${name}: ${ajv.errorsText()}`);
  }
  const references = JSON.stringify(document).matchAll(/"\$ref":"([^"]+)"/g);
  for (const [, $ref] of references) assert(resolved(document, { $ref: $ref! }), $ref);
});

Deno.test("openapi: every endpoint that the gateway answers is in it, and no other", () => {
  const served = protocols.map(({ method, pattern: { pathname } }) =>
    `${method} ${pathname.replaceAll(/(?<!\\):(\w+)(\(\.\+\))?/g, "{$1}").replace("\\", "")}`
  );
  const own = ["/", "/healthz", "/readyz", ...Object.keys(PAGES)].map((path) => `GET ${path}`);
  const described = Array.from(operationsOf(document), ({ place }) => place);
  assertEquals(described.toSorted(), [...new Set([...served, ...own])].toSorted());
});

Deno.test("openapi: every operation says what it is for, and no two have one id", () => {
  const all = [...operationsOf(document)];
  for (const { place, operation } of all) {
    assert(operation.summary.length > 10, place);
    assert(!operation.summary.includes(": "), `${place} is described by its plugin`);
    assert(Object.keys(operation.responses).some((status) => /^[12]/.test(status)), place);
  }
  assertEquals(new Set(all.map(({ operation }) => operation.operationId)).size, all.length);
});

Deno.test("openapi: it is open to everybody, is JSON, is made once, and is for reading alone", async () => {
  const keys = [{ name: "team", secret: { env: "TEAM_KEY" } }];
  const app = newApp({ config: { ...CONFIG, keys } });
  const response = await app.get("/openapi.json");
  assertEquals([response.status, response.headers.get("content-type")], [200, "application/json"]);
  const text = await response.text();
  assertEquals(await (await app.get("/openapi.json")).text(), text);
  const head = await app.fetch(new Request("http://gateway/openapi.json", { method: "HEAD" }));
  assertEquals([head.status, await head.text()], [200, ""]);
  assertEquals((await app.post("/openapi.json", {})).status, 405);
  assertEquals(app.logs.filter(({ status }) => status === 200), []);
});

Deno.test("openapi: it names no lane, model, upstream, key or secret", async () => {
  const config = {
    ...CONFIG,
    keys: [{ name: "a-key-of-somebody", secret: { env: "TEAM_KEY" } }],
    upstreams: { ...CONFIG.upstreams, "a-secret-upstream": { driver: "chat", baseUrl: "http://hidden.test/v1" } },
    lanes: { ...CONFIG.lanes, "a-lane-of-somebody": CONFIG.lanes.oss },
  };
  assertEquals(await readOpenapi({ config }), document);
  const text = JSON.stringify(document);
  for (const name of ["org/model", "upstream.test", ...Object.values(ENV)]) assert(!text.includes(name), name);
});

Deno.test("openapi: a protocol of somebody's own is in it, described or not", async () => {
  const described: Protocol<"ping"> = {
    name: "own-ping",
    wire: "own",
    operation: "ping",
    method: "GET",
    pattern: new PathPattern("/:lane/own/ping"),
    body: "none",
    parse: () => ({}),
    describe: () => ({
      summary: "Whether the own API is served",
      answer: { "application/json": z.object({ pong: z.literal(true) }) },
    }),
    serialize: () => Response.json({ pong: true }),
    serializeError: (error) =>
      Response.json({ failed: error.code }, { status: error.status === 401 ? 418 : error.status }),
  };
  const { describe: _, ...rest } = described;
  const bare = { ...rest, name: "own-bare", pattern: new PathPattern("/:lane/own/bare/:name") };
  const own = await readOpenapi({ plugins: { protocols: [described, bare] } });
  const [ping, other] = [own.paths["/{lane}/own/ping"]!.get!, own.paths["/{lane}/own/bare/{name}"]!.get!];
  assertEquals(ping.summary, "Whether the own API is served");
  assertEquals(new Checker(own).answer("GET /{lane}/own/ping", 200, { pong: false }).length > 0, true);
  assertStringIncludes(other.summary, "own-bare");
  assert("418" in ping.responses && "418" in other.responses);
  assertEquals(new Checker(own).answer("GET /{lane}/own/ping", 418, { failed: "authentication" }), []);
  assert((await new Validator().validate(structuredClone(own) as never)).valid);
});

/** The place of a request in the document. */
function placeOf(path: string): string {
  const [pathname] = path.split("?");
  return `POST ${pathname!.replace("/oss/", "/{lane}/").replace(/models\/[^:]+:/, "models/{id}:")}`;
}

const checker = new Checker(document);
const MODELS = Object.fromEntries(
  (["chat", "embedding", "rerank", "speech", "transcription", "image"] as const).map((task) => [
    task,
    { task, targets: [{ upstream: "fake", model: task }] },
  ]),
);
const SERVING = { ...CONFIG, lanes: { oss: { models: MODELS } } };

for (const [name, request] of Object.entries(ENDPOINTS)) {
  Deno.test(`openapi: ${name}: what is asked and answered, and every header, is as it says`, async () => {
    const app = newApp({
      config: { ...SERVING, keys: [{ name: "team", secret: { env: "TEAM_KEY" }, quota: { requestsPerMinute: 9 } }] },
      fetch: async (input, init) => {
        const call = new Request(input, init);
        return serveAll({ url: new URL(call.url), body: await call.text() });
      },
    });
    const asked = request((task) => task);
    const place = placeOf(asked.path);
    const headers = { authorization: `Bearer ${ENV.TEAM_KEY}` };
    if (!(asked.body instanceof FormData)) assertEquals(checker.request(place, asked.body), []);
    const response = await app.fetch(
      new Request(`http://gateway${asked.path}`, { method: "POST", headers, body: payloadOf(asked) }),
    );
    const mediaType = response.headers.get("content-type")!.split(";")[0]!;
    const text = await response.text();
    assertEquals(response.status, 200, text);
    if (mediaType === "application/json") {
      assertEquals(checker.answer(place, 200, JSON.parse(text)), []);
    } else if (!mediaType.startsWith("audio/")) {
      for (const data of dataIn(text, mediaType)) assertEquals(checker.answer(place, 200, data, mediaType), []);
    }
    const [, path] = place.split(" ");
    const described = resolved(document, document.paths[path!]!.post!.responses[200]!) as { headers: object };
    const sent = [...response.headers.keys()].filter((header) => /^x-|request-id|ratelimit|retry/.test(header));
    const NOT_OURS = ["x-content-type-options", "x-accel-buffering"];
    assertEquals(sent.filter((header) => !NOT_OURS.includes(header) && !(header in described.headers)), []);
  });

  Deno.test(`openapi: ${name}: every refusal is as it says`, async () => {
    const keys = [{ name: "team", secret: { env: "TEAM_KEY" } }];
    const app = newApp({
      config: { ...SERVING, keys },
      fetch: () => Promise.resolve(new Response("", { status: 500 })),
    });
    const { path, body } = request((task) => task);
    const unknown = request(() => "no-such-model");
    const key = { authorization: `Bearer ${ENV.TEAM_KEY}` };
    const requests: [path: string, body: BodyInit, headers: HeadersInit][] = [
      [path, payloadOf({ path, body }), {}],
      [path, payloadOf({ path, body }), key],
      [path, payloadOf(unknown), key],
      [path, "{", key],
      [path.replace("/oss/", "/none/"), payloadOf({ path, body }), key],
    ];
    for (const [url, body, headers] of requests) {
      const response = await app.fetch(new Request(`http://gateway${url}`, { method: "POST", headers, body }));
      const answer = await response.json();
      assert(response.status >= 400);
      assertEquals(checker.answer(placeOf(path), response.status, answer), [], `${response.status}`);
    }
  });
}

function dataIn(text: string, mediaType: string): unknown[] {
  const lines = text.split("\n").filter((line) => line !== "");
  if (mediaType !== "text/event-stream") return lines.map((line) => JSON.parse(line));
  return lines.filter((line) => line.startsWith("data: ") && line !== "data: [DONE]").map((line) =>
    JSON.parse(line.slice("data: ".length))
  );
}

/** What has no model to run, in an order in which each finds what it asks for. */
const OTHERS: readonly (readonly [place: string, path: string, body?: object, headers?: HeadersInit])[] = [
  ["GET /", "/"],
  ["GET /healthz", "/healthz"],
  ["GET /readyz", "/readyz"],
  ["GET /openapi.json", "/openapi.json"],
  ["GET /status", "/status"],
  ["GET /usage", "/usage"],
  ["GET /{lane}/v1/models", "/oss/v1/models"],
  ["GET /{lane}/v1/models", "/oss/v1/models", undefined, { "anthropic-version": "2023-06-01" }],
  ["GET /{lane}/v1/models", "/oss/v1/models?client_version=1"],
  ["GET /{lane}/v1/models/{id}", "/oss/v1/models/chat"],
  ["GET /{lane}/v1/models/{id}", "/oss/v1/models/chat", undefined, { "x-api-key": "any" }],
  ["GET /{lane}/api/tags", "/oss/api/tags"],
  ["GET /api/version", "/api/version"],
  ["POST /{lane}/api/show", "/oss/api/show", { model: "chat" }],
  ["POST /{lane}/v1/messages/count_tokens", "/oss/v1/messages/count_tokens", {
    model: "chat",
    messages: [{ role: "user", content: "Hello" }],
  }],
  ["POST /{lane}/v1/responses/input_tokens", "/oss/v1/responses/input_tokens", { model: "chat", input: "Hello" }],
  ["POST /{lane}/v2/rerank", "/oss/v2/rerank", { model: "rerank", query: "a", documents: ["a"] }],
  ["POST /{lane}/v1/responses", "/oss/v1/responses", { model: "chat", input: "Hello" }],
  ["GET /{lane}/v1/responses/{id}", "/oss/v1/responses/$id"],
  ["GET /{lane}/v1/responses/{id}/input_items", "/oss/v1/responses/$id/input_items"],
  ["DELETE /{lane}/v1/responses/{id}", "/oss/v1/responses/$id"],
  ["POST /{lane}/v1/conversations", "/oss/v1/conversations", { items: [{ role: "user", content: "Hello" }] }],
  ["GET /{lane}/v1/conversations/{id}", "/oss/v1/conversations/$id"],
  ["POST /{lane}/v1/conversations/{id}", "/oss/v1/conversations/$id", { metadata: { a: "b" } }],
  ["POST /{lane}/v1/conversations/{id}/items", "/oss/v1/conversations/$id/items", {
    items: [{ type: "message", role: "user", content: "More" }],
  }],
  ["GET /{lane}/v1/conversations/{id}/items", "/oss/v1/conversations/$id/items"],
  ["DELETE /{lane}/v1/conversations/{id}", "/oss/v1/conversations/$id"],
];

Deno.test("openapi: what needs no model is asked and answered as it says", async () => {
  const app = newApp({
    config: { ...SERVING, usage: {} },
    fetch: async (input, init) => {
      const call = new Request(input, init);
      return serveAll({ url: new URL(call.url), body: await call.text() });
    },
  });
  let id = "";
  for (const [place, path, body, headers] of OTHERS) {
    if (body) assertEquals(checker.request(place, body), [], place);
    const [method] = place.split(" ");
    const init = { method, headers, ...(body && { body: JSON.stringify(body) }) };
    const response = await app.fetch(new Request(`http://gateway${path.replace("$id", id)}`, init));
    const answer = await response.json();
    assertEquals(response.status, 200, `${place}: ${JSON.stringify(answer)}`);
    assertEquals(checker.answer(place, 200, answer), [], place);
    if (path === "/oss/v1/responses" || path === "/oss/v1/conversations") id = answer.id;
  }
  await app.close();
});

Deno.test("openapi: what a key with a budget used, and how the upstreams are, is as it says", async () => {
  const price = { input: 1, output: 1 };
  const app = newApp({
    config: {
      ...SERVING,
      lanes: { oss: { models: { chat: { ...MODELS.chat!, price } } } },
      keys: [{ name: "team", secret: { env: "TEAM_KEY" }, operator: true, budget: { dollars: 5, period: "day" } }],
      usage: {},
    },
    fetch: async (input, init) => {
      const call = new Request(input, init);
      return serveAll({ url: new URL(call.url), body: await call.text() });
    },
  });
  const headers = { authorization: `Bearer ${ENV.TEAM_KEY}` };
  await (await app.post("/oss/v1/chat/completions", { model: "chat", messages: TURNS }, headers)).text();
  for (const path of ["/usage", "/status"]) {
    const answer = await (await app.get(path, headers)).json();
    assertEquals(checker.answer(`GET ${path}`, 200, answer), []);
    const { content } = document.paths[path]!.get!.responses[200] as ResponseObject;
    const { properties } = resolved<Schema>(document, content!["application/json"]!.schema!);
    assertEquals(Object.keys(answer).filter((name) => !(name in (properties as object))), []);
  }
  await app.close();
});

Deno.test("openapi: what is not as it says is found", () => {
  const place = "POST /{lane}/v1/chat/completions";
  assert(checker.request(place, { model: "m", messages: [] }).length > 0);
  assert(checker.request(place, { messages: [{ role: "user", content: "a" }] }).length > 0);
  assert(checker.answer(place, 200, { id: "1", object: "chat.completion", choices: [] }).length > 0);
  assert(checker.answer(place, 200, {}, "text/event-stream").length > 0);
  assert(checker.answer(place, 400, { error: { message: "a", type: "other", param: null, code: null } }).length > 0);
});
