/** Describes the endpoints of the Gemini wire and their answers. */
import { z } from "zod";
import { type EndpointDescription, jsonAnswer } from "../../src/contract/description.ts";
import { count, taskParameter, text, word } from "../shared/descriptions.ts";
import { batchSchema, countSchema, embedSchema, requestSchema } from "./wire.ts";

const part = z.looseObject({
  text: text.optional(),
  thought: z.literal(true).optional(),
  thoughtSignature: text.optional().meta({ description: "To be sent back as it is, with the part." }),
  functionCall: z.looseObject({ id: word, name: word, args: z.record(z.string(), z.unknown()) }).optional(),
});
const answer = z.looseObject({
  candidates: z.array(z.looseObject({
    content: z.looseObject({ role: z.literal("model"), parts: z.array(part) }),
    finishReason: text.optional(),
    finishMessage: text.optional(),
    index: z.literal(0),
  })).length(1),
  usageMetadata: z.looseObject({
    promptTokenCount: count,
    candidatesTokenCount: count,
    thoughtsTokenCount: count.optional(),
    cachedContentTokenCount: count.optional(),
    totalTokenCount: count,
  }).optional(),
  modelVersion: text,
  responseId: text,
});
const model = z.looseObject({
  name: word,
  version: text,
  displayName: text,
  inputTokenLimit: count.optional(),
  outputTokenLimit: count.optional(),
  supportedGenerationMethods: z.array(text),
});
const vector = z.looseObject({ values: z.array(z.number()) });

const said = "with functions, thinking, pictures and structured output. Names may be in camel case or in snake case.";
const form = { in: "query", description: "`sse` for events; else the answer is one list." } as const;

export const generate: EndpointDescription = {
  summary: "The next turn of a conversation, as Gemini gives it",
  description: `Answers a conversation whole, ${said}`,
  request: requestSchema,
  answer: jsonAnswer(answer),
};

export const stream: EndpointDescription = {
  summary: "The same, streamed",
  description: `Answers a conversation as events, ${said} The last piece has \`finishReason\`.`,
  when: "with `alt=sse`",
  parameters: { alt: form },
  request: requestSchema,
  answer: {},
  event: answer,
};

export const list: EndpointDescription = {
  summary: "The same, streamed as one list",
  description: "Answers a conversation as a list, an item as soon as it is there.",
  parameters: { alt: form },
  request: requestSchema,
  answer: jsonAnswer(z.array(answer)),
};

export const countTokens: EndpointDescription = {
  summary: "How many tokens a conversation has, as Gemini counts",
  request: countSchema,
  answer: jsonAnswer(z.looseObject({ totalTokens: count })),
};

export const embed: EndpointDescription = {
  summary: "A text as a vector, as Gemini gives it",
  request: embedSchema,
  answer: jsonAnswer(z.looseObject({ embedding: vector })),
};

export const embedBatch: EndpointDescription = {
  summary: "Texts as vectors, as Gemini gives them",
  request: batchSchema,
  answer: jsonAnswer(z.looseObject({ embeddings: z.array(vector) })),
};

const when = "with the header x-goog-api-key or x-goog-api-client, or with a key in the query";

export const models: EndpointDescription = {
  summary: "The models of a lane, as Gemini lists them",
  parameters: {
    ...taskParameter,
    pageSize: { in: "query", description: "How many a page has; all without it.", schema: z.int().min(0) },
    pageToken: { in: "query", description: "The `nextPageToken` of the page before." },
  },
  answer: jsonAnswer(z.looseObject({ models: z.array(model), nextPageToken: text.optional() })),
};

export const oneModel: EndpointDescription = {
  summary: "One model, as Gemini shows it",
  answer: jsonAnswer(model),
};

/** The description of an endpoint whose path other protocols answer, too. */
export function beside(description: EndpointDescription): EndpointDescription {
  return { ...description, when };
}

const file = z.looseObject({
  name: word,
  displayName: text,
  mimeType: text,
  sizeBytes: text,
  createTime: text,
  updateTime: text,
  expirationTime: text.optional(),
  uri: text,
  state: z.literal("ACTIVE"),
});
const uploaded = z.looseObject({ file });
type FileVerb = "begin" | "append" | "upload" | "list" | "get" | "remove";

/** The endpoints of files, by what they do. */
export const files: Readonly<Record<FileVerb, EndpointDescription>> = {
  begin: {
    summary: "Begins the upload of a file in pieces",
    description: "The answer's header `x-goog-upload-url` says where the pieces go.",
    when: "with the header x-goog-upload-command: start",
    request: z.looseObject({ file: z.looseObject({ mimeType: text.optional(), displayName: text.optional() }) }),
    answer: {},
  },
  append: {
    summary: "Uploads a piece of a file",
    when: "with an upload_id in the query",
    parameters: { upload_id: { in: "query", description: "The upload, as its URL has it." } },
    answer: jsonAnswer(uploaded),
  },
  upload: {
    summary: "Keeps a file, as Gemini uploads it",
    description: "The body is the file, or multipart/related with its facts first. It is kept for 48 hours.",
    answer: jsonAnswer(uploaded),
  },
  list: {
    summary: "The files of the key, as Gemini lists them",
    parameters: {
      pageSize: { in: "query", description: "How many a page has.", schema: z.int().min(1) },
      pageToken: { in: "query", description: "The `nextPageToken` of the page before." },
    },
    answer: jsonAnswer(z.looseObject({ files: z.array(file), nextPageToken: text.optional() })),
  },
  get: { summary: "One file of the key, as Gemini shows it", answer: jsonAnswer(file) },
  remove: { summary: "Deletes a file, as Gemini does", answer: jsonAnswer(z.looseObject({})) },
};
