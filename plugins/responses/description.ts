/** Descriptions of the responses wire's endpoints: what each is for, and what it answers. */
import { z } from "zod";
import { type EndpointDescription, jsonAnswer } from "../../src/contract/description.ts";
import { count, pageOf, seconds, taskParameter, text, word } from "../shared/descriptions.ts";
import library from "./library.json" with { type: "json" };
import { conversationSchema, item as inputItem, itemsSchema, metadataSchema, requestSchema } from "./wire.ts";

const untyped = z.looseObject({ type: z.null().optional() }).meta({
  description: "An item without a type, which its other fields tell: a message has a role.",
});
const inputItems = z.array(z.union([inputItem, untyped]));
const request = requestSchema.extend({ input: z.union([text, inputItems]).nullish() });

const part = z.looseObject({ type: word, text: text.optional() });
const item = z.union([
  z.looseObject({ type: z.literal("message"), id: word, role: word, content: z.array(part) }),
  z.looseObject({ type: z.literal("reasoning"), id: word, summary: z.array(part) }),
  z.looseObject({ type: z.literal("function_call"), call_id: word, name: word, arguments: text }),
  z.looseObject({ type: z.literal("custom_tool_call"), call_id: word, name: word, input: text }),
  z.looseObject({ type: word }).meta({ description: "What a hosted tool did, or a newer kind of item." }),
]);

const response = z.looseObject({
  id: word,
  object: z.literal("response"),
  created_at: seconds,
  model: text,
  status: z.enum(["completed", "failed", "in_progress", "cancelled", "queued", "incomplete"]),
  error: z.looseObject({ code: word, message: word }).nullable(),
  incomplete_details: z.looseObject({ reason: text.optional() }).nullable(),
  output: z.array(item),
  usage: z.looseObject({
    input_tokens: count,
    output_tokens: count,
    total_tokens: count,
    input_tokens_details: z.looseObject({ cached_tokens: count }),
    output_tokens_details: z.looseObject({ reasoning_tokens: count }),
  }).nullable(),
  previous_response_id: text.nullish(),
});

const numbered = { sequence_number: count };
const inItem = { ...numbered, item_id: word, output_index: count };
const kinds = (first: string, ...others: string[]) => z.enum([first, ...others]);
const event = z.union([
  z.looseObject({
    type: kinds(
      "response.created",
      "response.queued",
      "response.in_progress",
      "response.completed",
      "response.incomplete",
      "response.failed",
    ),
    ...numbered,
    response,
  }),
  z.looseObject({
    type: kinds("response.output_item.added", "response.output_item.done"),
    ...numbered,
    output_index: count,
    item,
  }),
  z.looseObject({
    type: kinds(
      "response.output_text.delta",
      "response.refusal.delta",
      "response.reasoning_text.delta",
      "response.reasoning_summary_text.delta",
      "response.function_call_arguments.delta",
      "response.custom_tool_call_input.delta",
    ),
    ...inItem,
    delta: text,
  }),
  z.looseObject({ type: word }).meta({ description: "The end of a part, a step of a hosted tool, or a sign of life." }),
]);

const stored = "Only the key that made it can ask for it.";

export const responses: EndpointDescription = {
  summary: "The next turn of a conversation, as Responses",
  description: "Answers a conversation, whole or streamed, with functions, custom and hosted tools, reasoning and " +
    "structured output. Answers are kept unless `store` is `false`, so that `previous_response_id` goes on from " +
    "them. With `background` the answer is made apart from the request.",
  request,
  answer: jsonAnswer(response),
  event,
  library,
};

export const socket: EndpointDescription = {
  summary: "Turns of conversations, over a connection that stays open",
  description: "Each message of the client, `response.create`, is a request of `POST`; each message of the " +
    "gateway is an event of an answer.",
  when: "with the header upgrade: websocket",
  answer: {},
};

export const inputTokens: EndpointDescription = {
  summary: "The tokens of a Responses request",
  description: "Counts what the same body would cost as input. Nothing is generated.",
  request,
  answer: jsonAnswer(z.looseObject({ object: z.literal("response.input_tokens"), input_tokens: count })),
};

export const get: EndpointDescription = {
  summary: "A stored response",
  description: `With \`stream=true\` its events, also those that are still to come. ${stored}`,
  parameters: {
    stream: { in: "query", description: "Whether the events are wanted.", schema: z.boolean() },
    starting_after: { in: "query", description: "The number of the last event that the client has.", schema: count },
  },
  answer: jsonAnswer(response),
  event,
};

export const remove: EndpointDescription = {
  summary: "Deletes a stored response",
  description: stored,
  answer: jsonAnswer(z.looseObject({ id: word, object: z.literal("response"), deleted: z.literal(true) })),
};

const paging = {
  order: { in: "query", description: "Without it, the newest item comes first.", schema: z.enum(["asc", "desc"]) },
  after: { in: "query", description: "The page begins after this item." },
  limit: {
    in: "query",
    description: "The most items on the page. Without it, 20.",
    schema: z.int().min(1).max(100),
  },
} as const;

export const listInput: EndpointDescription = {
  summary: "What a stored response was asked",
  description: stored,
  parameters: paging,
  answer: jsonAnswer(pageOf(item)),
};

export const cancel: EndpointDescription = {
  summary: "Stops a response that is made in the background",
  description: stored,
  answer: jsonAnswer(response),
};

export const compact: EndpointDescription = {
  summary: "A conversation, shortened",
  description: "The model that is asked writes a summary, which the client keeps sealed and sends in place of what " +
    "was summed up.",
  request,
  answer: jsonAnswer(z.looseObject({ id: word, object: z.literal("response.compaction"), output: z.array(item) })),
};

export const models: EndpointDescription = {
  summary: "The models of the lane, with what an agent has to know of each",
  when: "with the query client_version",
  parameters: {
    ...taskParameter,
    client_version: { in: "query", description: "The agent's version." },
  },
  answer: jsonAnswer(z.looseObject({
    object: z.literal("list"),
    data: z.array(z.looseObject({ id: word, object: z.literal("model") })),
    models: z.array(z.looseObject({ slug: word, display_name: text })),
  })),
};

const conversation = jsonAnswer(z.looseObject({
  id: word,
  object: z.literal("conversation"),
  created_at: seconds,
  metadata: z.record(z.string(), z.unknown()),
}));

/** By the ends of the names of the protocols. */
export const conversations: Readonly<Record<string, EndpointDescription>> = {
  create: {
    summary: "Makes a conversation",
    request: conversationSchema.extend({ items: inputItems.max(20).nullish() }),
    answer: conversation,
  },
  get: { summary: "A conversation", description: stored, answer: conversation },
  update: { summary: "Changes the metadata of a conversation", request: metadataSchema, answer: conversation },
  delete: {
    summary: "Deletes a conversation",
    answer: jsonAnswer(
      z.looseObject({ id: word, object: z.literal("conversation.deleted"), deleted: z.literal(true) }),
    ),
  },
  "add-items": {
    summary: "Adds items to a conversation",
    request: itemsSchema.extend({ items: inputItems.max(20) }),
    answer: jsonAnswer(pageOf(item)),
  },
  "list-items": { summary: "The items of a conversation", parameters: paging, answer: jsonAnswer(pageOf(item)) },
  "get-item": { summary: "One item of a conversation", answer: jsonAnswer(item) },
  "delete-item": { summary: "Removes an item from a conversation", answer: conversation },
};
