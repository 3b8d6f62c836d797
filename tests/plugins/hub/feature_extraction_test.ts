import { assertEquals, assertRejects } from "@std/assert";
import { embeddingsProtocols } from "../../../plugins/embeddings/mod.ts";
import { featureExtraction } from "../../../plugins/hub/inference.ts";
import type { JsonObject, JsonValue } from "../../../src/canonical/json.ts";
import { GatewayError } from "../../../src/errors.ts";
import { newReply, protocolOf, travel, type Upstream } from "../../support/text_operations.ts";

const embeddings = protocolOf(embeddingsProtocols, "embed", "embeddings");
const embed = (body: JsonObject, upstream: Upstream) =>
  travel(embeddings, featureExtraction, body, upstream, { model: "BAAI/bge-m3" });

Deno.test("the hub's engine is asked at the model's own route, with options beside the inputs", async () => {
  const body = { input: "a", normalize: true, prompt_name: "query", dimensions: 2, user: "u" };
  const { calls, answer, notes } = await embed(body, () => newReply([[3, 4]], { "x-compute-tokens": "5" }));
  assertEquals(calls, [{
    path: "models/BAAI/bge-m3/pipeline/feature-extraction",
    body: { inputs: ["a"], dimensions: 2, normalize: true, prompt_name: "query" },
  }]);
  assertEquals(answer, {
    object: "list",
    data: [{ object: "embedding", index: 0, embedding: [3, 4] }],
    model: "mine",
    usage: { prompt_tokens: 5, total_tokens: 5 },
  });
  assertEquals(notes, ["dropped user"]);
});

const shapes: Record<string, [input: JsonValue, answer: JsonValue, vectors: number[][]]> = {
  "one vector": ["a", [0, 2], [[0, 2]]],
  "a vector for each": [["a", "b"], [[0, 2], [3, 0]], [[0, 2], [3, 0]]],
  "the tokens of one": ["a", [[0, 2], [0, 4]], [[0, 1]]],
  "the tokens of each, ragged": [["a", "b"], [[[0, 2]], [[3, 0], [5, 0]]], [[0, 1], [1, 0]]],
  "the tokens of each, wrapped once more": [["a", "b"], [[[[0, 2]]], [[[3, 0], [5, 0]]]], [[0, 1], [1, 0]]],
};

for (const [name, [input, reply, vectors]] of Object.entries(shapes)) {
  Deno.test(`the hub's engine may answer ${name}`, async () => {
    const { answer, notes } = await embed({ input }, () => reply);
    assertEquals((answer.data as { embedding: number[] }[]).map(({ embedding }) => embedding), vectors);
    assertEquals(notes, ["estimated usage"]);
  });
}

Deno.test("pooled vectors keep their length where the client wants it", async () => {
  const { answer } = await embed({ input: "a", normalize: false }, () => [[0, 2], [0, 4]]);
  assertEquals((answer.data as JsonObject[])[0]!.embedding, [0, 3]);
});

Deno.test("token ids are for another place of the model", async () => {
  const error = await assertRejects(() => embed({ input: [[1], [2]] }, () => [[1]]), GatewayError, "only texts");
  assertEquals([error.code, error.details.param], ["unsupported", "input"]);
});

Deno.test("2,048 texts are 64 calls", async () => {
  const { calls } = await embed(
    { input: Array(2_048).fill("a") },
    ({ body }) => (body as { inputs: string[] }).inputs.map(() => [1]),
  );
  assertEquals(calls.length, 64);
});
