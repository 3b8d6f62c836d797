/**
 * The shapes of the rerank wire, as both sides send them: Cohere's, which Jina, vLLM and llama.cpp share, with Voyage's names
 * beside it.
 */
import { z } from "zod";
import { json } from "../shared/shapes.ts";

export const WIRE = "rerank";

const count = z.int().min(1).nullish();
const document = z.union([
  z.string(),
  json,
]);

const requestFields = {
  model: z.string().min(1).max(512),
  query: z.string().min(1),
  documents: z.array(document).min(1).max(10_000),
  top_n: count,
  /** Voyage's name for `top_n`. */
  top_k: count,
  return_documents: z.boolean().nullish(),
  rank_fields: z.array(z.string()).min(1).nullish(),
};
export const requestSchema = z.looseObject(requestFields);
export const REQUEST_KEYS: ReadonlySet<string> = new Set(Object.keys(requestFields));

const number = z.number().nullish();
/** An upstream's scores of documents. */
export const scoresSchema = z.array(z.looseObject({ index: z.int(), relevance_score: number, score: number }));

const tokens = z.int().min(0).nullish().catch(undefined);
/** An upstream's counts: Cohere has them under `meta`, the others under `usage`. */
export const countsSchema = z.looseObject({
  usage: z.looseObject({ prompt_tokens: tokens, total_tokens: tokens }).nullish().catch(undefined),
  meta: z.looseObject({ tokens: z.looseObject({ input_tokens: tokens }).nullish() }).nullish().catch(undefined),
});
