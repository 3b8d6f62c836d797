import type { UpstreamOperation } from "../../src/contract/driver.ts";
import { pathOf } from "./paths.ts";
import { optionsOf, parseRanking, textsOf } from "./tei.ts";

/**
 * Rankings by the hub's own engine. The route serves models of the task `text-ranking` and the rerankers among those that are
 * tagged as classifiers. Its requests have no options.
 */
export const textRanking: UpstreamOperation<"rerank"> = {
  request(input, target, context) {
    optionsOf([], "rerank", input.extra, context);
    const path = `models/${pathOf(target.model)}/pipeline/text-ranking`;
    return textsOf(input, target).map((texts) => ({ path, body: { inputs: { query: input.query, texts } } }));
  },
  response: parseRanking,
};
