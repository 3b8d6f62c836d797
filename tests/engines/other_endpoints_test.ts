/** Vectors, rankings and transcripts of each engine that has them, through the gateway, by its own wire's driver and by chat's. */
import { assert, assertAlmostEquals, assertEquals } from "@std/assert";
import type { JsonObject } from "../../src/canonical/json.ts";
import { newApp, type TestApp } from "../support/app.ts";
import { MODELS, withEngine } from "./engines.ts";

function newGateway(baseUrl: string, driver: string, task: "embedding" | "rerank" | "transcription", model: string) {
  return newApp({
    config: {
      upstreams: { engine: { driver, baseUrl } },
      lanes: { oss: { models: { [model]: { task, targets: [{ upstream: "engine", model }] } } } },
    },
    fetch,
    now: Date.now,
  });
}

async function post(app: TestApp, path: string, body: JsonObject): Promise<JsonObject> {
  const response = await app.post(`/oss/v1/${path}`, body);
  const answer = await response.json();
  assertEquals(response.status, 200, JSON.stringify(answer));
  return answer;
}

const TEXTS = ["a cat is an animal", "cars are fast", "dogs bark"];
const EMBEDDERS = [
  { name: "llama-server", variable: "LANEWAY_ENGINE_LLAMA_SERVER_EMBED" },
  { name: "llama-cpp-python", variable: "LANEWAY_ENGINE_LLAMA_CPP_PYTHON_EMBED" },
  { name: "infinity", variable: "LANEWAY_ENGINE_INFINITY" },
];

for (const engine of EMBEDDERS) {
  withEngine({ ...engine, name: `${engine.name}: vectors` }, (baseUrl) => {
    for (const driver of ["chat", "embeddings"]) {
      Deno.test(`${engine.name} by ${driver}: one vector of length 1 for each text, in either encoding`, async () => {
        const app = newGateway(baseUrl, driver, "embedding", MODELS.embed);
        const ask = async (encoding_format: string) => {
          const { data } = await post(app, "embeddings", { model: MODELS.embed, input: TEXTS, encoding_format });
          return (data as JsonObject[]).map(({ embedding }) => embedding);
        };
        const floats = await ask("float") as number[][];
        assertEquals(floats.length, TEXTS.length);
        for (const vector of floats) assertAlmostEquals(Math.hypot(...vector), 1, 1e-3);
        for (const [index, text] of (await ask("base64")).entries()) {
          const vector = new Float32Array(Uint8Array.fromBase64(String(text)).buffer);
          for (const [at, value] of vector.entries()) assertAlmostEquals(value, floats[index]![at]!, 1e-3);
        }
      });
    }
  });
}

const RANKERS = [
  { name: "llama-server", variable: "LANEWAY_ENGINE_LLAMA_SERVER_RERANK" },
  { name: "infinity", variable: "LANEWAY_ENGINE_INFINITY_RERANK" },
];

for (const engine of RANKERS) {
  withEngine({ ...engine, name: `${engine.name}: rankings` }, (baseUrl) => {
    for (const driver of ["chat", "rerank"]) {
      Deno.test(`${engine.name} by ${driver}: every document once, the best first`, async () => {
        const app = newGateway(baseUrl, driver, "rerank", MODELS.rerank);
        const { results } = await post(app, "rerank", { model: MODELS.rerank, query: "cat", documents: TEXTS });
        const ranked = results as { index: number; relevance_score: number }[];
        assertEquals(ranked.map(({ index }) => index).sort(), [0, 1, 2]);
        const scores = ranked.map(({ relevance_score }) => relevance_score);
        assertEquals(scores, scores.toSorted((one, other) => other - one));
      });
    }
  });
}

withEngine({ name: "transformers: transcripts", variable: "LANEWAY_ENGINE_TRANSFORMERS_AUDIO" }, (baseUrl) => {
  const app = newGateway(baseUrl, "chat", "transcription", MODELS.transcribe);
  const ask = async (more: Record<string, string>) => {
    const form = new FormData();
    const tone = await Deno.readFile(new URL("../fixtures/audio/tone.wav", import.meta.url));
    form.set("file", new File([tone], "tone.wav", { type: "audio/wav" }));
    form.set("model", MODELS.transcribe);
    for (const [key, value] of Object.entries(more)) form.set(key, value);
    const request = new Request("http://gateway/oss/v1/audio/transcriptions", { method: "POST", body: form });
    const response = await app.fetch(request);
    assertEquals(response.status, 200);
    return response;
  };

  Deno.test("transformers: a transcript streamed and whole is the same text", async () => {
    const { text } = await (await ask({})).json();
    assert(text.length > 0);
    const frames = (await (await ask({ stream: "true" })).text()).split("\n\n").filter((frame) =>
      frame.startsWith("data: ")
    );
    const events: JsonObject[] = frames.map((frame) => JSON.parse(frame.slice("data: ".length)));
    assertEquals(events.map(({ delta }) => delta ?? "").join("").trim(), text);
    assertEquals(events.at(-1), { type: "transcript.text.done", text });
  });

  Deno.test("transformers: verbose JSON comes without segments, and says so", async () => {
    const response = await ask({ response_format: "verbose_json" });
    assertEquals(response.headers.get("x-laneway-notes"), "dropped segments");
    assert((await response.json()).text.length > 0);
  });
});
