import { assertEquals, assertMatch, assertRejects } from "@std/assert";
import fc from "fast-check";
import { rerankDriver, rerankProtocols } from "../../../plugins/rerank/mod.ts";
import type { JsonObject, JsonValue } from "../../../src/canonical/json.ts";
import type { Target } from "../../../src/contract/driver.ts";
import { type ErrorCode, GatewayError } from "../../../src/errors.ts";
import { isOk, loadFixtures, reply } from "../../support/fixtures.ts";
import { protocolOf, travel, wayOf } from "../../support/text_operations.ts";
import { law } from "../../support/law.ts";

const V1 = protocolOf(rerankProtocols, "rerank", "rerank");
const V2 = protocolOf(rerankProtocols, "rerank", "rerank-v2");
const CATS = { query: "what is a cat", documents: ["cars are fast", "a cat is an animal", "dogs bark"] };

function ask(
  body: JsonObject,
  answer: JsonValue,
  { protocol = V1, ...quirks }: Partial<Target> & { protocol?: typeof V1 } = {},
) {
  return travel(protocol, wayOf(rerankDriver, "rerank"), { ...CATS, ...body }, () => answer, quirks);
}

const scored = (index: number, relevance_score: number) => ({ index, relevance_score });
const sorted = [scored(1, 0.9), scored(2, 0.2), scored(0, 0.1)];

// What the servers answer about CATS

const providers: Record<string, { body: JsonValue; tokens?: number }> = {
  "Cohere v2": {
    body: {
      id: "07734bd2-2473-4f07-94e1-0d9f0e6843cf",
      results: sorted,
      meta: { api_version: { version: "2", is_experimental: false }, billed_units: { search_units: 1 } },
    },
  },
  "Cohere v1, which counts tokens": {
    body: {
      results: sorted.map((one) => ({ ...one, document: { text: "x" } })),
      meta: { tokens: { input_tokens: 31, output_tokens: 0 } },
    },
    tokens: 31,
  },
  "Jina": {
    body: {
      model: "jina-reranker-v2",
      usage: { total_tokens: 32 },
      results: sorted.map((one) => ({ ...one, document: { text: "x" } })),
    },
    tokens: 32,
  },
  "Voyage": {
    body: {
      object: "list",
      data: sorted.map((one) => ({ ...one, document: "x" })),
      model: "rerank-2",
      usage: { total_tokens: 33 },
    },
    tokens: 33,
  },
  "vLLM": {
    body: {
      id: "rerank-1",
      model: "org/model",
      usage: { prompt_tokens: 34, total_tokens: 34 },
      results: sorted.map((one) => ({ ...one, document: { text: "x", multi_modal: null } })),
    },
    tokens: 34,
  },
  "vLLM's score": {
    body: {
      id: "score-1",
      object: "list",
      data: [0.1, 0.9, 0.2].map((score, index) => ({ index, object: "score", score })),
      usage: { prompt_tokens: 35 },
    },
    tokens: 35,
  },
  "an older llama.cpp, which does not sort": {
    body: {
      model: "m",
      object: "list",
      usage: { prompt_tokens: 36, total_tokens: 36 },
      results: [sorted[2]!, sorted[0]!, sorted[1]!],
    },
    tokens: 36,
  },
  "LocalAI, which counts nothing": {
    body: { model: "m", results: [sorted[2]!, sorted[0]!, sorted[1]!], usage: { prompt_tokens: 0, total_tokens: 0 } },
  },
  "Novita": {
    body: { id: "1", model: "m", results: sorted, usage: { prompt_tokens: 37, total_tokens: 37 } },
    tokens: 37,
  },
  "a bare list": { body: [{ index: 1, score: 0.9 }, { index: 2, score: 0.2 }, { index: 0, score: 0.1, text: "x" }] },
  "a list wrapped once more": {
    body: [[{ index: 1, score: 0.9 }, { index: 2, score: 0.2 }, { index: 0, score: 0.1 }]],
  },
  "counts of nonsense": { body: { results: sorted, usage: "many", meta: 7 } },
};

for (const [name, { body, tokens }] of Object.entries(providers)) {
  Deno.test(`a ranking of ${name} reaches the client sorted and whole`, async () => {
    const { answer, notes } = await ask({}, body);
    assertEquals(answer, {
      id: "rerank-1",
      object: "list",
      model: "mine",
      results: sorted,
      usage: { prompt_tokens: tokens ?? 24, total_tokens: tokens ?? 24 },
      meta: { api_version: { version: "1" }, billed_units: { search_units: 1 } },
    });
    assertEquals(notes, tokens === undefined ? ["estimated usage"] : []);
  });
}

for (const fixture of loadFixtures("rerank")) {
  Deno.test(`the real engine's answer "${fixture.name}"`, async () => {
    if (!isOk(fixture)) {
      const { code } = rerankDriver.parseError(reply(fixture));
      assertEquals(code, fixture.response.status === 400 ? "invalid_request" : "upstream_error");
      return;
    }
    const { top_n, ...body } = fixture.request.body as JsonObject;
    const expected = fixture.response.json as JsonObject;
    if (top_n) {
      await assertRejects(() => ask(body, expected), GatewayError, "ranked 2 of 3 documents");
    } else {
      const { calls, answer } = await ask(body, expected);
      assertEquals(calls, [{ path: "rerank", body: { ...body, model: "org/model" } }]);
      assertEquals([answer.results, answer.usage], [expected.results, expected.usage]);
    }
  });
}

// What goes up, and what comes down of it

Deno.test("an upstream gets texts, and does not hear of what the gateway does itself", async () => {
  const documents = ["a", { text: "b", id: 7 }, { text: "c" }];
  const { calls } = await ask({ documents, top_n: 2, return_documents: true, max_tokens_per_doc: 9 }, sorted);
  assertEquals(calls, [{
    path: "rerank",
    body: { model: "org/model", query: CATS.query, documents: ["a", "b", "c"], max_tokens_per_doc: 9 },
  }]);
});

Deno.test("documents come back on request, with all that the client said of them", async () => {
  const documents = ["a", { text: "b", id: 7 }, { title: "c" }];
  const { answer } = await ask({ documents, return_documents: true, rank_fields: ["text", "title"] }, sorted);
  assertEquals((answer.results as JsonObject[]).map(({ document }) => document), [
    { text: "b", id: 7 },
    { text: "title: c", title: "c" },
    { text: "a" },
  ]);
});

for (const [topN, expected] of [[1, [1]], [2, [1, 2]], [3, [1, 2, 0]], [50, [1, 2, 0]], [null, [1, 2, 0]]] as const) {
  Deno.test(`top_n ${topN} of three documents`, async () => {
    const { answer } = await ask({ top_n: topN }, { results: sorted });
    assertEquals((answer.results as JsonObject[]).map(({ index }) => index), [...expected]);
  });
}

Deno.test("the second version says so", async () => {
  const { answer } = await ask({}, { results: sorted }, { protocol: V2 });
  assertEquals(answer.meta, { api_version: { version: "2" }, billed_units: { search_units: 1 } });
  assertMatch(V2.pattern.pathname, /v2/);
});

Deno.test("an error has the message where each client looks for it", async () => {
  const response = V2.serializeError(new GatewayError("rate_limit", "Too many", { retryAfter: "7" }), {
    requestId: "r1",
  });
  assertEquals(response.status, 429);
  assertEquals([response.headers.get("retry-after"), response.headers.get("x-request-id")], ["7", "r1"]);
  assertEquals(await response.json(), {
    message: "Too many",
    error: { message: "Too many", type: "rate_limit_error", param: null, code: "rate_limit_exceeded" },
  });
});

const logits = { results: [scored(0, -2), scored(1, 60), scored(2, 50)] };

Deno.test("scores stay what they are", async () => {
  const { answer } = await ask({}, logits);
  assertEquals(answer.results, [scored(1, 60), scored(2, 50), scored(0, -2)]);
});

Deno.test("logits become probabilities where the upstream is configured so, and keep their order", async () => {
  const { answer } = await ask({}, logits, { scores: "sigmoid" });
  assertEquals(answer.results, [scored(1, 1), scored(2, 1), scored(0, 1 / (1 + Math.exp(2)))]);
  assertEquals((await ask({}, { results: sorted }, { scores: "sigmoid" })).answer.results, sorted);
});

// What is no answer

const broken: Record<string, [answer: JsonValue, says: string, code?: ErrorCode]> = {
  "one document left out": [{ results: sorted.slice(1) }, "ranked 2 of 3 documents"],
  "no documents": [{ results: [] }, "ranked 0 of 3 documents"],
  "a document twice": [{ results: [...sorted, scored(1, 0.3)] }, "ranked document 1 twice"],
  "a document that is none": [{ results: [...sorted, scored(3, 0.3)] }, "ranked document 3 of 3"],
  "a negative index": [{ results: [...sorted, scored(-1, 0.3)] }, "ranked document -1 of 3"],
  "null for a score": [{ results: [{ index: 0, score: null }] }, "score of document 0 is not a finite number"],
  "a score without its document": [{ results: [{ score: 1 }] }, "not a ranking"],
  "no list": [{ results: null }, "not a ranking"],
  "a page": ["<html>busy</html>", "not a ranking"],
  "an error with status 200": [
    { error: { message: "No credits", code: "insufficient_quota" } },
    "No credits",
    "billing",
  ],
};

for (const [name, [answer, says, code = "upstream_error"]] of Object.entries(broken)) {
  Deno.test(`an upstream that ranks ${name} is told of clearly`, async () => {
    const error = await assertRejects(() => ask({}, answer), GatewayError, says);
    assertEquals(error.code, code);
  });
}

// Laws

/** Few different scores, so that many are alike; in any order. */
const rankings = fc.array(fc.integer({ min: -2, max: 2 }), { minLength: 1, maxLength: 20 }).chain((scores) => {
  const results = scores.map((score, index) => scored(index, score));
  return fc.record({
    scores: fc.constant(scores),
    results: fc.shuffledSubarray(results, { minLength: results.length, maxLength: results.length }),
    top_n: fc.integer({ min: 1, max: 25 }),
  });
});

law(
  "a ranking is stable, whatever the upstream's order, and cut where the client says",
  rankings,
  async ({ scores, results, top_n }) => {
    const documents = scores.map((_, index) => `document ${index}`);
    const { answer } = await ask({ documents, top_n }, { results });
    const expected = scores.map((score, index) => scored(index, score)).toSorted((one, other) =>
      other.relevance_score - one.relevance_score || one.index - other.index
    );
    assertEquals(answer.results, expected.slice(0, top_n));
  },
);
