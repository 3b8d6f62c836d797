import { usageOfInputs } from "../../src/canonical/embed.ts";
import { isJsonObject } from "../../src/canonical/json.ts";
import {
  pairsOf,
  rank,
  type RankedDocument,
  type RerankRequest,
  type RerankResponse,
} from "../../src/canonical/rerank.ts";
import type { Context } from "../../src/contract/context.ts";
import type { Target } from "../../src/contract/driver.ts";
import { accept } from "../../src/contract/validate.ts";
import { GatewayError } from "../../src/errors.ts";
import { saysError, upstreamStreamError } from "../shared/errors.ts";
import { countsSchema, scoresSchema } from "./wire.ts";

/** An upstream's ranking, in any order and shape that servers of this wire have. */
export function parseResponse(body: unknown, input: RerankRequest, target: Target, context: Context): RerankResponse {
  return {
    results: rank(parseScores(body), input.documents.length, target.scores),
    usage: usageOfInputs([countOf(body)], pairsOf(input), context.note),
  };
}

/** `results` of Cohere and its kin, `data` of Voyage, or a list alone; wrapped once more in some deployments. */
function parseScores(body: unknown): RankedDocument[] {
  if (saysError(body)) throw upstreamStreamError(body);
  const list = isJsonObject(body) ? body.results ?? body.data : body;
  const scores = accept(scoresSchema, Array.isArray(list) ? list.flat() : list);
  if (!scores) throw new GatewayError("upstream_error", "The upstream's answer is not a ranking");
  return scores.map(({ index, relevance_score, score }) => ({ index, score: relevance_score ?? score ?? NaN }));
}

function countOf(body: unknown): number | undefined | null {
  const counts = accept(countsSchema, body);
  return counts?.usage?.prompt_tokens || counts?.usage?.total_tokens || counts?.meta?.tokens?.input_tokens;
}
