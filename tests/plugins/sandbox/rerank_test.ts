import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import type { RerankRequest } from "../../../src/canonical/rerank.ts";
import { rerank } from "../../../plugins/sandbox/rerank.ts";
import { newContext } from "../../support/context.ts";
import { TARGET } from "./support.ts";

function ask(query: string, documents: string[], more: Partial<RerankRequest> = {}) {
  const context = newContext("rerank");
  const request = { model: "demo", query, documents: documents.map((text) => ({ text, source: text })) };
  const response = rerank({ ...request, returnDocuments: false, ...more }, TARGET, context);
  return { ...response, notes: context.notes };
}

function order(query: string, ...documents: string[]): number[] {
  return ask(query, documents).results.map(({ index }) => index);
}

Deno.test("documents that share the query's words come first, rare words before common ones", () => {
  const documents = [
    "The weather in Berlin is fine.",
    "Berlin is the capital of Germany.",
    "Paris is the capital of France.",
    "Bread is flour.",
  ];
  assertEquals(order("What is the capital of France?", ...documents), [2, 1, 0, 3]);
  assertEquals(order("berlin weather", ...documents), [0, 1, 2, 3]);
});

Deno.test("a word counts more often, but ever less, and more in a short document", () => {
  assertEquals(order("cat", "cat dog dog", "cat cat dog"), [1, 0]);
  assertEquals(order("cat dog", "cat cat cat cat", "cat dog bird fish"), [1, 0]);
  assertEquals(order("cat", "cat and a great many other words", "cat and mouse"), [1, 0]);
});

Deno.test("words are found in any script and spelling", () => {
  assertEquals(order("天气", "我喜欢吃苹果", "今天的天气很好"), [1, 0]);
  assertEquals(order("猫", "犬が好きです", "私は猫が好き"), [1, 0]);
  assertEquals(order("ПОГОДА", "рецепт", "погода завтра"), [1, 0]);
  assertEquals(order("CAFÉ", "coffee", "a cafe\u0301"), [1, 0]);
  assertEquals(order("iPhone电池", "电视", "电池 iPhone", "iPad"), [1, 0, 2]);
});

Deno.test("documents that are alike keep the order of the request, those without a match at zero", () => {
  const documents = ["none", "red blue green", "green red blue", "nothing", "blue green red", "red", "red blue"];
  const { results } = ask("red blue green", documents);
  assertEquals(results.map(({ index }) => index), [1, 2, 4, 6, 5, 0, 3]);
  const scores = results.map(({ score }) => score);
  assertEquals(scores.slice(1, 3), [scores[0], scores[0]]);
  assertEquals(scores.slice(5), [0, 0]);
});

Deno.test("the order of a document's words makes no difference to the last bit", () => {
  const vocabulary = "red blue green cat dog bird 1 2 3".split(" ");
  const document = fc.array(fc.constantFrom(...vocabulary), { minLength: 3, maxLength: 12 });
  fc.assert(
    fc.property(fc.array(document, { minLength: 1, maxLength: 6 }), (documents) => {
      const texts = documents.flatMap((words) => [words.join(" "), words.toReversed().join(" ")]);
      const scores = ask(vocabulary.join(" "), texts).results.toSorted((a, b) => a.index - b.index);
      for (let index = 0; index < texts.length; index += 2) {
        assertEquals(scores[index]!.score, scores[index + 1]!.score);
      }
    }),
    { seed: 20261121 },
  );
});

Deno.test("a query or documents without words are ranked in the order of the request", () => {
  for (const documents of [["a", "b", "?"], ["", "", ""]]) {
    assertEquals(ask("?!", documents).results.map(({ index, score }) => [index, score]), [[0, 0], [1, 0], [2, 0]]);
  }
});

Deno.test("the query is counted once for every document", () => {
  assertEquals(ask("x".repeat(40), ["y".repeat(4), "z".repeat(8)]).usage, { inputTokens: 2 * 10 + 1 + 2 });
});

Deno.test("what the sandbox leaves aside is noted", () => {
  const extra = { wire: "rerank", fields: { max_chunks_per_doc: 3 } };
  assertEquals(ask("x", ["y"], { extra }).notes, ["dropped max_chunks_per_doc"]);
});

Deno.test("any ranking holds each document once, with scores from 0 to 1, and comes out the same again", () => {
  const text = fc.oneof(
    fc.string({ unit: "binary" }),
    fc.array(fc.constantFrom("cat", "dog", "猫", "été", "the"), { maxLength: 8 }).map((words) => words.join(" ")),
  );
  fc.assert(
    fc.property(text, fc.array(text, { minLength: 1, maxLength: 12 }), (query, documents) => {
      const { results } = ask(query, documents);
      assertEquals(results.map(({ index }) => index).sort((a, b) => a - b), documents.map((_, index) => index));
      for (const { score } of results) assert(score >= 0 && score <= 1);
      assertEquals(ask(query, documents).results, results);
      // The same document twice is worth the same twice.
      const twice = ask(query, [...documents, ...documents]).results;
      const scoreOf = (index: number) => twice.find((result) => result.index === index)!.score;
      for (const index of documents.keys()) assertEquals(scoreOf(index), scoreOf(index + documents.length));
    }),
    { seed: 20261121, numRuns: 300 },
  );
});
