import { assert, assertAlmostEquals, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { InferenceClient, InferenceClientProviderApiError } from "@huggingface/inference";
import { ENV, type TestApp } from "../support/app.ts";
import { answerStream, answerWhole, ENDING, word } from "../support/chat.ts";
import { MAJORS, newClient } from "./chat_clients.ts";
import { MODEL, newHubApp, newInferenceClient, newLangChain, newTaskApp, routesOf } from "./task_clients.ts";

interface Body {
  model: string;
  input: (string | number[])[];
  encoding_format?: string;
  dimensions?: number;
}

interface Server {
  /** What it was asked, in order. */
  bodies: Body[];
  app: TestApp;
}

/** A server whose vector for an input is `vectorOf(input)`, in the encoding that it is asked for. */
function newServer(vectorOf: (input: string | number[], body: Body) => unknown): Server {
  const bodies: Body[] = [];
  const app = newTaskApp(async (request) => {
    const body: Body = await request.json();
    bodies.push(body);
    const data = body.input.map((input, index) => ({ object: "embedding", index, embedding: vectorOf(input, body) }));
    const usage = { prompt_tokens: 7, total_tokens: 7 };
    return Response.json({ object: "list", data, model: body.model, usage });
  });
  return { bodies, app };
}

function toBase64(numbers: readonly number[]): string {
  return new Uint8Array(new Float32Array(numbers).buffer).toBase64();
}

/** No 32-bit float is one of these, so that each encoding shows. */
const NUMBERS = [0.1, -1.5e-7, 0.3333333333333333];
const FLOATS = NUMBERS.map(Math.fround);
const model = MODEL.embedding;

for (const major of MAJORS) {
  const test = (name: string, act: () => Promise<void>) => Deno.test(`openai ${major.major}, embeddings: ${name}`, act);

  for (const [answers, vectorOf] of [["base64", () => toBase64(NUMBERS)], ["numbers", () => NUMBERS]] as const) {
    test(`with no encoding the SDK asks for base64 and decodes it; the upstream answers ${answers}`, async () => {
      const { app, bodies } = newServer(vectorOf);
      const answer = await newClient(major, app).embeddings.create({ model, input: ["one", "two"] });
      assertEquals(answer, {
        object: "list",
        data: [{ object: "embedding", index: 0, embedding: FLOATS }, {
          object: "embedding",
          index: 1,
          embedding: FLOATS,
        }],
        model,
        usage: { prompt_tokens: 7, total_tokens: 7 },
      });
      assertEquals(bodies, [{ model: "org/embedder", input: ["one", "two"], encoding_format: "base64" }]);
    });

    test(`base64 that was asked for is not decoded; the upstream answers ${answers}`, async () => {
      const { app } = newServer(vectorOf);
      const { data } = await newClient(major, app).embeddings.create({
        model,
        input: "one",
        encoding_format: "base64",
      });
      assertEquals<unknown>(data[0]!.embedding, toBase64(NUMBERS));
    });
  }

  test("float gives the numbers as the upstream wrote them", async () => {
    const { app, bodies } = newServer(() => NUMBERS);
    const { data } = await newClient(major, app).embeddings.create({ model, input: "one", encoding_format: "float" });
    assertEquals(data[0]!.embedding, NUMBERS);
    assertEquals(bodies, [{ model: "org/embedder", input: ["one"] }]);
  });

  test("float of an upstream that gives base64 all the same", async () => {
    const { app } = newServer(() => toBase64(NUMBERS));
    const { data } = await newClient(major, app).embeddings.create({ model, input: "one", encoding_format: "float" });
    assertEquals(data[0]!.embedding, FLOATS);
  });

  test("dimensions are the upstream's to give; a model that gives others is a BadRequestError", async () => {
    const obedient = newServer((_, { dimensions }) => NUMBERS.slice(0, dimensions));
    const client = newClient(major, obedient.app);
    const { data } = await client.embeddings.create({ model, input: "one", dimensions: 2 });
    assertEquals(data[0]!.embedding, FLOATS.slice(0, 2));
    assertEquals(obedient.bodies[0]!.dimensions, 2);

    const { app } = newServer(() => NUMBERS);
    const error = await assertRejects(
      () => newClient(major, app).embeddings.create({ model, input: "one", dimensions: 2 }),
      major.Sdk.BadRequestError,
      "vectors of 3 numbers",
    );
    assertEquals(error.param, "dimensions");
  });

  test("lists of token ids, alone and several", async () => {
    const { app, bodies } = newServer(() => NUMBERS);
    const client = newClient(major, app);
    assertEquals((await client.embeddings.create({ model, input: [3, 1, 2] })).data.length, 1);
    assertEquals((await client.embeddings.create({ model, input: [[3], [1, 2]] })).data.length, 2);
    assertEquals(bodies.map(({ input }) => input), [[[3, 1, 2]], [[3], [1, 2]]]);
  });

  test("2,048 inputs keep their order; one more is a BadRequestError", async () => {
    const { app } = newServer((input) => [Number(input), 1]);
    const client = newClient(major, app);
    const input = Array.from({ length: 2_048 }, (_, index) => String(index));
    const { data } = await client.embeddings.create({ model, input });
    assertEquals(data.map(({ index, embedding }) => [index, embedding[0]]), input.map((_, index) => [index, index]));
    const error = await assertRejects(
      () => client.embeddings.create({ model, input: [...input, "one more"] }),
      major.Sdk.BadRequestError,
      "2048",
    );
    assertEquals(error.param, "input");
  });

  test("an input that is wrong is named", async () => {
    const { app, bodies } = newServer(() => NUMBERS);
    for (
      const [input, param] of [["", "input"], [[], "input"], [["a", ""], "input[1]"], [[[1], []], "input[1]"]] as const
    ) {
      const error = await assertRejects(
        () => newClient(major, app).embeddings.create({ model, input: input as string }),
        major.Sdk.BadRequestError,
      );
      assertEquals([error.param, error.type], [param, "invalid_request_error"]);
    }
    assertEquals(bodies, []);
  });

  test("vectors that are none are the upstream's fault, and said", async () => {
    for (
      const [vectorOf, said] of [
        [(input: unknown) => input === "one" ? [1, 2] : [1], "differ in width"],
        [() => [1, null], "not a finite number"],
        [() => toBase64([1, NaN]), "not a finite number"],
        [() => [], "is empty"],
      ] as const
    ) {
      const { app } = newServer(vectorOf);
      const error = await assertRejects(
        () => newClient(major, app).embeddings.create({ model, input: ["one", "two"] }),
        major.Sdk.InternalServerError,
        said,
      );
      assertEquals([error.status, error.code], [502, "upstream_error"]);
    }
  });

  test("the sandbox gives similar texts similar vectors, of the wanted width", async () => {
    const { data, usage } = await newClient(major, newTaskApp()).embeddings.create({
      model: "sandbox-embedding",
      input: ["a red apple on the tree", "red apples on a tree", "quarterly tax report"],
      dimensions: 300,
    });
    const [apple, apples, tax] = data.map(({ embedding }) => embedding);
    assertEquals(apple!.length, 300);
    assert(cosine(apple!, apples!) > cosine(apple!, tax!) + 0.2);
    assert(usage.prompt_tokens > 0);
  });

  test("the whole way to the hub, in batches that its engine takes", async () => {
    const hub = newHubApp();
    const client = newClient(major, hub.app, "hf");
    const input = Array.from({ length: 70 }, (_, index) => `text ${index}`);
    const { data, model, usage } = await client.embeddings.create({ model: "BAAI/bge-m3", input, dimensions: 32 });
    assertEquals([data.length, model], [70, "BAAI/bge-m3"]);
    // Each text is two words, and the fake engine counts two marks around them.
    assertEquals(usage, { prompt_tokens: 280, total_tokens: 280 });
    for (const at of [0, 31, 32, 69]) {
      const { data: [alone] } = await client.embeddings.create({
        model: "BAAI/bge-m3",
        input: input[at]!,
        dimensions: 32,
      });
      assertEquals(data[at]!.embedding, alone!.embedding);
    }
    assertEquals(
      routesOf(hub),
      new Array(3 + 4).fill("/hf-inference/models/BAAI/bge-m3/pipeline/feature-extraction"),
    );
  });

  test("the whole way to another provider, by a name of the curated lane and by a pin", async () => {
    const hub = newHubApp();
    const curated = newClient(major, hub.app).embeddings.create({ model: "qwen3-embedding-8b", input: ["a b", "c d"] });
    const pinned = newClient(major, hub.app, "hf").embeddings.create({
      model: "BAAI/bge-m3:together",
      input: ["a b", "c d"],
      encoding_format: "float",
    });
    for (const { data, usage } of [await curated, await pinned]) {
      assertEquals(data.map(({ index, embedding }) => [index, embedding.length]), [[0, 64], [1, 64]]);
      assertAlmostEquals(Math.hypot(...data[0]!.embedding), 1, 1e-6);
      assertEquals(usage.prompt_tokens, 8);
    }
    assertEquals(routesOf(hub).sort(), ["/scaleway/v1/embeddings", "/together/v1/embeddings"]);
  });
}

function cosine(a: readonly number[], b: readonly number[]): number {
  return a.reduce((sum, value, index) => sum + value * b[index]!, 0) / Math.hypot(...a) / Math.hypot(...b);
}

// LangChain

Deno.test("LangChain: a query and documents in batches, in their order", async () => {
  const { app, bodies } = newServer((input) => [input.length, 0.5]);
  const embeddings = newLangChain(app, { model, batchSize: 2 });
  assertEquals(await embeddings.embedQuery("four"), [4, 0.5]);
  const documents = ["a", "bb", "ccc", "dddd", "eeeee"];
  assertEquals(await embeddings.embedDocuments(documents), documents.map((text) => [text.length, 0.5]));
  assertEquals(bodies.map(({ input }) => input.length).sort(), [1, 1, 2, 2]);
});

Deno.test("LangChain: dimensions, and an error that says what is wrong", async () => {
  const app = newTaskApp();
  assertEquals(
    (await newLangChain(app, { model: "sandbox-embedding", dimensions: 16 }).embedQuery("Hello")).length,
    16,
  );
  await assertRejects(
    () => newLangChain(app, { model: MODEL.rerank }).embedQuery("Hello"),
    Error,
    `"${MODEL.rerank}" is for rerank`,
  );
});

Deno.test("LangChain: the whole way to the hub", async () => {
  const hub = newHubApp();
  const embeddings = newLangChain(hub.app, { model: "sentence-transformers/all-MiniLM-L6-v2" }, "hf");
  const [apple, apples] = await embeddings.embedDocuments(["red apple", "apple red"]);
  assertEquals(apple, apples);
  assertEquals(routesOf(hub).length, 1);
});

// The hub's own client

/** It stops at `[DONE]` and neither reads on nor cancels, so what it gets is read to its end before. */
function newEndpoint(app: TestApp, endpointUrl: string): InferenceClient {
  const fetch: typeof globalThis.fetch = async (input, init) => {
    const response = await app.fetch(new Request(input, init));
    return new Response(await response.bytes(), response);
  };
  return new InferenceClient(ENV.TEAM_KEY, { endpointUrl, fetch });
}

const HELLO = [{ role: "user", content: "Hello" }];

for (const endpointUrl of ["http://gateway/oss", "http://gateway/oss/v1", "http://gateway/oss/v1/chat/completions"]) {
  Deno.test(`@huggingface/inference: chat with the endpoint ${endpointUrl}, whole and streamed`, async () => {
    const app = newTaskApp(async (request) =>
      (await request.json()).stream ? answerStream([word("one"), word(" two"), ENDING]) : answerWhole("one two")
    );
    const client = newEndpoint(app, endpointUrl);
    const whole = await client.chatCompletion({ model: MODEL.chat, messages: HELLO });
    assertEquals([whole.model, whole.choices[0]!.message.content], [MODEL.chat, "one two"]);

    let streamed = "";
    for await (const { choices } of client.chatCompletionStream({ model: MODEL.chat, messages: HELLO })) {
      streamed += choices[0]?.delta.content ?? "";
    }
    assertEquals(streamed, "one two");
  });
}

Deno.test("@huggingface/inference: the whole way to the hub, and an error that says what is wrong", async () => {
  const client = newEndpoint(newHubApp().app, "http://gateway/hf/v1");
  const { choices } = await client.chatCompletion({ model: "zai-org/GLM-5.3", messages: HELLO });
  assertEquals(choices[0]!.message.content, "Hello there");
  // It shows what is wrong in the answer's body only.
  const error = await assertRejects(
    () => client.chatCompletion({ model: "BAAI/bge-m3", messages: HELLO }),
    InferenceClientProviderApiError,
  );
  const { error: body } = error.httpResponse.body as { error: { code: string; message: string } };
  assertEquals([error.httpResponse.status, body.code], [422, "model_task_mismatch"]);
  assertStringIncludes(body.message, '"BAAI/bge-m3" is for embedding');
});

Deno.test("@huggingface/inference: vectors in the manner of an OpenAI-compatible provider", async () => {
  const vectors = await newInferenceClient(newHubApp()).featureExtraction({
    model: "Qwen/Qwen3-Embedding-4B",
    inputs: ["red apple", "apple red"],
    provider: "deepinfra",
    urlTransform: () => "http://gateway/hf/v1/embeddings",
  }) as number[][];
  assertEquals([vectors.length, vectors[0]], [2, vectors[1]]);
});
