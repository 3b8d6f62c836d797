import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { Cohere, CohereClient, CohereClientV2, CohereError } from "cohere-ai";
import { CONFIG, type ConfigInput, newApp, type TestApp } from "../support/app.ts";
import { COHERE, MODEL, newCohere, newHubApp, newTaskApp, routesOf, TASKS_CONFIG } from "./task_clients.ts";

interface Server {
  /** What it was asked, in order. */
  bodies: unknown[];
  app: TestApp;
}

/** A server that gives these scores, by the order of the documents, worst first. */
function newServer(...scores: number[]): Server {
  const bodies: unknown[] = [];
  const app = newTaskApp(async (request) => {
    bodies.push(await request.json());
    const results = scores.map((relevance_score, index) => ({ index, relevance_score }));
    return Response.json({ results: results.sort((a, b) => a.relevance_score - b.relevance_score) });
  });
  return { bodies, app };
}

/** What the client raises: its text says what is wrong, and its body has the gateway's code. */
async function assertSays(
  act: () => Promise<unknown>,
  Type: new (body: unknown) => CohereError,
  code: string | null,
  ...said: string[]
) {
  const error = await assertRejects(act, Type);
  assertEquals(error.constructor, Type);
  const { message, error: { code: shown } } = error.body as { message: string; error: { code: string | null } };
  for (const text of said) assertStringIncludes(message, text);
  assertStringIncludes(error.message, JSON.stringify(message));
  assertEquals(shown, code);
}

const { BadRequestError, ForbiddenError, NotFoundError, ServiceUnavailableError } = Cohere;
const { UnauthorizedError, UnprocessableEntityError } = Cohere;

const model = MODEL.rerank;
const query = "Which fruit is red?";
const documents = ["a pear", "an apple", "a cherry"];

for (const [version, Client] of Object.entries(COHERE)) {
  const test = (name: string, act: () => Promise<void>) => Deno.test(`cohere-ai ${version}: ${name}`, act);

  test("all documents, most relevant first", async () => {
    const { app, bodies } = newServer(0.1, 0.7, 0.9);
    const answer = await newCohere(Client, app).rerank({ model, query, documents });
    assertEquals(answer.results, [
      { index: 2, relevanceScore: 0.9 },
      { index: 1, relevanceScore: 0.7 },
      { index: 0, relevanceScore: 0.1 },
    ]);
    assertEquals(answer.meta?.apiVersion?.version, version.slice(1));
    assert(answer.id?.startsWith("rerank-"));
    assertEquals(bodies, [{ model: "org/ranker", query, documents }]);
  });

  test("topN cuts, and more than there are is all; the upstream does not hear of it", async () => {
    const { app, bodies } = newServer(0.1, 0.7, 0.9);
    for (const [topN, indexes] of [[1, [2]], [2, [2, 1]], [99, [2, 1, 0]]] as const) {
      const { results } = await newCohere(Client, app).rerank({ model, query, documents, topN });
      assertEquals(results.map(({ index }) => index), [...indexes]);
    }
    assertEquals(bodies, new Array(3).fill({ model: "org/ranker", query, documents }));
  });

  test("documents that are alike keep their order", async () => {
    const { app } = newServer(0.5, 0.5, 0.6, 0.5);
    const { results } = await newCohere(Client, app).rerank({ model, query, documents: ["a", "b", "c", "d"] });
    assertEquals(results.map(({ index }) => index), [2, 0, 1, 3]);
  });

  test("the whole way to the hub, and the sandbox", async () => {
    const hub = newHubApp();
    const reranker = newCohere(Client, hub.app, "hf");
    const curated = newCohere(Client, hub.app);
    const asked = { query: "red apple", documents: ["a green pear", "one red apple", "red paint"], topN: 2 };
    for (
      const [client, model] of [
        [reranker, "BAAI/bge-reranker-v2-m3"],
        [reranker, "cross-encoder/ms-marco-MiniLM-L6-v2"],
        [curated, "bge-reranker-v2-m3"],
        [curated, "sandbox-rerank"],
      ] as const
    ) {
      const { results } = await client.rerank({ model, ...asked });
      assertEquals(results.map(({ index }) => index), [1, 2], model);
      for (const { relevanceScore } of results) assert(relevanceScore > 0 && relevanceScore <= 1);
    }
    assert(routesOf(hub).includes("/hf-inference/models/cross-encoder/ms-marco-MiniLM-L6-v2/pipeline/text-ranking"));
  });

  test("a request that is wrong is a BadRequestError that names the field", async () => {
    const { app, bodies } = newServer();
    const client = newCohere(Client, app);
    for (
      const [wrong, field] of [
        [{ documents: [] }, "documents"],
        [{ topN: 0 }, "top_n"],
        [{ topN: -1 }, "top_n"],
        [{ query: "" }, "query"],
      ] as const
    ) {
      await assertSays(
        () => client.rerank({ model, query, ...wrong, documents: [...wrong.documents ?? documents] }),
        BadRequestError,
        null,
        field,
      );
    }
    assertEquals(bodies, []);
  });

  test("a wrong key, a lane that is closed, a lane and a model that are not there", async () => {
    const config: ConfigInput = {
      ...TASKS_CONFIG,
      keys: [{ name: "team", secret: { env: "TEAM_KEY" }, lanes: ["oss"] }],
      lanes: { ...TASKS_CONFIG.lanes, closed: CONFIG.lanes.oss },
    };
    const app = newApp({ config });
    const ask = (lane: string, token?: string, model = "sandbox-rerank") => () =>
      newCohere(Client, app, lane, token).rerank({ model, query, documents });
    await assertSays(ask("oss", "wrong"), UnauthorizedError, "invalid_api_key", "Invalid API key");
    await assertSays(ask("closed"), ForbiddenError, null, 'lane "closed"');
    await assertSays(ask("nope"), NotFoundError, null, 'lane "nope"');
    await assertSays(ask("oss", undefined, "nope"), NotFoundError, "model_not_found", 'model "nope"');
    assertEquals((await ask("oss")()).results.length, 3);
  });

  test("a model of another task is an UnprocessableEntityError that says where it belongs", async () => {
    await assertSays(
      () => newCohere(Client, newTaskApp()).rerank({ model: MODEL.embedding, query, documents }),
      UnprocessableEntityError,
      "model_task_mismatch",
      "is for embedding (/oss/v1/embeddings",
    );
  });

  test("an upstream without its secret is a ServiceUnavailableError that says which variable to set", async () => {
    const app = newApp({ config: TASKS_CONFIG, env: {} });
    await assertSays(
      () => newCohere(Client, app).rerank({ model, query, documents }),
      ServiceUnavailableError,
      "unavailable",
      "UPSTREAM_SECRET",
    );
  });

  test("a ranking that is none is the upstream's fault, and said", async () => {
    for (
      const [scores, said] of [[[0.5, 0.4], "ranked 2 of 3"], [[0.1, 0.2, 0.3, 0.4], "ranked document 3 of 3"]] as const
    ) {
      const error = await assertRejects(
        () => newCohere(Client, newServer(...scores).app).rerank({ model, query, documents }),
        CohereError,
        said,
      );
      assertEquals(error.statusCode, 502);
    }
  });
}

// What only the older client can say

const newV1 = (app: TestApp, lane?: string) => newCohere(CohereClient, app, lane) as CohereClient;

Deno.test("cohere-ai v1: documents that are objects, whole or by some of their fields", async () => {
  const { app, bodies } = newServer(0.1, 0.2);
  const client = newV1(app);
  const objects = [{ text: "a pear", title: "Pears" }, { text: "a cherry", title: "Cherries" }];
  await client.rerank({ model, query, documents: objects });
  await client.rerank({ model, query, documents: objects, rankFields: ["title", "text"] });
  await client.rerank({ model, query, documents: ["plain", objects[1]!] });
  assertEquals(bodies.map((body) => (body as { documents: string[] }).documents), [
    ["a pear", "a cherry"],
    ["title: Pears\ntext: a pear", "title: Cherries\ntext: a cherry"],
    ["plain", "a cherry"],
  ]);
  const error = await assertRejects(
    () => client.rerank({ model, query, documents: [{ title: "No text" }] }),
    Cohere.BadRequestError,
  );
  assertStringIncludes(error.message, "documents[0].text");
});

Deno.test("cohere-ai v1: the documents come back where that is asked for", async () => {
  const { app } = newServer(0.1, 0.9);
  const { results } = await newV1(app).rerank({
    model,
    query,
    documents: ["a pear", { text: "a cherry", from: "the garden" }],
    returnDocuments: true,
  });
  assertEquals<unknown>(results, [
    { index: 1, relevanceScore: 0.9, document: { text: "a cherry", from: "the garden" } },
    { index: 0, relevanceScore: 0.1, document: { text: "a pear" } },
  ]);
});

Deno.test("cohere-ai v1: an environment that ends in /v1", async () => {
  const { app } = newServer(0.1, 0.7, 0.9);
  const { results } = await newV1(app, "oss/v1").rerank({ model, query, documents, topN: 1 });
  assertEquals(results[0]!.index, 2);
});

Deno.test("cohere-ai v2: what only its wire has reaches an upstream of the wire", async () => {
  const { app, bodies } = newServer(0.1, 0.7, 0.9);
  const client = newCohere(CohereClientV2, app) as CohereClientV2;
  await client.rerank({ model, query, documents, maxTokensPerDoc: 512, priority: 1 });
  assertEquals(bodies, [{ model: "org/ranker", query, documents, max_tokens_per_doc: 512, priority: 1 }]);
});
