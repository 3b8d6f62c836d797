/** Description of the endpoints that continue texts. */
import { z } from "zod";
import { type EndpointDescription, jsonAnswer } from "../../src/contract/description.ts";
import { count, text, usage } from "../shared/descriptions.ts";
import { requestSchema } from "./wire.ts";

const tokens = z.array(count);

const logprobs = z.looseObject({
  tokens: z.array(text),
  token_logprobs: z.array(z.number().nullable()),
  top_logprobs: z.array(z.record(z.string(), z.number()).nullable()),
  text_offset: z.array(count),
}).nullable();

const answer = z.looseObject({
  id: text,
  object: z.literal("text_completion"),
  created: count,
  model: text,
  choices: z.array(z.looseObject({ text, index: count, logprobs, finish_reason: text.nullable() })),
  usage: usage.optional(),
});

export const completions: EndpointDescription = {
  summary: "The continuation of a text",
  description: "Goes on after a text, or fills the gap between it and `suffix`, without a chat template.",
  request: requestSchema.extend({
    prompt: z.union([text, z.array(text), tokens, z.array(tokens)]).optional().meta({
      description: "One text or several, or token ids of the model itself.",
    }),
  }),
  answer: jsonAnswer(answer),
  event: answer,
};
