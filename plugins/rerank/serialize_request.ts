import { fieldsFor } from "../../src/canonical/extra.ts";
import type { JsonObject } from "../../src/canonical/json.ts";
import type { RerankRequest } from "../../src/canonical/rerank.ts";
import type { Context } from "../../src/contract/context.ts";
import type { Target } from "../../src/contract/driver.ts";
import { WIRE } from "./wire.ts";

/**
 * The body for an upstream. The scores of all documents are wanted, because servers disagree on `top_n`: older builds of
 * llama.cpp ignore it and do not sort, newer ones read 0 as none, vLLM as all.
 */
export function serializeRequest(input: RerankRequest, target: Target, context: Context): JsonObject {
  return {
    model: target.model,
    query: input.query,
    documents: input.documents.map(({ text }) => text),
    ...fieldsFor(WIRE, input.extra, context.note),
  };
}
