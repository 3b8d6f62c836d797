/** Description of the endpoints that continue texts. */
import { z } from "zod";
import { type EndpointDescription, jsonAnswer } from "../../src/contract/description.ts";
import { count, text, usage } from "../shared/descriptions.ts";
import { fimSchema } from "./fim.ts";
import { infillSchema } from "./infill.ts";
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

const choice = { index: count, finish_reason: text.nullable() };
const content = z.looseObject({ content: text });
const head = { id: text, created: count, model: text };

export const fim: EndpointDescription = {
  summary: "The text between a prompt and a suffix, as Mistral's fill-in-the-middle",
  request: fimSchema,
  answer: jsonAnswer(z.looseObject({
    ...head,
    object: z.literal("chat.completion"),
    choices: z.array(z.looseObject({ ...choice, message: content })),
    usage,
  })),
  event: z.looseObject({
    ...head,
    object: z.literal("chat.completion.chunk"),
    choices: z.array(z.looseObject({ ...choice, delta: content })),
    usage: usage.optional(),
  }),
};

export const infill: EndpointDescription = {
  summary: "The text between a prefix and a suffix, as llama.cpp's infill",
  description: "Only `content` and `stop` are in every event; the last one has the figures.",
  request: infillSchema,
  answer: jsonAnswer(z.looseObject({
    content: text.optional(),
    stop: z.boolean().optional(),
    tokens_predicted: count.optional(),
    tokens_evaluated: count.optional(),
  })),
  event: z.looseObject({ content: text.optional(), stop: z.boolean().optional() }),
};
