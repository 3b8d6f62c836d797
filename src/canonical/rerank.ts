import { GatewayError } from "../errors.ts";
import type { Extra } from "./extra.ts";
import type { JsonValue } from "./json.ts";

/** A request to order documents by how well they answer a query. */
export interface RerankRequest {
  model: string;
  query: string;
  documents: RerankDocument[];
  /** How many of the best are wanted; all where absent. The gateway cuts, so no upstream needs it. */
  topN?: number;
  returnDocuments: boolean;
  extra?: Extra;
}

export interface RerankDocument {
  text: string;
  /** The document as the client wrote it: a text, or an object with more than the text. */
  source: JsonValue;
}

export interface RerankResponse {
  /** All documents, most relevant first. */
  results: RankedDocument[];
  usage: { inputTokens: number; estimated?: true };
}

export interface RankedDocument {
  /** The document's position in the request. */
  index: number;
  score: number;
}

/**
 * The scores of all `count` documents, most relevant first and in the order of the request where two are alike. With
 * `sigmoid`, scores that are not all between 0 and 1 are made so. Throws `upstream_error` for a score that is missing, there
 * twice, of no document, or no finite number.
 */
export function rank(
  scores: readonly RankedDocument[],
  count: number,
  spelling: "sigmoid" | "as-they-are" = "as-they-are",
): RankedDocument[] {
  const seen = new Set<number>();
  for (const { index, score } of scores) {
    if (!Number.isInteger(index) || index < 0 || index >= count) {
      throw new GatewayError("upstream_error", `The upstream ranked document ${index} of ${count}`);
    }
    if (seen.has(index)) throw new GatewayError("upstream_error", `The upstream ranked document ${index} twice`);
    if (!Number.isFinite(score)) {
      throw new GatewayError("upstream_error", `The upstream's score of document ${index} is not a finite number`);
    }
    seen.add(index);
  }
  if (seen.size !== count) {
    throw new GatewayError("upstream_error", `The upstream ranked ${seen.size} of ${count} documents`);
  }
  // Sorted first, because very high scores become alike.
  const results = scores.toSorted((a, b) => b.score - a.score || a.index - b.index);
  if (spelling === "as-they-are" || results.every(({ score }) => score >= 0 && score <= 1)) return results;
  return results.map(({ index, score }) => ({ index, score: 1 / (1 + Math.exp(-score)) }));
}

/** All that the model reads: the query with each document. */
export function pairsOf({ query, documents }: RerankRequest): string[] {
  return documents.flatMap(({ text }) => [query, text]);
}
