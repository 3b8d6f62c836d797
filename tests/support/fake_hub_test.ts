import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { sniffMedia } from "../../src/canonical/media.ts";
import { newApp } from "./app.ts";
import { devConfig, devEnv } from "./dev_hub.ts";
import { type FakeHub, fakeHub, HOSTS, SOUNDS, TOKEN } from "./fake_hub.ts";
import { hear } from "./fake_hub/sounds.ts";
import { serveHub } from "./fake_hub/server.ts";
import { embed } from "./fake_hub/texts.ts";

const ROUTER = `https://${HOSTS.router}`;
const AUTHORIZATION = { authorization: `Bearer ${TOKEN}` };

function post(hub: FakeHub, path: string, body: unknown): Promise<Response> {
  return hub.fetch(`${ROUTER}${path}`, { method: "POST", headers: AUTHORIZATION, body: JSON.stringify(body) });
}

Deno.test("fake hub: similar texts have similar vectors", () => {
  const likeness = (a: string, b: string) => embed(a).reduce((sum, value, at) => sum + value * embed(b)[at]!, 0);
  assert(likeness("a red apple", "a green apple") > likeness("a red apple", "the stock market fell"));
  assertEquals(Math.round(likeness("same words", "Same words!") * 1e6), 1e6);
});

for (const [format, { mediaType, speak }] of Object.entries(SOUNDS).filter(([format]) => format !== "pcm")) {
  Deno.test(`fake hub: what is spoken as ${format} is such a file, and is heard again`, () => {
    const bytes = speak("Grüße, wie geht's?");
    assertEquals(sniffMedia(bytes), mediaType === "audio/opus" ? "audio/ogg" : mediaType);
    assertEquals(hear(bytes), "Grüße, wie geht's?");
  });
}

Deno.test("fake hub: 33 texts are too many for one call of the hub's own engine", async () => {
  const path = "/hf-inference/models/BAAI/bge-m3/pipeline/feature-extraction";
  const answer = await post(fakeHub(), path, { inputs: new Array(33).fill("a") });
  assertEquals([answer.status, (await answer.json()).error_type], [422, "Validation"]);
  const most = await post(fakeHub(), path, { inputs: new Array(32).fill("a") });
  assertEquals([most.status, most.headers.get("x-compute-tokens")], [200, "96"]);
  await most.body?.cancel();
});

Deno.test("fake hub: a prediction is worked on for a while, and its file is there for all who bring no credential", async () => {
  const hub = fakeHub();
  const body = { version: "f559560eb822dc509045f3921a1921234918b917", input: { text: "Hello" } };
  const { id, status } = await (await post(hub, "/replicate/v1/predictions", body)).json();
  const poll = async () =>
    await (await hub.fetch(`${ROUTER}/replicate/v1/predictions/${id}`, { headers: AUTHORIZATION })).json();
  assertEquals([status, (await poll()).status], ["starting", "processing"]);
  const { output } = await poll();
  const file = await hub.fetch(output);
  assertEquals(hear(await file.bytes()), "Hello");
  const refused = await hub.fetch(output, { headers: AUTHORIZATION });
  assertEquals(refused.status, 400);
  await refused.body?.cancel();
});

Deno.test("fake hub: a provider refuses a model that is not live there, and anybody without the token", async () => {
  for (const [provider, answered] of [["together", 200], ["scaleway", 400], ["nobody", 404]] as const) {
    const body = { model: "intfloat/multilingual-e5-large-instruct", input: "a" };
    const answer = await post(fakeHub(), `/${provider}/v1/embeddings`, body);
    assertEquals(answer.status, answered);
    await answer.body?.cancel();
  }
  const stranger = await fakeHub().fetch(`${ROUTER}/together/v1/embeddings`, { method: "POST", body: "{}" });
  assertEquals(stranger.status, 401);
  await stranger.body?.cancel();
});

Deno.test("fake hub: in front of its server the default configuration answers every task on both lanes", async () => {
  const hub = fakeHub({ pageSize: 3 });
  const { origin, stop } = serveHub(hub);
  const app = newApp({ config: devConfig(origin), env: { HF_TOKEN: devEnv("HF_TOKEN")! }, fetch });
  const json = async (path: string, body: unknown) => await (await app.post(path, body)).json();

  const { data } = await (await app.get("/hf/v1/models")).json();
  const tasks = data.map(({ task }: { task: string }) => task);
  for (const task of ["chat", "embedding", "rerank", "speech", "transcription", "image"]) {
    assert(tasks.includes(task), task);
  }

  for (const path of ["/hf/v1/embeddings", "/oss/v1/embeddings"]) {
    const model = path.startsWith("/hf") ? "sentence-transformers/all-MiniLM-L6-v2" : "qwen3-embedding-8b";
    const { data } = await json(path, { model, input: new Array(40).fill("a").concat("b") });
    assertEquals(data.map(({ index }: { index: number }) => index), Array.from({ length: 41 }, (_, index) => index));
  }
  const { results } = await json("/oss/v1/rerank", {
    model: "bge-reranker-v2-m3",
    query: "apple",
    documents: ["a pear", "an apple"],
  });
  assertEquals(results.map(({ index }: { index: number }) => index), [1, 0]);

  for (
    const [speaker, hearer] of [
      ["together", "together"],
      ["deepinfra", "hf-inference"],
      ["fal-ai", "fal-ai"],
      ["replicate", "hf-inference"],
    ]
  ) {
    const speech = await app.post("/hf/v1/audio/speech", {
      model: `hexgrad/Kokoro-82M:${speaker}`,
      input: "Hello there. How are you?",
      voice: "alloy",
      response_format: "wav",
    });
    assertEquals([speech.status, speech.headers.get("content-type")], [200, "audio/wav"]);
    const form = new FormData();
    form.set("file", new File([await speech.bytes()], "hello.wav"));
    form.set("model", `openai/whisper-large-v3:${hearer}`);
    form.set("response_format", "srt");
    const request = new Request("http://gateway/hf/v1/audio/transcriptions", { method: "POST", body: form });
    const transcript = await (await app.fetch(request)).text();
    assertStringIncludes(transcript, "How are you?", speaker);
  }
  const routes = new Set(hub.asked.map(({ url }) => url.pathname.split("/")[1]));
  for (const provider of ["together", "deepinfra", "fal-ai", "replicate", "hf-inference", "scaleway"]) {
    assert(routes.has(provider), provider);
  }
  app.abort();
  await stop();
});
