/** Ollama's endpoints beside the chat: embeddings, lists, and errors in its own shape. */
import { assertEquals } from "@std/assert";
import { type ConfigInput, ENV, newApp, NOW } from "../../support/app.ts";
import { fakeUpstream } from "../../support/fake_upstream.ts";

const CONFIG = {
  upstreams: { servers: { driver: "embeddings", baseUrl: "http://servers.test/v1" } },
  lanes: {
    oss: {
      models: {
        talk: { task: "chat", contextLength: 8_192, targets: [{ upstream: "servers", model: "org/talk" }] },
        vectors: { task: "embedding", targets: [{ upstream: "servers", model: "org/vectors" }] },
      },
    },
  },
} satisfies ConfigInput;

/** A vector for each input, in which its place stands. */
function newScene() {
  const upstream = fakeUpstream(({ body }) => {
    const { input } = JSON.parse(body);
    const data = input.map((_: unknown, index: number) => ({ index, embedding: [index, 0.5] }));
    return Response.json({ data, usage: { prompt_tokens: 4, total_tokens: 4 } });
  });
  return { app: newApp({ config: CONFIG, fetch: upstream.fetch }), upstream };
}

for (const lane of ["/oss", ""]) {
  Deno.test(`ollama: texts have embeddings, in their order (${lane || "/"})`, async () => {
    for (const [input, embeddings] of [["a", [[0, 0.5]]], [["a", "b"], [[0, 0.5], [1, 0.5]]]]) {
      const { app, upstream } = newScene();
      const body = { model: "vectors", input, dimensions: 2, truncate: false, keep_alive: "5m" };
      const response = await app.post(`${lane}/api/embed`, body);
      const { total_duration, load_duration, ...answer } = await response.json();
      assertEquals(answer, { model: "vectors", embeddings, prompt_eval_count: 4 });
      assertEquals([typeof total_duration, typeof load_duration], ["number", "number"]);
      assertEquals(response.headers.get("x-laneway-notes"), "dropped keep_alive");
      const sent = JSON.parse(upstream.asked[0]!.body);
      assertEquals(sent, { model: "org/vectors", input: [input].flat(), dimensions: 2 });
    }
  });

  Deno.test(`ollama: the older endpoint has the embedding of one text (${lane || "/"})`, async () => {
    const response = await newScene().app.post(`${lane}/api/embeddings`, { model: "vectors", prompt: "a" });
    assertEquals([response.status, await response.json()], [200, { embedding: [0, 0.5] }]);
  });

  Deno.test(`ollama: every chat model is running (${lane || "/"})`, async () => {
    const { models } = await (await newScene().app.get(`${lane}/api/ps`)).json();
    assertEquals(models.map(({ name }: { name: string }) => name), ["talk"]);
    const { model, size, size_vram, digest, expires_at, details } = models[0];
    assertEquals([model, size, size_vram, typeof details], ["talk", 0, 0, "object"]);
    assertEquals([/^[\da-f]{64}$/.test(digest), Date.parse(expires_at) > NOW], [true, true]);
  });
}

Deno.test("ollama: a request to shorten inputs is noted, because nothing does", async () => {
  const response = await newScene().app.post("/oss/api/embed", { model: "vectors", input: "a", truncate: true });
  assertEquals([response.status, response.headers.get("x-laneway-notes")], [200, "dropped truncate"]);
});

Deno.test("ollama: many vectors are those that were asked for", async () => {
  const input = Array.from({ length: 2_000 }, () => "a");
  const upstream = fakeUpstream(({ body }) => {
    const data = JSON.parse(body).input.map((_: unknown, index: number) => ({
      index,
      embedding: Array.from({ length: 64 }, () => 0.25),
    }));
    return Response.json({ data });
  });
  const app = newApp({ config: CONFIG, fetch: upstream.fetch });
  const { embeddings } = await (await app.post("/oss/api/embed", { model: "vectors", input })).json();
  assertEquals([embeddings.length, embeddings.every((one: number[]) => one.length === 64)], [2_000, true]);
});

const BAD: Record<string, [method: string, path: string, body: unknown, status: number]> = {
  "no input": ["POST", "/oss/api/embed", { model: "vectors" }, 400],
  "an empty input": ["POST", "/oss/api/embed", { model: "vectors", input: "" }, 400],
  "no inputs": ["POST", "/oss/api/embed", { model: "vectors", input: [] }, 400],
  "an empty prompt": ["POST", "/oss/api/embeddings", { model: "vectors", prompt: "" }, 400],
  "a model for another task": ["POST", "/oss/api/embed", { model: "talk", input: "a" }, 422],
  "a model that is not there": ["POST", "/oss/api/show", { model: "none" }, 404],
  "no JSON": ["POST", "/oss/api/embed", "{", 400],
  "another method": ["GET", "/oss/api/embed", undefined, 405],
  "a path that is not served": ["POST", "/oss/api/pull", { model: "talk" }, 404],
  "a path that is not served, without a lane": ["DELETE", "/api/delete", { model: "talk" }, 404],
  "a lane that is not there": ["POST", "/other/api/chat", { model: "talk", messages: [] }, 404],
};
for (const [what, [method, path, body, status]] of Object.entries(BAD)) {
  Deno.test(`ollama: an error is a text: ${what}`, async () => {
    const init = {
      method,
      ...(body !== undefined && { body: typeof body === "string" ? body : JSON.stringify(body) }),
    };
    const headers = { "content-type": "application/json" };
    const response = await newScene().app.fetch(new Request(`http://gateway.test${path}`, { ...init, headers }));
    const answer = await response.json();
    assertEquals([response.status, Object.keys(answer), typeof answer.error], [status, ["error"], "string"]);
  });
}

Deno.test("ollama: a missing key is an error of its own shape, on every path", async () => {
  const config = { ...CONFIG, keys: [{ name: "team", secret: { env: "TEAM_KEY" } }] };
  const app = newApp({ config: config as ConfigInput, env: ENV });
  for (const path of ["/oss/api/ps", "/oss/api/nothing", "/api/tags"]) {
    const response = await app.get(path);
    assertEquals([response.status, typeof (await response.json()).error], [401, "string"], path);
  }
});
