import { assertEquals, assertRejects } from "@std/assert";
import fc from "fast-check";
import { embeddingsProtocols } from "../../../plugins/embeddings/mod.ts";
import { teiDriver } from "../../../plugins/hub/tei.ts";
import { rerankProtocols } from "../../../plugins/rerank/mod.ts";
import type { JsonObject, JsonValue } from "../../../src/canonical/json.ts";
import type { Target } from "../../../src/contract/driver.ts";
import { type ErrorCode, GatewayError } from "../../../src/errors.ts";
import { newReply, protocolOf, travel, type Upstream, wayOf } from "../../support/text_operations.ts";
import { law } from "../../support/law.ts";

const embeddings = protocolOf(embeddingsProtocols, "embed", "embeddings");
const reranking = protocolOf(rerankProtocols, "rerank", "rerank");
const embed = (body: JsonObject, upstream: Upstream, quirks?: Partial<Target>) =>
  travel(embeddings, wayOf(teiDriver, "embed"), body, upstream, quirks);
const rerank = (body: JsonObject, upstream: Upstream, quirks?: Partial<Target>) =>
  travel(reranking, wayOf(teiDriver, "rerank"), body, upstream, quirks);

const vectorsOf = (answer: JsonObject) => (answer.data as { embedding: JsonValue }[]).map(({ embedding }) => embedding);
const texts = (count: number) => Array.from({ length: count }, (_, index) => `text ${index}`);

// Vectors

const sent: Record<string, [body: JsonObject, upstream: JsonObject, notes?: string[]]> = {
  "one text as a list": [{ input: "a" }, { inputs: ["a"] }],
  "token ids as ids": [{ input: [1, 2] }, { inputs: [[1, 2]] }],
  "the number of dimensions": [{ input: "a", dimensions: 1 }, { inputs: ["a"], dimensions: 1 }],
  "no encoding": [{ input: "a", encoding_format: "base64" }, { inputs: ["a"] }],
  "its own options": [
    { input: "a", normalize: false, truncate: true, truncation_direction: "left", prompt_name: "query" },
    { inputs: ["a"], normalize: false, truncate: true, truncation_direction: "left", prompt_name: "query" },
  ],
  "no field that it does not know": [{ input: "a", user: "u", truncate: true, input_type: "query" }, {
    inputs: ["a"],
    truncate: true,
  }, ["dropped user", "dropped input_type"]],
};

for (const [name, [body, upstream, notes = []]] of Object.entries(sent)) {
  Deno.test(`TEI is sent ${name} for vectors`, async () => {
    const exchange = await embed(body, () => newReply([[1]], { "x-compute-tokens": "1" }));
    assertEquals(exchange.calls, [{ path: "embed", body: upstream }]);
    assertEquals(exchange.notes, notes);
  });
}

Deno.test("TEI's vectors come with its own count of tokens", async () => {
  const reply = newReply([[0.5, -0.5], [0.25, 1]], { "x-compute-tokens": "9" });
  const { answer, notes } = await embed({ input: ["a", "b"] }, () => reply);
  assertEquals(vectorsOf(answer), [[0.5, -0.5], [0.25, 1]]);
  assertEquals([answer.usage, notes], [{ prompt_tokens: 9, total_tokens: 9 }, []]);
});

Deno.test("more than 32 inputs are several calls, whose counts are added up", async () => {
  const { calls, answer } = await embed({ input: texts(70) }, ({ body }, index) => {
    const { inputs } = body as { inputs: string[] };
    return newReply(inputs.map((text) => [Number(text.slice(5))]), { "x-compute-tokens": String(10 ** index) });
  });
  assertEquals(calls.map(({ body }) => (body as { inputs: string[] }).inputs.length), [32, 32, 6]);
  assertEquals(vectorsOf(answer), texts(70).map((_, index) => [index]));
  assertEquals(answer.usage, { prompt_tokens: 111, total_tokens: 111 });
});

Deno.test("a count that one of the calls does not tell is estimated for all", async () => {
  const { answer, notes } = await embed(
    { input: [[1, 2, 3], [4]] },
    (_call, index) => newReply([[1]], index === 0 ? { "x-compute-tokens": "9" } : {}),
    { batch: 1 },
  );
  assertEquals([answer.usage, notes], [{ prompt_tokens: 4, total_tokens: 4 }, ["estimated usage"]]);
});

const brokenVectors: Record<string, [answer: JsonValue, says: string]> = {
  "null for a number": [[[1, null], [1, 2]], "vector 0 contains a value that is not a finite number"],
  "null among tokens": [[[[1, null]], [[1, 2]]], "vector 0 contains a value that is not a finite number"],
  "vectors of different widths": [[[1], [1, 2]], "differ in width"],
  "empty vectors": [[[], []], "vector 0 is empty"],
  "one vector too few": [[[1]], "2 inputs with a list of 2 dimensions"],
  "an error with status 200": [{ error: "Model is overloaded", error_type: "Overloaded" }, "Model is overloaded"],
};

for (const [name, [answer, says]] of Object.entries(brokenVectors)) {
  Deno.test(`TEI with ${name} is told of clearly`, async () => {
    const error = await assertRejects(() => embed({ input: ["a", "b"] }, () => answer), GatewayError, says);
    assertEquals(error.code, "upstream_error");
  });
}

// Rankings

Deno.test("TEI is sent texts and its own options for a ranking, and nothing else", async () => {
  const { calls, answer, notes } = await rerank(
    { query: "q", documents: ["a", { text: "b" }], top_n: 1, truncate: true, raw_scores: true, max_tokens_per_doc: 9 },
    () => newReply([{ index: 1, score: 0.8, text: "b" }, { index: 0, score: 0.1 }], { "x-compute-tokens": "12" }),
  );
  const body = { query: "q", texts: ["a", "b"], truncate: true, raw_scores: true };
  assertEquals(calls, [{ path: "rerank", body }]);
  assertEquals(answer.results, [{ index: 1, relevance_score: 0.8 }]);
  assertEquals([answer.usage, notes], [{ prompt_tokens: 12, total_tokens: 12 }, ["dropped max_tokens_per_doc"]]);
});

Deno.test("more than 32 documents are ranked by several calls, as one list", async () => {
  const { calls, answer } = await rerank({ query: "q", documents: texts(40), top_n: 2 }, ({ body }) => {
    const scores = (body as { texts: string[] }).texts.map((text, index) => ({ index, score: Number(text.slice(5)) }));
    return scores.toReversed();
  });
  assertEquals(calls.map(({ body }) => (body as { texts: string[] }).texts.length), [32, 8]);
  assertEquals(answer.results, [{ index: 39, relevance_score: 39 }, { index: 38, relevance_score: 38 }]);
});

// Its errors, by their statuses

const errors: [status: number, body: JsonObject, code: ErrorCode][] = [
  [422, { error: "batch size 33 > maximum allowed batch size 32", error_type: "Validation" }, "invalid_request"],
  [413, { error: "batch size 33 > maximum allowed batch size 32", error_type: "Validation" }, "request_too_large"],
  [424, { error: "CUDA out of memory", error_type: "Backend" }, "upstream_error"],
  [429, { error: "Model is overloaded", error_type: "Overloaded" }, "rate_limit"],
  [503, { error: "unhealthy", error_type: "Unhealthy" }, "unavailable"],
  [400, { error: "`inputs` cannot be empty", error_type: "Empty" }, "invalid_request"],
];

for (const [status, body, code] of errors) {
  Deno.test(`TEI's status ${status} is ${code}`, () => {
    assertEquals(teiDriver.parseError(newReply(body, {}, status)).code, code);
  });
}

// Laws

const split = fc.record({
  count: fc.integer({ min: 1, max: 80 }),
  batch: fc.option(fc.integer({ min: 1, max: 90 }), { nil: undefined }),
  factor: fc.integer({ min: 1, max: 7 }),
});

law("batches of any size come to the same vectors", split, async ({ count, batch }) => {
  const upstream: Upstream = ({ body }) =>
    (body as { inputs: string[] }).inputs.map((text) => [text.length, Number(text.slice(5))]);
  const { answer } = await embed({ input: texts(count) }, upstream, { batch });
  assertEquals(vectorsOf(answer), texts(count).map((text, index) => [text.length, index]));
});

law("batches of any size come to the same stable ranking", split, async ({ count, batch, factor }) => {
  const score = (text: string) => (Number(text.slice(5)) * factor) % 5;
  const upstream: Upstream = ({ body }) =>
    (body as { texts: string[] }).texts.map((text, index) => ({ index, score: score(text) })).toReversed();
  const { answer } = await rerank({ query: "q", documents: texts(count) }, upstream, { batch });
  const expected = texts(count).map((text, index) => ({ index, relevance_score: score(text) }))
    .toSorted((one, other) => other.relevance_score - one.relevance_score || one.index - other.index);
  assertEquals(answer.results, expected);
});
