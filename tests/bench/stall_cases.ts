/** The heavy requests of the bench of stalls: each just below what the limits let through. */

import { configSchema } from "../../src/config/schema.ts";
import type { JsonObject } from "../../src/canonical/json.ts";
import { countUpTo } from "./stall_answers.ts";

export interface StallCase {
  name: string;
  /** Below the gateway's origin. */
  path: string;
  body: (earlier: JsonObject) => unknown | FormData;
  /** What is asked before: its answers give the request what it builds on. */
  before?: (origin: string) => Promise<JsonObject>;
  /** The answer that the upstream gives before. */
  prepares?: string;
  headers?: Record<string, string>;
}

/** Turns and pieces of content of one conversation, by default. */
const PARTS = configSchema.parse({}).limits.parts;
const most = (value: unknown) => Math.min(countUpTo(value), PARTS - 1);

const many = <T>(count: number, make: (at: number) => T): T[] => Array.from({ length: count }, (_, at) => make(at));
const WORDS = "It is raining in Oslo, and 17 people wait for the bus. ";
const words = (bytes: number) => WORDS.repeat(Math.ceil(bytes / WORDS.length));
const MB = 1_000_000;

type Wire = "chat" | "messages" | "responses";
const WIRES: readonly Wire[] = ["chat", "messages", "responses"];
const PATH: Record<Wire, string> = { chat: "chat/completions", messages: "messages", responses: "responses" };
const COUNT: Partial<Record<Wire, string>> = { messages: "messages/count_tokens", responses: "responses/input_tokens" };

/** A conversation, on each client's wire. */
type Turns = Record<Wire, (model: string) => object>;

const chat = (model: string, messages: object[], more: object = {}) => ({ model, messages, ...more });
const messages = (model: string, messages: object[], more: object = {}) => ({
  model,
  max_tokens: 100,
  messages,
  ...more,
});
const responses = (model: string, input: unknown, more: object = {}) => ({ model, input, store: false, ...more });

const hi = { role: "user", content: "Hi" };

const PARAMETERS = {
  type: "object",
  properties: Object.fromEntries(many(8, (at) => [`field_${at}`, { type: "string", description: WORDS }])),
  required: ["field_0"],
};

const PAIRS = { chat: 7_900, messages: 7_300, responses: 12_400 };
const TOOLS = Math.min(4_096, countUpTo({ type: "function", function: { name: "f", parameters: PARAMETERS } }));
const REASONINGS = 18_000;

export const CONVERSATIONS: Record<string, Turns> = {
  "tool pairs": {
    chat: (model) =>
      chat(
        model,
        many(PAIRS.chat, (at) => [
          {
            role: "assistant",
            content: null,
            tool_calls: [{ id: `call_${at}`, type: "function", function: { name: "f", arguments: '{"a":1}' } }],
          },
          { role: "tool", tool_call_id: `call_${at}`, content: "ok" },
        ]).flat().concat([hi as never]),
      ),
    messages: (model) =>
      messages(
        model,
        many(PAIRS.messages, (at) => [
          { role: "assistant", content: [{ type: "tool_use", id: `call_${at}`, name: "f", input: { a: 1 } }] },
          { role: "user", content: [{ type: "tool_result", tool_use_id: `call_${at}`, content: "ok" }] },
        ]).flat(),
      ),
    responses: (model) =>
      responses(
        model,
        many(PAIRS.responses, (at) => [
          { type: "function_call", call_id: `call_${at}`, name: "f", arguments: '{"a":1}' },
          { type: "function_call_output", call_id: `call_${at}`, output: "ok" },
        ]).flat(),
      ),
  },
  "turns": {
    chat: (model) => chat(model, many(most(hi), (at) => ({ role: at % 2 ? "assistant" : "user", content: "a" }))),
    messages: (model) =>
      messages(model, many(most(hi), (at) => ({ role: at % 2 ? "assistant" : "user", content: "a" }))),
    responses: (model) =>
      responses(model, many(most(hi), (at) => ({ role: at % 2 ? "assistant" : "user", content: "a" }))),
  },
  "text blocks": {
    chat: (model) =>
      chat(model, [{
        role: "user",
        content: many(most({ type: "text", text: "a" }), () => ({ type: "text", text: "a" })),
      }]),
    messages: (model) =>
      messages(model, [{
        role: "user",
        content: many(most({ type: "text", text: "a" }), () => ({ type: "text", text: "a" })),
      }]),
    responses: (model) =>
      responses(model, [{
        role: "user",
        content: many(most({ type: "text", text: "a" }), () => ({ type: "input_text", text: "a" })),
      }]),
  },
  "tools": {
    chat: (model) =>
      chat(model, [hi], {
        tools: many(TOOLS, (at) => ({ type: "function", function: { name: `f${at}`, parameters: PARAMETERS } })),
      }),
    messages: (model) =>
      messages(model, [hi], { tools: many(TOOLS, (at) => ({ name: `f${at}`, input_schema: PARAMETERS })) }),
    responses: (model) =>
      responses(model, [hi], {
        tools: many(TOOLS, (at) => ({ type: "function", name: `f${at}`, parameters: PARAMETERS, strict: false })),
      }),
  },
  "one text": {
    chat: (model) => chat(model, [{ role: "user", content: words(30 * MB) }]),
    messages: (model) => messages(model, [{ role: "user", content: words(30 * MB) }]),
    responses: (model) => responses(model, words(30 * MB)),
  },
  "unknown fields": {
    chat: (model) => chat(model, [hi], Object.fromEntries(many(19_900, (at) => [`field_${at}`, at]))),
    messages: (model) => messages(model, [hi], Object.fromEntries(many(19_900, (at) => [`field_${at}`, at]))),
    responses: (model) => responses(model, [hi], Object.fromEntries(many(19_900, (at) => [`field_${at}`, at]))),
  },
  "picture": {
    chat: (model) =>
      chat(model, [{
        role: "user",
        content: [{ type: "image_url", image_url: { url: `data:image/png;base64,${"iVBOR".repeat(5 * MB)}` } }],
      }]),
    messages: (model) =>
      messages(model, [{
        role: "user",
        content: [{
          type: "image",
          source: { type: "base64", media_type: "image/png", data: "iVBOR".repeat(5 * MB) },
        }],
      }]),
    responses: (model) =>
      responses(model, [{
        role: "user",
        content: [{ type: "input_image", image_url: `data:image/png;base64,${"iVBOR".repeat(5 * MB)}` }],
      }]),
  },
  "reasoning items": {
    chat: (model) =>
      chat(
        model,
        many(REASONINGS, (at) =>
          at % 2 ? { role: "assistant", content: "a", reasoning_content: "b" } : { role: "user", content: "a" }),
      ),
    messages: (model) =>
      messages(
        model,
        many(REASONINGS, (at) => ({
          role: at % 2 ? "assistant" : "user",
          content: at % 2 ? [{ type: "thinking", thinking: "b", signature: "c" }, { type: "text", text: "a" }] : "a",
        })),
      ),
    responses: (model) =>
      responses(
        model,
        many(REASONINGS, (at) =>
          at % 2
            ? { type: "reasoning", id: `rs_${at}`, summary: [{ type: "summary_text", text: "b" }] }
            : { role: "user", content: "a" }),
      ),
  },
};

const requests: StallCase[] = Object.entries(CONVERSATIONS).flatMap(([name, turns]) =>
  WIRES.flatMap((client) =>
    WIRES.map((upstream) => ({
      name: `request: ${name}, ${client} to ${upstream}`,
      path: `/${upstream}/v1/${PATH[client]}`,
      body: () => turns[client]("ok"),
    }))
  )
);

const counts: StallCase[] = Object.entries(CONVERSATIONS).flatMap(([name, turns]) =>
  (["messages", "responses"] as const).map((client) => ({
    name: `count: ${name}, ${client}`,
    path: `/chat/v1/${COUNT[client]}`,
    body: () => turns[client]("ok"),
  }))
);

const others = WIRES.flatMap((client): StallCase[] => [
  {
    name: `explain: tool pairs, ${client} to chat`,
    path: `/chat/v1/${PATH[client]}`,
    headers: { "x-laneway-explain": "true" },
    body: () => CONVERSATIONS["tool pairs"]![client]("ok"),
  },
  {
    name: `strict: tool pairs, ${client} to chat`,
    path: `/chat/v1/${PATH[client]}`,
    headers: { "x-laneway-strict": "true" },
    body: () => CONVERSATIONS["tool pairs"]![client]("ok"),
  },
  {
    name: `stored: tool pairs, ${client} to chat`,
    path: `/chat/v1/${PATH[client]}`,
    body: () => ({ ...CONVERSATIONS["tool pairs"]![client]("ok"), store: true }),
  },
]);

const post = async (origin: string, path: string, body: object): Promise<JsonObject> => {
  const headers = { "content-type": "application/json" };
  return await (await fetch(origin + path, { method: "POST", headers, body: JSON.stringify(body) })).json();
};

/** A stored conversation of so many turns, each with a text of so many bytes. */
const chain = (turns: number, bytes: number) => async (origin: string) => {
  let id: unknown;
  for (let turn = 0; turn < turns; turn++) {
    const body = { model: "ok", input: words(bytes), store: true, previous_response_id: id };
    ({ id } = await post(origin, "/chat/v1/responses", body));
  }
  return { id } as JsonObject;
};

/** A thought as the gateway seals it for clients of the messages wire. */
const sealed = (model: string) => async (origin: string): Promise<JsonObject> => {
  const { content } = await post(origin, "/chat/v1/messages", messages(model, [hi]));
  return { thought: (content as JsonObject[])[0] };
};

const memories: StallCase[] = [
  ...([[1_000, 10], [14, 2 * MB]] as const).map(([turns, bytes]): StallCase => ({
    name: `stored: ${turns} turns of ${bytes} bytes`,
    path: "/chat/v1/responses",
    before: chain(turns, bytes),
    body: ({ id }) => ({ model: "ok", input: "Hi", previous_response_id: id }),
  })),
  ...([["thought", 11_000], ["reasoning", 1]] as const).map(([model, count]): StallCase => ({
    name: `sealed: ${count} times the thought of "${model}"`,
    path: "/chat/v1/messages",
    prepares: model,
    before: sealed(model),
    body: ({ thought }) =>
      messages("ok", [hi, ...many(count, () => [{ role: "assistant", content: [thought] }, hi]).flat()]),
  })),
];

/** The heavy answers, and where each is asked for: the lane is the upstream's wire. */
const CHAT_ANSWERS = [
  "chat-calls",
  "chat-calls-stream",
  "chat-calls-one-frame",
  "text",
  "text-beyond",
  "frames-beyond",
  "text-no-usage",
  "reasoning",
  "one-letter-words",
  "frames-small",
  "frames-large",
  "frame-one",
  "frames-comments",
  "frames-empty",
  "bomb",
  "bomb-limit",
  "bomb-error",
  "bomb-stream",
  "bomb-frame",
];
const MESSAGES_ANSWERS = ["messages-calls", "messages-blocks-stream", "text-messages", "frames-messages"];
const RESPONSES_ANSWERS = [
  "responses-calls",
  "responses-items",
  "responses-calls-stream",
  "text-responses",
  "picture",
  "annotations",
];
const FORMS = [
  "angles",
  "braces",
  "brackets",
  "marks",
  "backticks",
  "spaces",
  "think",
  "near-calls",
  "list",
  "tags",
  "calls",
  "words",
];
const tool = {
  chat: [{ type: "function", function: { name: "f", parameters: { type: "object" } } }],
  messages: [{ name: "f", input_schema: { type: "object" } }],
  responses: [{ type: "function", name: "f", parameters: { type: "object" }, strict: false }],
};
const ask: Record<Wire, (model: string, more?: object) => object> = {
  chat: (model, more) => chat(model, [hi], { tools: tool.chat, ...more }),
  messages: (model, more) => messages(model, [hi], { tools: tool.messages, ...more }),
  responses: (model, more) => responses(model, [hi], { tools: tool.responses, ...more }),
};

function answersOf(lane: string, names: readonly string[], clients: readonly Wire[] = WIRES, more?: object) {
  return names.flatMap((name) =>
    clients.flatMap((client) =>
      [false, true].map((stream): StallCase => ({
        name: `answer: ${name}, ${lane} to ${client}${stream ? ", streamed" : ""}`,
        path: `/${lane}/v1/${PATH[client]}`,
        body: () => ask[client](name, { stream, ...more }),
      }))
    )
  );
}

const SCHEMA = {
  type: "array",
  items: {
    type: "object",
    properties: { id: { type: "integer" }, name: { type: "string" } },
    required: ["id", "name"],
    additionalProperties: false,
  },
};

const ENCODINGS = ["float", "base64"] as const;
const COUNT_OF = { float: 500, base64: 2_048 };

const tasks: StallCase[] = [
  ...ENCODINGS.flatMap((asked) =>
    ENCODINGS.map((encoding) => ({
      name: `embeddings: ${COUNT_OF[encoding]} of 4,096, ${encoding} as ${asked}`,
      path: "/chat/v1/embeddings",
      body: () => ({
        model: `embeddings-${encoding}`,
        input: many(COUNT_OF[encoding], () => "a"),
        encoding_format: asked,
      }),
    }))
  ),
  {
    name: "embeddings: token matrices of 32 texts",
    path: "/hub/v1/embeddings",
    body: () => ({ model: "pooling", input: many(32, () => "a") }),
  },
  {
    name: "embeddings: one token matrix",
    path: "/hub/v1/embeddings",
    body: () => ({ model: "pooling-one", input: "a" }),
  },
  {
    name: "embeddings: 2,048 lists of 2,000 tokens",
    path: "/chat/v1/embeddings",
    body: () => ({ model: "ok", input: many(2_048, () => many(2_000, (at) => at)) }),
  },
  {
    name: "embeddings: 30 MB of texts",
    path: "/chat/v1/embeddings",
    body: () => ({ model: "ok", input: many(2_048, () => words(14_000)) }),
  },
  {
    name: "rerank: 10,000 documents",
    path: "/chat/v1/rerank",
    body: () => ({ model: "rerank", query: "q", documents: many(10_000, () => words(2_900)), return_documents: true }),
  },
  ...["json", "srt", "verbose_json"].map((format) => ({
    name: `transcript: 50,000 segments as ${format}`,
    path: "/chat/v1/audio/transcriptions",
    body: () => form("transcript", format),
  })),
  {
    name: "form: 1,000 fields",
    path: "/chat/v1/audio/transcriptions",
    body: () => {
      const fields = form("ok", "json");
      for (let at = 0; at < 990; at++) fields.append(`field_${at}`, words(20_000));
      return fields;
    },
  },
  {
    name: "form: a file of line ends",
    path: "/chat/v1/audio/transcriptions",
    body: () => form("ok", "json", new TextEncoder().encode("\r\n".repeat(12 * MB))),
  },
  {
    name: "speech: a text of 30 MB",
    path: "/chat/v1/audio/speech",
    body: () => ({ model: "ok", input: words(30 * MB), voice: "alloy" }),
  },
];

function form(model: string, format: string, file = new TextEncoder().encode("RIFF____WAVE")): FormData {
  const fields = new FormData();
  fields.append("model", model);
  fields.append("response_format", format);
  fields.append("file", new Blob([file], { type: "audio/wav" }), "a.wav");
  return fields;
}

/** Refused, but not for nothing. */
const refused: StallCase[] = [
  {
    name: "refused: 30 MB of mistakes",
    path: "/chat/v1/chat/completions",
    body: () => chat("ok", many(200_000, () => ({ role: 1, content: 1 }))),
  },
  {
    name: "refused: 30 MB of {}",
    path: "/chat/v1/messages",
    body: () => messages("ok", many(10_000_000, () => ({}))),
  },
  {
    name: "refused: 30 MB of lists",
    path: "/chat/v1/responses",
    body: () => responses("ok", many(10_000_000, () => [])),
  },
];

export const CASES: readonly StallCase[] = [
  { name: "nothing", path: "/chat/v1/chat/completions", body: () => chat("ok", [hi]) },
  ...requests,
  ...counts,
  ...others,
  ...memories,
  ...answersOf("chat", CHAT_ANSWERS),
  ...answersOf("messages", MESSAGES_ANSWERS),
  ...answersOf("responses", RESPONSES_ANSWERS),
  ...FORMS.flatMap((name) => [
    ...answersOf("repairing", [`forms-${name}`], ["messages"]).filter(({ name }) => !name.includes("streamed")),
    ...answersOf("repairing", [`forms-${name}-stream`, `forms-${name}-pieces`], ["messages"])
      .filter(({ name }) => name.includes("streamed")),
  ]),
  ...answersOf("repairing", ["near-json", "near-json-stream", "near-json-calls", "near-json-fits"], ["chat"]),
  ...answersOf("instructed", ["form-objects", "form-fenced", "form-braces"], ["chat"], {
    tools: undefined,
    response_format: { type: "json_schema", json_schema: { name: "a", schema: SCHEMA } },
  }),
  ...tasks,
  ...refused,
];
