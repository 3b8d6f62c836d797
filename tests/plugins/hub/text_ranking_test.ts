import { assertEquals, assertRejects } from "@std/assert";
import { textRanking } from "../../../plugins/hub/inference.ts";
import { rerankProtocols } from "../../../plugins/rerank/mod.ts";
import type { JsonObject, JsonValue } from "../../../src/canonical/json.ts";
import { GatewayError } from "../../../src/errors.ts";
import { newReply, protocolOf, travel, type Upstream } from "../../support/text_operations.ts";

const reranking = protocolOf(rerankProtocols, "rerank", "rerank");
const PANDA = { query: "what is panda?", documents: ["hi", "The giant panda is a bear", "a bear"] };
const rerank = (body: JsonObject, upstream: Upstream) =>
  travel(reranking, textRanking, { ...PANDA, ...body }, upstream, { model: "BAAI/bge-reranker-v2-m3" });

const scored = (index: number, relevance_score: number) => ({ index, relevance_score });

Deno.test("the hub's engine is asked at the model's own route, which has no options", async () => {
  const reply = newReply([{ score: 0.8, index: 1 }, { score: 0.2, index: 2 }, { score: 0.1, index: 0 }], {
    "x-compute-tokens": "40",
  });
  const { calls, answer, notes } = await rerank({ top_n: 2, raw_scores: true }, () => reply);
  assertEquals(calls, [{
    path: "models/BAAI/bge-reranker-v2-m3/pipeline/text-ranking",
    body: { inputs: { query: PANDA.query, texts: PANDA.documents } },
  }]);
  assertEquals(answer.results, [scored(1, 0.8), scored(2, 0.2)]);
  assertEquals([answer.usage, notes], [{ prompt_tokens: 40, total_tokens: 40 }, ["dropped raw_scores"]]);
});

const label = (score: number) => ({ label: "LABEL_0", score });
const shapes: Record<string, JsonValue> = {
  "a sorted list": [{ index: 1, score: 0.8 }, { index: 2, score: 0.2 }, { index: 0, score: 0.1 }],
  "an unsorted list": [{ index: 0, score: 0.1 }, { index: 1, score: 0.8 }, { index: 2, score: 0.2 }],
  "a list with texts": [{ index: 1, score: 0.8, text: "x" }, { index: 2, score: 0.2 }, { index: 0, score: 0.1 }],
  "a list wrapped once more": [[{ index: 1, score: 0.8 }, { index: 2, score: 0.2 }, { index: 0, score: 0.1 }]],
  "a label for each pair": [label(0.1), label(0.8), label(0.2)],
  "a list of labels for each pair": [[label(0.1)], [label(0.8)], [label(0.2)]],
  "the labels of all pairs in one list": [[label(0.1), label(0.8), label(0.2)]],
  "a list of labels for each pair, wrapped once more": [[[label(0.1)], [label(0.8)], [label(0.2)]]],
};

for (const [name, reply] of Object.entries(shapes)) {
  Deno.test(`the hub's engine may answer a ranking with ${name}`, async () => {
    const { answer, notes } = await rerank({}, () => reply);
    assertEquals(answer.results, [scored(1, 0.8), scored(2, 0.2), scored(0, 0.1)]);
    assertEquals(notes, ["estimated usage"]);
  });
}

const broken: Record<string, [answer: JsonValue, says: string]> = {
  "two labels for each pair": [[0, 1, 2].map(() => [label(0.1), label(0.9)]), "6 scores for 3 documents"],
  "one pair left out": [[[label(0.1)], [label(0.8)]], "2 scores for 3 documents"],
  "one document twice": [[0, 1, 1].map((index) => ({ index, score: 1 })), "ranked document 1 twice"],
  "null for a score": [[0, 1, 2].map((index) => ({ index, score: null })), "is not a finite number"],
  "vectors": [[[1, 2], [3, 4], [5, 6]], "not a ranking"],
  "an error with status 200": [{ error: "Model not loaded" }, "Model not loaded"],
};

for (const [name, [reply, says]] of Object.entries(broken)) {
  Deno.test(`the hub's engine that answers a ranking with ${name} fails`, async () => {
    const error = await assertRejects(() => rerank({}, () => reply), GatewayError, says);
    assertEquals(error.code, "upstream_error");
  });
}
