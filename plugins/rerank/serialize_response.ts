import { asObject, type JsonObject, type JsonValue } from "../../src/canonical/json.ts";
import type { RerankResponse } from "../../src/canonical/rerank.ts";
import type { Exchange } from "../../src/contract/context.ts";

/** The best documents, with the additional fields that clients of Cohere, Jina and vLLM read. */
export function serializeResponse(
  { results, usage }: RerankResponse,
  { id, input }: Exchange<"rerank">,
  version: "1" | "2",
): JsonObject {
  const { model, documents, topN, returnDocuments } = input;
  return {
    id,
    object: "list",
    model,
    results: results.slice(0, topN).map(({ index, score }) => ({
      index,
      relevance_score: score,
      ...(returnDocuments && { document: serializeDocument(documents[index]!) }),
    })),
    usage: { prompt_tokens: usage.inputTokens, total_tokens: usage.inputTokens },
    meta: { api_version: { version }, billed_units: { search_units: 1 } },
  };
}

/** The document as an object with `text`, which clients read, and the other fields of the client's own object. */
function serializeDocument({ text, source }: { text: string; source: JsonValue }): JsonObject {
  return { text, ...asObject(source) };
}
