/** `x-laneway-explain`: what a request would become, with nobody called. */
import { assert, assertEquals, assertObjectMatch } from "@std/assert";
import { CONFIG, type ConfigInput, ENV, newApp } from "./support/app.ts";

const EXPLAIN = { "x-laneway-explain": "true" };

const config: ConfigInput = {
  ...CONFIG,
  upstreams: {
    ...CONFIG.upstreams,
    fake: { ...CONFIG.upstreams.fake, refuses: ["user"], headers: { "x-team": "blue", "x-api-key": "k-4f5e6d" } },
    bare: { driver: "messages", baseUrl: "http://bare.test/v1", secret: { env: "UNSET" } },
    ears: { driver: "audio", baseUrl: "http://ears.test/v1" },
  },
  lanes: {
    oss: {
      models: {
        ...CONFIG.lanes.oss.models,
        both: {
          task: "chat",
          targets: [{ upstream: "fake", model: "org/model" }, { upstream: "bare", model: "bare" }],
        },
        ears: { task: "transcription", targets: [{ upstream: "ears", model: "whisper" }] },
      },
    },
  },
};

function newExplained() {
  const called: string[] = [];
  const app = newApp({ config, fetch: (url) => (called.push(url), Promise.reject(new TypeError("Nobody is called"))) });
  return { app, called };
}

for (
  const [wire, path, body] of [
    ["chat", "chat/completions", { messages: [{ role: "user", content: "Hi" }], user: "u" }],
    ["messages", "messages", { max_tokens: 5, messages: [{ role: "user", content: "Hi" }] }],
    ["responses", "responses", { input: "Hi", user: "u" }],
  ] as const
) {
  for (const stream of [false, true]) {
    Deno.test(`explain: ${wire}, ${stream ? "streamed" : "whole"}: every target, its calls, and no secret`, async () => {
      const { app, called } = newExplained();
      const response = await app.post(`/oss/v1/${path}`, { model: "both", stream, ...body }, EXPLAIN);
      assertEquals(response.status, 200);
      const text = await response.text();
      for (const secret of [ENV.UPSTREAM_SECRET!, "k-4f5e6d"]) assert(!text.includes(secret));
      const told = JSON.parse(text);
      assertObjectMatch(told, { object: "explanation", operation: "generate", lane: "oss", model: "both" });
      const [first, second] = told.targets;
      assertObjectMatch(first, {
        target: "fake/org/model",
        driver: "chat",
        requests: [{
          method: "POST",
          url: "http://upstream.test/v1/chat/completions",
          headers: { authorization: "Bearer ***", "x-api-key": "***", "x-team": "blue" },
          body: { model: "org/model", messages: [{ role: "user", content: "Hi" }] },
        }],
      });
      assertEquals("user" in first.requests[0].body, false);
      if (wire === "chat") assertEquals(first.notes, ["dropped user"]);
      assertEquals([second.target, second.error.code], ["bare/bare", "unavailable"]);
      assertEquals(called, []);
      assertEquals(app.logs.map(({ status }) => status), [200]);
    });
  }
}

Deno.test("explain: a strict request is explained and not refused, the embedded upstream makes no call", async () => {
  const { app } = newExplained();
  const body = { model: "sandbox", messages: [{ role: "user", content: "Hi" }], user: "u" };
  const response = await app.post("/oss/v1/chat/completions", body, { ...EXPLAIN, "x-laneway-strict": "true" });
  assertEquals((await response.json()).targets.map(({ requests }: { requests: unknown }) => requests), [[]]);
});

Deno.test("explain: of a file is told what it is, and nothing of what is in it", async () => {
  const { app, called } = newExplained();
  const form = new FormData();
  form.append("model", "ears");
  form.append("file", new Blob(["RIFF....WAVEfmt "]), "a.wav");
  const url = "http://gateway/oss/v1/audio/transcriptions";
  const response = await app.fetch(new Request(url, { method: "POST", headers: EXPLAIN, body: form }));
  const [{ requests }] = (await response.json()).targets;
  assertEquals(requests[0].body.at(-1), { name: "file", file: { name: "a.wav", type: "audio/wav", bytes: 16 } });
  assertEquals(called, []);
});

Deno.test("explain: what is wrong with the request is told as ever", async () => {
  const { app } = newExplained();
  assertEquals((await app.post("/oss/v1/embeddings", { model: "both", input: "a" }, EXPLAIN)).status, 422);
  assertEquals((await app.post("/oss/v1/embeddings", { model: "none", input: "a" }, EXPLAIN)).status, 404);
});
