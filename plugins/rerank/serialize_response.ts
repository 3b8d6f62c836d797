import { isJsonObject, type JsonObject, type JsonValue } from "../../src/canonical/json.ts";
import type { RerankResponse } from "../../src/canonical/rerank.ts";
import type { Exchange } from "../../src/contract/context.ts";

/** The best documents, with what the clients of Cohere, Jina and vLLM each read beside them. */
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

/** An object, whose `text` clients read; with all else that the client's own object held. */
function serializeDocument({ text, source }: { text: string; source: JsonValue }): JsonObject {
  return { text, ...(isJsonObject(source) ? source : {}) };
}
