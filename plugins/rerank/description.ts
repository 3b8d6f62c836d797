/** Description of the rerank wire's endpoints: what they are for, and what they answer. */
import { z } from "zod";
import { type EndpointDescription, jsonAnswer } from "../../src/contract/description.ts";
import { count, text, usage, word } from "../shared/descriptions.ts";
import { requestSchema } from "./wire.ts";

export const rerank: EndpointDescription = {
  summary: "Documents by their relevance to a query",
  description: "The most relevant document comes first. `index` is its place in the request.",
  request: requestSchema,
  answer: jsonAnswer(z.looseObject({
    id: word,
    object: z.literal("list"),
    model: text,
    results: z.array(z.looseObject({
      index: count,
      relevance_score: z.number(),
      document: z.looseObject({ text }).optional(),
    })),
    usage,
    meta: z.looseObject({
      api_version: z.looseObject({ version: text }),
      billed_units: z.looseObject({ search_units: count }),
    }),
  })),
};
