/** Description of the embeddings wire's endpoint: what it is for, and what it answers. */
import { z } from "zod";
import { type EndpointDescription, jsonAnswer } from "../../src/contract/description.ts";
import { count, text, usage } from "../shared/descriptions.ts";
import { requestSchema } from "./wire.ts";

const tokens = z.array(count);

export const embeddings: EndpointDescription = {
  summary: "Vectors of texts",
  description: "Turns texts, or lists of token ids, into vectors, in their order.",
  request: requestSchema.extend({
    input: z.union([text, z.array(text), tokens, z.array(tokens)]).meta({ description: "One text or several." }),
  }),
  answer: jsonAnswer(z.looseObject({
    object: z.literal("list"),
    data: z.array(z.looseObject({
      object: z.literal("embedding"),
      index: count,
      embedding: z.union([z.array(z.number()), text]).meta({
        description: 'Numbers; with `encoding_format: "base64"` 32-bit floats, little-endian, as base64.',
      }),
    })),
    model: text,
    usage,
  })),
};
