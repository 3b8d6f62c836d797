import { GatewayError } from "../errors.ts";
import type { Extra } from "./extra.ts";
import type { JsonValue } from "./json.ts";

/** A request to rank documents by how well they answer a query. */
export interface RerankRequest {
  model: string;
  query: string;
  documents: RerankDocument[];
  /** How many of the best documents to return. Defaults to all. The gateway truncates the list, so upstreams need not. */
  topN?: number;
  returnDocuments: boolean;
  extra?: Extra;
}

export interface RerankDocument {
  text: string;
  /** The document as the client wrote it: text, or an object that may have other fields. */
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
 * The scores of all `count` documents, most relevant first. Equal scores keep the order of the request. With `sigmoid`,
 * scores are mapped to the range 0 to 1 if any lies outside. Throws `upstream_error` if a score is missing, duplicated,
 * not finite, or for an unknown document.
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
  // Sorted first, because very high scores become equal.
  const results = scores.toSorted((a, b) => b.score - a.score || a.index - b.index);
  if (spelling === "as-they-are" || results.every(({ score }) => score >= 0 && score <= 1)) return results;
  return results.map(({ index, score }) => ({ index, score: 1 / (1 + Math.exp(-score)) }));
}

/** The texts that the model reads: the query with each document. */
export function pairsOf({ query, documents }: RerankRequest): string[] {
  return documents.flatMap(({ text }) => [query, text]);
}
