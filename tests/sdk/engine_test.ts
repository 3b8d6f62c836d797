/**
 * The vendors' SDKs in front of real engines, one that embeds and one that ranks: at `LANEWAY_TEST_EMBEDDER` and
 * `LANEWAY_TEST_RANKER`. Where none answers, its tests are skipped and their names say why.
 */
import { assert, assertAlmostEquals, assertEquals, assertRejects } from "@std/assert";
import { type ConfigInput, newApp, type TestApp } from "../support/app.ts";
import { missingEngine } from "../support/engine.ts";
import { MAJORS, newClient } from "./chat_clients.ts";
import { COHERE, newCohere, newLangChain } from "./task_clients.ts";

const EMBEDDER = Deno.env.get("LANEWAY_TEST_EMBEDDER") ?? "http://127.0.0.1:38602/v1";
const RANKER = Deno.env.get("LANEWAY_TEST_RANKER") ?? "http://127.0.0.1:38603/v1";

/** Each engine as one of the chat wire's family, and as a server of its own wire. */
const CONFIG: ConfigInput = {
  upstreams: {
    embedderOfChat: { driver: "chat", baseUrl: EMBEDDER },
    embedder: { driver: "embeddings", baseUrl: EMBEDDER, batch: 2 },
    rankerOfChat: { driver: "chat", baseUrl: RANKER },
    ranker: { driver: "rerank", baseUrl: RANKER, scores: "sigmoid" },
  },
  lanes: {
    oss: {
      models: {
        "tiny-embed": { task: "embedding", targets: [{ upstream: "embedderOfChat", model: "tiny-embed" }] },
        "tiny-embed-by-two": { task: "embedding", targets: [{ upstream: "embedder", model: "tiny-embed" }] },
        "tiny-rerank": { task: "rerank", targets: [{ upstream: "rankerOfChat", model: "tiny-rerank" }] },
        "tiny-rerank-from-0-to-1": { task: "rerank", targets: [{ upstream: "ranker", model: "tiny-rerank" }] },
      },
    },
  },
};

function testsOf(engine: string, why: string | undefined) {
  return (name: string, use: (app: TestApp) => Promise<void>) =>
    why === undefined
      ? Deno.test(`${engine}: ${name}`, () => use(newApp({ config: CONFIG, fetch })))
      : Deno.test({ name: `${engine}: ${name} (skipped: ${why})`, ignore: true, fn() {} });
}

const [noEmbedder, noRanker] = await Promise.all([missingEngine(EMBEDDER), missingEngine(RANKER)]);
const embeds = testsOf("an engine that embeds", noEmbedder);
const ranks = testsOf("an engine that ranks", noRanker);

/** The engine's sums differ in their last bits by what it computes at the same time. */
function assertNear(vector: readonly number[], other: readonly number[]) {
  assertEquals(vector.length, other.length);
  for (const [at, value] of vector.entries()) assertAlmostEquals(value, other[at]!, 1e-5);
}

const TEXTS = ["a cat is an animal", "cars are fast", "dogs bark"];

for (const major of MAJORS) {
  embeds(`openai ${major.major}: base64 and float give the same vectors`, async (app) => {
    const { embeddings } = newClient(major, app);
    const model = "tiny-embed";
    const byDefault = await embeddings.create({ model, input: TEXTS });
    const asFloats = await embeddings.create({ model, input: TEXTS, encoding_format: "float" });
    assertEquals(byDefault.data.length, 3);
    for (const [index, { embedding }] of byDefault.data.entries()) {
      assertEquals(embedding.length, 64);
      assertNear(embedding, asFloats.data[index]!.embedding);
      assertAlmostEquals(Math.hypot(...embedding), 1, 1e-4);
    }
    assert(byDefault.usage.prompt_tokens > 0);
    assertEquals(byDefault.usage, asFloats.usage);
    assertEquals(byDefault.model, model);
  });

  embeds(`openai ${major.major}: batches give the vectors and the counts of the whole`, async (app) => {
    const { embeddings } = newClient(major, app);
    const whole = await embeddings.create({ model: "tiny-embed", input: TEXTS });
    const batches = await embeddings.create({ model: "tiny-embed-by-two", input: TEXTS });
    assertEquals(batches.data.length, 3);
    for (const [index, { embedding }] of batches.data.entries()) assertNear(embedding, whole.data[index]!.embedding);
    assertEquals(batches.usage, whole.usage);
  });

  embeds(`openai ${major.major}: token ids, and a width that it cannot give`, async (app) => {
    const { embeddings } = newClient(major, app);
    const { data, usage } = await embeddings.create({ model: "tiny-embed", input: [[1, 2, 3], [4, 5]] });
    assertEquals([data.length, usage.prompt_tokens], [2, 5]);
    const error = await assertRejects(
      () => embeddings.create({ model: "tiny-embed", input: "a cat", dimensions: 32 }),
      major.Sdk.BadRequestError,
    );
    assertEquals(error.param, "dimensions");
  });
}

embeds("LangChain: documents in batches, and a query", async (app) => {
  const embeddings = newLangChain(app, { model: "tiny-embed", batchSize: 2 });
  const documents = await embeddings.embedDocuments(TEXTS);
  const query = await embeddings.embedQuery(TEXTS[2]!);
  assertEquals(documents.length, 3);
  assertNear(query, documents[2]!);
});

for (const [version, Client] of Object.entries(COHERE)) {
  const asked = { query: "what is a cat", documents: TEXTS };

  ranks(`cohere-ai ${version}: its order, whole and cut`, async (app) => {
    const client = newCohere(Client, app);
    const { results } = await client.rerank({ model: "tiny-rerank", ...asked });
    const scores = results.map(({ relevanceScore }) => relevanceScore);
    assertEquals(results.map(({ index }) => index).sort(), [0, 1, 2]);
    assertEquals(scores, scores.toSorted((a, b) => b - a));
    const best = await client.rerank({ model: "tiny-rerank", ...asked, topN: 1 });
    assertEquals(best.results.map(({ index }) => index), [results[0]!.index]);
  });

  ranks(`cohere-ai ${version}: its logits as numbers from 0 to 1, in the same order`, async (app) => {
    const client = newCohere(Client, app);
    const logits = await client.rerank({ model: "tiny-rerank", ...asked });
    const shares = await client.rerank({ model: "tiny-rerank-from-0-to-1", ...asked });
    assertEquals(shares.results.map(({ index }) => index), logits.results.map(({ index }) => index));
    for (const { relevanceScore } of shares.results) assert(relevanceScore > 0 && relevanceScore < 1);
  });
}
