/** Descriptions of the chat wire's endpoints: what each is for, and what it answers. */
import { z } from "zod";
import { type EndpointDescription, jsonAnswer } from "../../src/contract/description.ts";
import { count, modelFacts, seconds, taskParameter, text, word } from "../shared/descriptions.ts";
import library from "./library.json" with { type: "json" };
import { requestSchema } from "./wire.ts";

const called = z.looseObject({ name: text, arguments: text.meta({ description: "JSON, as the model wrote it." }) });
const call = z.discriminatedUnion("type", [
  z.looseObject({ id: text, type: z.literal("function"), function: called }),
  z.looseObject({ id: text, type: z.literal("custom"), custom: z.looseObject({ name: text, input: text }) }),
]);
const citation = z.looseObject({
  type: z.literal("url_citation"),
  url_citation: z.looseObject({ start_index: count, end_index: count, title: text, url: text }),
});
const finish = text.meta({ examples: ["stop", "length", "tool_calls", "content_filter"] });
const usage = z.looseObject({
  prompt_tokens: count,
  completion_tokens: count,
  total_tokens: count,
  prompt_tokens_details: z.looseObject({ cached_tokens: count.optional() }).optional(),
  completion_tokens_details: z.looseObject({ reasoning_tokens: count.optional() }).optional(),
});
const head = { id: word, created: seconds, model: text };
const reasoning = { reasoning_content: text.nullish().meta({ description: "What the model thought." }) };

const answer = z.looseObject({
  ...head,
  object: z.literal("chat.completion"),
  choices: z.array(z.looseObject({
    index: count,
    finish_reason: finish,
    message: z.looseObject({
      role: z.literal("assistant"),
      content: text.nullable(),
      refusal: text.nullish(),
      ...reasoning,
      annotations: z.array(citation).optional(),
      tool_calls: z.array(call).optional(),
    }),
  })),
  usage: usage.optional(),
});

const event = z.looseObject({
  ...head,
  object: z.literal("chat.completion.chunk"),
  choices: z.array(z.looseObject({
    index: count,
    finish_reason: finish.nullable(),
    delta: z.looseObject({
      role: z.literal("assistant").optional(),
      content: text.nullish(),
      refusal: text.nullish(),
      ...reasoning,
      annotations: z.array(citation).optional(),
      tool_calls: z.array(z.looseObject({
        index: count,
        id: text.optional(),
        type: text.optional(),
        function: z.looseObject({ name: text.optional(), arguments: text.optional() }).optional(),
        custom: z.looseObject({ name: text.optional(), input: text.optional() }).optional(),
      })).optional(),
    }),
  })),
  usage: usage.nullish(),
});

const model = z.looseObject({
  id: word,
  object: z.literal("model"),
  created: seconds,
  owned_by: text,
  ...modelFacts,
  display_name: text.optional(),
  context_length: count.optional().meta({ description: "Tokens of input and output together." }),
  max_output_tokens: count.optional(),
  supports_tools: z.boolean().optional(),
});

export const completions: EndpointDescription = {
  summary: "The next turn of a conversation, as Chat Completions",
  description: "Answers a conversation, whole or streamed, with tools, pictures, reasoning and structured output. " +
    'A streamed answer ends with the event `[DONE]`; with `stream_options: { "include_usage": true }` the event ' +
    "before it has the usage.",
  request: requestSchema,
  answer: jsonAnswer(answer),
  event,
  library,
};

export const models: EndpointDescription = {
  summary: "The models of the lane",
  description: "Lists what can be asked for in `model`.",
  parameters: taskParameter,
  answer: jsonAnswer(z.looseObject({ object: z.literal("list"), data: z.array(model) })),
};

export const oneModel: EndpointDescription = { summary: "One model of the lane", answer: jsonAnswer(model) };

const file = z.looseObject({
  id: word,
  object: z.literal("file"),
  bytes: count,
  created_at: seconds,
  expires_at: seconds.optional(),
  filename: text,
  purpose: text,
  status: z.literal("processed"),
});
const PURPOSES = ["assistants", "batch", "fine-tune", "vision", "user_data", "evals"];
const upload = z.looseObject({
  id: word,
  object: z.literal("upload"),
  bytes: count,
  created_at: seconds,
  expires_at: seconds,
  filename: text,
  purpose: text,
  status: z.enum(["pending", "completed", "cancelled"]),
  file: file.optional(),
});
const OF_THE_KEY = "A file belongs to the key that uploaded it: to all others it does not exist.";

/** The endpoints of files, by what they do. */
export const files = {
  upload: {
    summary: "Keeps a file that requests then name by its id",
    description: `${OF_THE_KEY} Fields that say when it expires are \`expires_after[anchor]\` and ` +
      "`expires_after[seconds]`.",
    request: z.looseObject({
      file: z.file().meta({ description: "The file." }),
      purpose: z.enum(PURPOSES),
    }),
    answer: jsonAnswer(file),
  },
  list: {
    summary: "The files of the key",
    parameters: {
      after: { in: "query", description: "The page begins after this file." },
      limit: { in: "query", description: "The most files on the page.", schema: count },
      order: { in: "query", description: "By age: desc has the latest first.", schema: z.enum(["asc", "desc"]) },
      purpose: { in: "query", description: "Lists the files of this purpose only." },
    },
    answer: jsonAnswer(z.looseObject({
      object: z.literal("list"),
      data: z.array(file),
      first_id: text.nullable(),
      last_id: text.nullable(),
      has_more: z.boolean(),
    })),
  },
  get: { summary: "One file of the key", answer: jsonAnswer(file) },
  content: { summary: "The content of a file", answer: { "application/octet-stream": undefined } },
  remove: {
    summary: "Deletes a file",
    answer: jsonAnswer(z.looseObject({ id: word, object: z.literal("file"), deleted: z.literal(true) })),
  },
  begin: {
    summary: "Begins the upload of a file in parts",
    description: `${OF_THE_KEY} It may take an hour, for which the bytes count as stored.`,
    request: z.looseObject({
      bytes: count,
      filename: word,
      mime_type: word,
      purpose: z.enum(PURPOSES),
      expires_after: z.looseObject({ anchor: z.literal("created_at"), seconds: count }).optional(),
    }),
    answer: jsonAnswer(upload),
  },
  part: {
    summary: "Adds a part to an upload",
    request: z.looseObject({ data: z.file().meta({ description: "The bytes of the part." }) }),
    answer: jsonAnswer(
      z.looseObject({ id: word, object: z.literal("upload.part"), created_at: count, upload_id: word }),
    ),
  },
  complete: {
    summary: "Makes the parts of an upload a file",
    request: z.looseObject({
      part_ids: z.array(word).meta({ description: "The parts in the order of the content." }),
      md5: word.optional(),
    }),
    answer: jsonAnswer(upload),
  },
  cancel: { summary: "Gives an upload up, with its parts", answer: jsonAnswer(upload) },
} satisfies Record<string, EndpointDescription>;
