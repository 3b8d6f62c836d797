import { fieldsFor } from "../../src/canonical/extra.ts";
import { rank, type RerankRequest, type RerankResponse } from "../../src/canonical/rerank.ts";
import { estimateTextTokens } from "../../src/canonical/estimate.ts";
import type { Context } from "../../src/contract/context.ts";
import type { Target } from "../../src/contract/driver.ts";
import { runsOf } from "./terms.ts";

// The usual parameters of BM25: how soon a word that comes again stops counting, and how much a long document loses.
const K1 = 1.2;
const B = 0.75;

/**
 * Documents by the words that they share with the query (BM25, where the documents of the request are the collection). A
 * score is the share of what the best document imaginable would have: 0 where they share no word, never above 1.
 */
export function rerank(request: RerankRequest, _target: Target, context: Context): RerankResponse {
  const { query, documents, extra } = request;
  fieldsFor("sandbox", extra, context.note);
  const queried = new Set(wordsIn(query));
  const counted = documents.map(({ text }) => countWords(text, queried));
  const meanLength = sum(counted.map(({ length }) => length)) / counted.length;
  const holding = new Map<string, number>();
  for (const { counts } of counted) for (const word of counts.keys()) holding.set(word, (holding.get(word) ?? 0) + 1);
  const weightOf = (word: string) => {
    const held = holding.get(word) ?? 0;
    return Math.log(1 + (counted.length - held + 0.5) / (held + 0.5)) * (K1 + 1);
  };
  const best = sum([...queried].map(weightOf));
  const scores = counted.map(({ counts, length }, index) => {
    const damping = K1 * (1 - B + B * length / meanLength);
    const shares = Array.from(counts, ([word, count]) => weightOf(word) * count / (count + damping));
    return { index, score: shares.length === 0 ? 0 : sum(shares) / best };
  });
  // The query is read with every document, as a model would. Not `estimated`: the sandbox has no other way to count.
  const inputTokens = documents.length * estimateTextTokens(query) +
    sum(documents.map(({ text }) => estimateTextTokens(text)));
  return { results: rank(scores, documents.length), usage: { inputTokens } };
}

/** In one order, so that documents of the same words in another order are alike to the last bit. */
function sum(numbers: number[]): number {
  return numbers.sort((a, b) => a - b).reduce((sum, number) => sum + number, 0);
}

function wordsIn(text: string): string[] {
  return runsOf(text).flatMap(({ terms }) => terms);
}

/** How many words there are, and how often each of the queried ones. */
function countWords(text: string, queried: ReadonlySet<string>) {
  const words = wordsIn(text);
  const counts = new Map<string, number>();
  for (const word of words) if (queried.has(word)) counts.set(word, (counts.get(word) ?? 0) + 1);
  return { counts, length: words.length };
}
