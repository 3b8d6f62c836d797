/** Descriptions of the messages wire's endpoints: what each is for, and what it answers. */
import { z } from "zod";
import { type EndpointDescription, jsonAnswer } from "../../src/contract/description.ts";
import { count, modelFacts, taskParameter, text, word } from "../shared/descriptions.ts";
import library from "./library.json" with { type: "json" };
import { requestSchema, VERSION_HEADER } from "./wire.ts";

const input = z.record(z.string(), z.unknown());
const citation = z.looseObject({ type: text });
const block = z.union([
  z.looseObject({ type: z.literal("text"), text, citations: z.array(citation).nullish() }),
  z.looseObject({ type: z.literal("thinking"), thinking: text, signature: text }),
  z.looseObject({ type: z.literal("redacted_thinking"), data: text }),
  z.looseObject({ type: z.literal("tool_use"), id: word, name: word, input }),
  z.looseObject({ type: z.literal("server_tool_use"), id: word, name: word, input }),
  z.looseObject({ type: word }).meta({ description: "What a server's tool brought, or a newer kind of block." }),
]);
const usage = {
  output_tokens: count,
  cache_creation_input_tokens: count.nullish(),
  cache_read_input_tokens: count.nullish(),
};
const stop = text.meta({ examples: ["end_turn", "max_tokens", "stop_sequence", "tool_use", "pause_turn", "refusal"] });
const message = {
  id: word,
  type: z.literal("message"),
  role: z.literal("assistant"),
  model: text,
  content: z.array(block),
  stop_sequence: text.nullable(),
  usage: z.looseObject({ input_tokens: count, ...usage }),
};
const delta = z.union([
  z.looseObject({ type: z.literal("text_delta"), text }),
  z.looseObject({ type: z.literal("input_json_delta"), partial_json: text }),
  z.looseObject({ type: z.literal("citations_delta"), citation }),
  z.looseObject({ type: z.literal("thinking_delta"), thinking: text }),
  z.looseObject({ type: z.literal("signature_delta"), signature: text }),
  z.looseObject({ type: word }),
]);

const event = z.discriminatedUnion("type", [
  z.looseObject({ type: z.literal("message_start"), message: z.looseObject({ ...message, stop_reason: z.null() }) }),
  z.looseObject({ type: z.literal("content_block_start"), index: count, content_block: block }),
  z.looseObject({ type: z.literal("content_block_delta"), index: count, delta }),
  z.looseObject({ type: z.literal("content_block_stop"), index: count }),
  z.looseObject({
    type: z.literal("message_delta"),
    delta: z.looseObject({ stop_reason: stop, stop_sequence: text.nullable() }),
    usage: z.looseObject({ input_tokens: count.nullish(), ...usage }),
  }),
  z.looseObject({ type: z.literal("message_stop") }),
  z.looseObject({ type: z.literal("ping") }),
  z.looseObject({ type: z.literal("error"), error: z.looseObject({ type: word, message: word }) }),
]);

const model = z.looseObject({
  type: z.literal("model"),
  id: word,
  display_name: text,
  created_at: text.meta({ description: "A date and time." }),
  max_input_tokens: count.nullable(),
  max_tokens: count.nullable(),
  ...modelFacts,
});

const version = {
  [VERSION_HEADER]: { in: "header", description: "The version that the client speaks. Any is accepted." },
} as const;
const when = `with the header ${VERSION_HEADER} or x-api-key`;

const thread = z.discriminatedUnion("type", [
  z.looseObject({ type: z.literal("create") }),
  z.looseObject({ type: z.literal("continue"), previous_message_id: word }),
]).nullish().meta({ description: "Begins a thread, or continues one with the new messages alone." });

export const messages: EndpointDescription = {
  summary: "The next turn of a conversation, as Messages",
  description:
    "Answers a conversation, whole or streamed, with tools, pictures, documents and thinking. With `thread`, " +
    "the gateway keeps the conversation, and each answer is continued once.",
  parameters: version,
  request: requestSchema.extend({ thread }),
  answer: jsonAnswer(z.looseObject({ ...message, stop_reason: stop })),
  event,
  library,
};

export const countTokens: EndpointDescription = {
  summary: "The tokens of a Messages request",
  description: "Counts what the same body would cost as input. Nothing is generated. The header `x-laneway-tokens` " +
    "says who counted.",
  parameters: version,
  request: requestSchema,
  answer: jsonAnswer(z.looseObject({ input_tokens: count })),
};

export const models: EndpointDescription = {
  summary: "The models of the lane, as Messages lists them",
  description: "Lists the models whose ids begin with the vendor's own prefixes; clients of Messages show no others.",
  when,
  parameters: {
    ...taskParameter,
    after_id: { in: "query", description: "The page begins after this model." },
    before_id: { in: "query", description: "The page ends before this model." },
    limit: { in: "query", description: "The most models on the page. Without it, all.", schema: count },
  },
  answer: jsonAnswer(z.looseObject({
    data: z.array(model),
    has_more: z.boolean(),
    first_id: text.nullable(),
    last_id: text.nullable(),
  })),
};

export const oneModel: EndpointDescription = {
  summary: "One model of the lane, as Messages shows it",
  when,
  answer: jsonAnswer(model),
};

const file = z.looseObject({
  id: word,
  type: z.literal("file"),
  filename: text,
  mime_type: text,
  size_bytes: count,
  created_at: text,
  downloadable: z.boolean(),
  expires_at: text.nullable(),
  scope: z.null(),
});

/** The endpoints of files, by what they do. */
export const files: Readonly<Record<"upload" | "list" | "get" | "content" | "remove", EndpointDescription>> = {
  upload: {
    summary: "Keeps a file, as Messages names it",
    when,
    request: z.looseObject({
      file: z.file().meta({ description: "The file." }),
      expires_in_seconds: count.optional().meta({
        description: "How long it is kept. By default until it is deleted.",
      }),
    }),
    answer: jsonAnswer(file),
  },
  list: {
    summary: "The files of the key, as Messages lists them",
    when,
    parameters: {
      page: { in: "query", description: "The `next_page` of the page before." },
      limit: { in: "query", description: "The most files on the page.", schema: count },
      "ids[]": { in: "query", description: "Lists these files only." },
      scope_id: { in: "query", description: "Lists the files of a scope only. No file has one." },
      after_id: { in: "query", description: "The page begins after this file." },
      before_id: { in: "query", description: "The page ends before this file." },
    },
    answer: jsonAnswer(z.looseObject({ data: z.array(file), next_page: text.nullable(), has_more: z.boolean() })),
  },
  get: { summary: "One file of the key, as Messages shows it", when, answer: jsonAnswer(file) },
  content: {
    summary: "The content of a file that a tool made",
    description: "Uploaded files cannot be downloaded in this form.",
    when,
    answer: { "application/octet-stream": undefined },
  },
  remove: {
    summary: "Deletes a file, as Messages does",
    when,
    answer: jsonAnswer(z.looseObject({ id: word, type: z.literal("file_deleted") })),
  },
};
