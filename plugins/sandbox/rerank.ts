import { fieldsFor } from "../../src/canonical/extra.ts";
import { rank, type RerankRequest, type RerankResponse } from "../../src/canonical/rerank.ts";
import { estimateTextTokens } from "../../src/canonical/estimate.ts";
import type { Context } from "../../src/contract/context.ts";
import type { Target } from "../../src/contract/driver.ts";
import { runsOf } from "./terms.ts";

// The usual parameters of BM25: how fast the weight of repeated words saturates, and how much a long document loses.
const K1 = 1.2;
const B = 0.75;

/**
 * Ranks documents by the words that they share with the query: BM25, with the request's documents as the collection. A score is a
 * fraction of the best possible score. It is 0 if no word is shared, and never above 1.
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
  // The query counts with every document, as for a model. Not marked as estimated, because this is the sandbox's own count.
  const inputTokens = documents.length * estimateTextTokens(query) +
    sum(documents.map(({ text }) => estimateTextTokens(text)));
  return { results: rank(scores, documents.length), usage: { inputTokens } };
}

/** Adds in sorted order, so that documents with the same words in another order get exactly the same score. */
function sum(numbers: number[]): number {
  return numbers.sort((a, b) => a - b).reduce((sum, number) => sum + number, 0);
}

function wordsIn(text: string): string[] {
  return runsOf(text).flatMap(({ terms }) => terms);
}

/** Counts all words, and how often each queried word occurs. */
function countWords(text: string, queried: ReadonlySet<string>) {
  const words = wordsIn(text);
  const counts = new Map<string, number>();
  for (const word of words) if (queried.has(word)) counts.set(word, (counts.get(word) ?? 0) + 1);
  return { counts, length: words.length };
}
