/** Describes the endpoints of the Ollama wire and their answers. */
import { z } from "zod";
import { type EndpointDescription, jsonAnswer } from "../../src/contract/description.ts";
import { count, text, word } from "../shared/descriptions.ts";
import { embedSchema, generateSchema, promptSchema, requestSchema, showSchema } from "./wire.ts";

const line = z.looseObject({
  model: text,
  created_at: text.meta({ description: "A date and time." }),
  message: z.looseObject({
    role: z.literal("assistant"),
    content: text,
    thinking: text.optional(),
    tool_calls: z.array(z.looseObject({
      function: z.looseObject({ name: text, arguments: z.record(z.string(), z.unknown()) }),
    })).optional(),
  }),
  done: z.boolean(),
  done_reason: text.optional(),
  prompt_eval_count: count.optional(),
  eval_count: count.optional(),
});
const details = z.looseObject({ family: text });

export const chat: EndpointDescription = {
  summary: "The next turn of a conversation, as Ollama's chat",
  description: "Answers a conversation, with tools, thinking, pictures and structured output. It is streamed, a line " +
    "of JSON each, unless `stream` is `false`.",
  request: requestSchema,
  answer: jsonAnswer(line),
  event: line,
};

const { message: _, ...ends } = line.shape;
const generated = z.looseObject({ ...ends, response: text, thinking: text.optional() });

export const generate: EndpointDescription = {
  summary: "The answer to a prompt, as Ollama's generate",
  description:
    "Answers a prompt as the only turn of a conversation. It is streamed, a line of JSON each, unless `stream` is " +
    "`false`.",
  request: generateSchema,
  answer: jsonAnswer(generated),
  event: generated,
};

export const fill: EndpointDescription = {
  summary: "The continuation of a raw prompt, or the text before a suffix, as Ollama's generate",
  when: "with `raw` or a `suffix`",
  request: generateSchema,
  answer: jsonAnswer(generated),
  event: generated,
};

export const tags: EndpointDescription = {
  summary: "The chat models, as Ollama lists them",
  answer: jsonAnswer(z.looseObject({
    models: z.array(z.looseObject({ name: word, model: word, modified_at: text, size: count, digest: text, details })),
  })),
};

export const running: EndpointDescription = {
  summary: "The chat models, as Ollama lists those that are loaded",
  description: "Behind a gateway, every model answers at once, so the list has them all.",
  answer: jsonAnswer(z.looseObject({
    models: z.array(z.looseObject({
      name: word,
      model: word,
      size: count,
      digest: text,
      details,
      expires_at: text,
      size_vram: count,
    })),
  })),
};

const vector = z.array(z.number());

export const embed: EndpointDescription = {
  summary: "The embeddings of texts, in Ollama's form",
  request: embedSchema,
  answer: jsonAnswer(z.looseObject({
    model: text,
    embeddings: z.array(vector),
    total_duration: count,
    load_duration: count,
    prompt_eval_count: count,
  })),
};

export const embeddings: EndpointDescription = {
  summary: "The embedding of one text, in Ollama's older form",
  request: promptSchema,
  answer: jsonAnswer(z.looseObject({ embedding: vector })),
};

export const show: EndpointDescription = {
  summary: "One model, as Ollama shows it",
  request: showSchema,
  answer: jsonAnswer(z.looseObject({
    details,
    model_info: z.record(z.string(), z.unknown()),
    capabilities: z.array(text),
    modified_at: text,
  })),
};

export const version: EndpointDescription = {
  summary: "The version of Ollama's API",
  description: "Clients compare it with the version that they need.",
  answer: jsonAnswer(z.looseObject({ version: text })),
};
