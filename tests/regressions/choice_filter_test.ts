/** Servers that send more than the one answer that was asked for, or an empty piece in its place. */
import { assert, assertEquals } from "@std/assert";
import type { JsonObject } from "../../src/canonical/json.ts";
import {
  type Answer,
  type AnswerRow,
  ask,
  bodyFor,
  call,
  chatWhole,
  data,
  delta,
  events,
  listOf,
  type Said,
  SHORTEST,
  streamed,
  testAnswers,
  testEach,
  TOOLS,
  USAGE,
} from "./support.ts";

const DONE = "data: [DONE]\n\n";

/** A chunk of an answer of this id, in the choice of this index. */
function chunk(id: string | undefined, index: number | undefined, fields: JsonObject, finish?: string): JsonObject {
  return {
    ...(id !== undefined && { id }),
    model: "org/model",
    choices: [{ ...(index !== undefined && { index }), delta: fields, ...(finish && { finish_reason: finish }) }],
  };
}

const usage = { model: "org/model", choices: [], usage: USAGE };
const EMPTY_CALL = { name: "", arguments: "" };

const LOOK = { tool_calls: [call("look", "{}", { index: 0 })] };
/** The choices of an answer, of which one was asked for, and what of them is the answer. */
const CHOICES: [title: string, choices: [fields: JsonObject, finish: string][], said: Said[], end: string][] = [
  [
    "the text and the call of one answer",
    [[{ content: "I look." }, "stop"], [LOOK, "tool_calls"]],
    [{ text: "I look." }, { call: "look", input: {} }],
    "tool-calls",
  ],
  [
    "the thoughts, the text and the call of one answer",
    [[{ reasoning_content: "Hm" }, "stop"], [{ content: "I look." }, "stop"], [LOOK, "tool_calls"]],
    [{ reasoning: "Hm" }, { text: "I look." }, { call: "look", input: {} }],
    "tool-calls",
  ],
  [
    "an empty one before the text",
    [[{ content: "" }, "stop"], [{ content: "B" }, "length"]],
    [{ text: "B" }],
    "length",
  ],
  [
    "another answer with a text and a call of its own",
    [[{ content: "A" }, "stop"], [{ content: "B", ...LOOK }, "tool_calls"]],
    [{ text: "A" }],
    "stop",
  ],
  [
    "another answer with thoughts of its own",
    [[{ content: "A" }, "length"], [{ reasoning_content: "Hm" }, "stop"]],
    [{ text: "A" }],
    "length",
  ],
];

function answerOf(chunks: JsonObject[], whole?: JsonObject): Answer {
  return { frames: data(...chunks, usage) + DONE, ...(whole && { whole }) };
}

testAnswers([
  {
    id: "C15",
    title: "an empty function_call is no call, and an empty finish_reason is none",
    answer: {
      frames: data(
        delta({ role: "assistant", content: "H", function_call: EMPTY_CALL }),
        delta({ content: "i", function_call: EMPTY_CALL }),
        { choices: [{ index: 0, delta: { content: "", function_call: EMPTY_CALL }, finish_reason: "" }], usage: USAGE },
      ) + DONE,
      whole: chatWhole({ content: "Hi", function_call: EMPTY_CALL }, ""),
    },
    want: { said: [{ text: "Hi" }], end: "stop" },
  },
  {
    id: "C15",
    title: "an empty function_call beside a call is no second one",
    answer: {
      frames: data(
        delta({ tool_calls: [call("look", "", { index: 0 })], function_call: EMPTY_CALL }),
        delta({ tool_calls: [{ index: 0, function: { arguments: "{}" } }], function_call: EMPTY_CALL }),
        { choices: [{ index: 0, delta: { function_call: EMPTY_CALL }, finish_reason: "tool_calls" }], usage: USAGE },
      ) + DONE,
      whole: chatWhole({ content: "", tool_calls: [call("look", "{}")], function_call: EMPTY_CALL }, "tool_calls"),
    },
    ask: { tools: TOOLS },
    want: { said: [{ call: "look", input: {} }], end: "tool-calls" },
  },
  {
    id: "C18",
    title: "a second choice is not mixed into the first",
    answer: answerOf([
      chunk("a", 0, { role: "assistant", content: "" }),
      chunk("a", 1, { role: "assistant", content: "" }),
      chunk("a", 0, { content: "Hel" }),
      chunk("a", 1, { content: "Good" }),
      chunk("a", 0, { content: "lo" }),
      chunk("a", 1, { content: "bye" }),
      chunk("a", 1, {}, "length"),
      chunk("a", 0, {}, "stop"),
    ], {
      ...chatWhole({}),
      choices: [
        { index: 1, message: { role: "assistant", content: "Goodbye" }, finish_reason: "length" },
        { index: 0, message: { role: "assistant", content: "Hello" }, finish_reason: "stop" },
      ],
    }),
    want: { said: [{ text: "Hello" }], end: "stop" },
  },
  {
    id: "C18",
    title: "two choices in each chunk, without a role",
    answer: answerOf([
      {
        ...chunk("a", 0, {}),
        choices: [{ index: 1, delta: { content: "Bye" } }, { index: 0, delta: { content: "Hi" } }],
      },
      { ...chunk("a", 0, {}), choices: [{ index: 1, delta: {}, finish_reason: "stop" }] },
      { ...chunk("a", 0, {}), choices: [{ index: 0, delta: {}, finish_reason: "length" }] },
    ]),
    want: { said: [{ text: "Hi" }], end: "length" },
  },
  {
    id: "C18",
    title: "an answer of another id is not mixed into the first",
    answer: answerOf([
      chunk("a", 0, { role: "assistant", content: "Hel" }),
      chunk("a", 0, { content: "l" }),
      chunk("b", 0, { role: "assistant", content: "Good" }),
      chunk("a", 0, { content: "o" }),
      chunk("b", 0, { content: "bye" }, "length"),
      chunk("a", 0, {}, "stop"),
    ]),
    want: { said: [{ text: "Hello" }], end: "stop" },
  },
  {
    id: "C18",
    title: "of two attempts the one that says something is the answer",
    answer: answerOf([
      chunk("a", 0, { role: "assistant", content: "" }),
      chunk("a", 0, { content: "" }),
      chunk("b", 0, { role: "assistant", content: "Hel" }),
      chunk("b", 0, { content: "lo" }, "stop"),
    ]),
    want: { said: [{ text: "Hello" }], end: "stop" },
  },
  {
    id: "C18",
    title: "ids and indexes that are new with every chunk say nothing of the answer",
    answer: answerOf(
      ["He", "l", "lo", ""].map((content, at) =>
        chunk(`chat.id.${at}`, at, { role: "assistant", content }, content === "" ? "stop" : undefined)
      ),
    ),
    want: { said: [{ text: "Hello" }], end: "stop" },
  },
  {
    id: "C18",
    title: "an end under another id is the answer's end, where the answer's own id came twice",
    answer: answerOf([
      chunk("a", 0, { content: "H" }),
      chunk("a", 0, { content: "i" }),
      chunk("b", 0, {}, "length"),
    ]),
    want: { said: [{ text: "Hi" }], end: "length" },
  },
  {
    id: "C18",
    title: "the end of another answer is not this one's, before its own or after it",
    answer: answerOf([
      chunk("a", 0, { content: "H" }),
      chunk("b", 0, { content: "No" }),
      chunk("a", 0, { content: "i" }),
      chunk("b", 0, {}, "length"),
      chunk("a", 0, {}, "stop"),
      chunk("c", 0, {}, "length"),
    ]),
    want: { said: [{ text: "Hi" }], end: "stop" },
  },
  {
    id: "C18",
    title: "an end under another id is the answer's end",
    answer: answerOf([chunk("a", 0, { role: "assistant", content: "Hello" }), chunk("b", 0, {}, "length")]),
    want: { said: [{ text: "Hello" }], end: "length" },
  },
  {
    id: "C18",
    title: "indexes that number thoughts and text are one answer's",
    answer: answerOf([
      chunk("a", 0, { role: "assistant", reasoning_content: "Hm" }),
      chunk("a", 1, { content: "Hel" }),
      chunk("a", 1, { content: "lo" }),
      chunk("a", 2, { tool_calls: [call("look", "{}", { index: 0 })] }),
      chunk("a", 2, {}, "tool_calls"),
    ]),
    ask: { tools: TOOLS },
    want: { said: [{ reasoning: "Hm" }, { text: "Hello" }, { call: "look", input: {} }], end: "tool-calls" },
  },
  ...CHOICES.map(([title, choices, said, end]): AnswerRow => ({
    id: "B9",
    title: `choices: ${title}`,
    answer: {
      whole: {
        ...chatWhole({}),
        choices: choices.map(([fields, finish_reason], index) => ({
          index,
          message: { role: "assistant", content: null, ...fields },
          finish_reason,
        })).toReversed(),
      },
      frames: data(
        ...choices.map((_, at) => chunk("a", at, { role: "assistant", content: "" })),
        ...choices.flatMap(([fields, finish], at) => [chunk("a", at, fields), chunk("a", at, {}, finish)]),
        usage,
      ) + DONE,
    },
    ask: { tools: TOOLS },
    want: { said, end },
  })),
]);

for (const [second, count] of Object.entries({ "b's first word": 1, "b's second word": 2 })) {
  testEach("C18", `an answer that another one takes the place of fails (${second})`, { modes: ["streamed"] }, async (
    client,
  ) => {
    const chunks = [
      ...Array.from({ length: count }, () => chunk("a", 0, { content: "Hel" })),
      chunk("b", 0, { role: "assistant", content: "Good" }),
      chunk("b", 0, { content: "bye" }, "stop"),
    ];
    const { error, said } = await ask(client, bodyFor(client, { stream: true }), [
      () => streamed(data(...chunks, usage) + DONE),
    ]);
    assert(error, "It fails");
    assert(!JSON.stringify(said).includes("Good"));
  });
}

// The messages wire

const start = (more: JsonObject = {}) => ({
  type: "message_start",
  message: { ...SHORTEST.messages, content: [], stop_reason: null, ...more },
});
const text = (said: string, index = 0): JsonObject[] => [
  { type: "content_block_start", index, content_block: { type: "text", text: "" } },
  ...(said ? [{ type: "content_block_delta", index, delta: { type: "text_delta", text: said } }] : []),
  { type: "content_block_stop", index },
];
const end: JsonObject[] = [
  { type: "message_delta", delta: { stop_reason: "end_turn" }, usage: { output_tokens: 2 } },
  { type: "message_stop" },
];

testAnswers([
  {
    id: "C18",
    title: "a second message_start begins the answer again where nothing was out",
    upstream: "messages",
    answer: { frames: events(start({ usage: { input_tokens: 99 } }), start(), ...text("Hello"), ...end) },
    want: { said: [{ text: "Hello" }], end: "stop", usage: { input: 5, cached: 0, output: 2 } },
  },
  {
    id: "C18",
    title: "a second message_start forgets what had begun and said nothing",
    upstream: "messages",
    answer: {
      frames: events(
        start(),
        { type: "content_block_start", index: 0, content_block: { type: "tool_use", id: "t", name: "", input: {} } },
        { type: "message_delta", delta: { stop_reason: "max_tokens" } },
        start(),
        ...text("Hello"),
        ...end,
      ),
    },
    want: { said: [{ text: "Hello" }], end: "stop" },
  },
]);

testEach("C18", "a second message_start in the middle of an answer is its failure", { modes: ["streamed"] }, async (
  client,
) => {
  const frames = events(start(), ...text("Hel"), start({ id: "msg_other" }), ...text("Hello"), ...end);
  const { error, said } = await ask(client, bodyFor(client, { stream: true }, "messages"), [() => streamed(frames)]);
  assert(error?.message.includes("began its answer again"), JSON.stringify(error));
  assert(!JSON.stringify(said).includes("Hello"));
});

// What only one wire has

const UNKNOWN = { type: "brand_new_block", id: "new_1", content: "SECRET SAUCE" };
const SEARCH = {
  type: "web_search_call",
  id: "ws_1",
  status: "completed",
  action: { type: "search", query: "SECRET" },
};
const SERVER = { type: "server_tool_use", id: "srv_1", name: "web_search", input: { query: "SECRET" } };

const ITEMS = [SEARCH, UNKNOWN, listOf(SHORTEST.responses.output)[0]!];
const UNNAMED = ["ONE", "TWO"].map((text) => ({
  type: "message",
  role: "assistant",
  status: "completed",
  content: [{ type: "output_text", text, annotations: [] }],
}));
const callItem = (name: string, more: JsonObject) => ({
  type: "function_call",
  call_id: `call_${name}`,
  name,
  ...more,
});
const THOUGHTS = ["A", "B"].map((text) => ({
  type: "reasoning",
  summary: [],
  content: [{ type: "reasoning_text", text }],
}));
const BLOCKS = [SERVER, UNKNOWN, { type: "text", text: "Hi" }];

testAnswers([
  {
    id: "C19",
    title: "items that a wire cannot show are noted, and are none of the model's words",
    upstream: "responses",
    clients: ["chat", "messages"],
    answer: {
      whole: { ...SHORTEST.responses, output: ITEMS },
      frames: events(
        { type: "response.created", response: { ...SHORTEST.responses, status: "in_progress", output: [] } },
        ...ITEMS.flatMap((item, output_index) => [
          { type: "response.output_item.added", output_index, item },
          { type: "response.output_item.done", output_index, item },
        ]),
        { type: "response.completed", response: { ...SHORTEST.responses, output: ITEMS } },
      ),
    },
    want: { said: [{ text: "Hi" }], end: "stop" },
    check: (view) => assertNoted(view, ["web_search_call", "brand_new_block"]),
  },
  {
    id: "C19",
    title: "whole items without a name or a place are all there",
    upstream: "responses",
    clients: ["messages", "responses"],
    answer: {
      frames: events(
        ...UNNAMED.map((item) => ({ type: "response.output_item.done", item })),
        { type: "response.completed", response: { ...SHORTEST.responses, output: [] } },
      ),
    },
    want: { said: [{ text: "ONE" }, { text: "TWO" }], end: "stop" },
  },
  {
    id: "C19",
    title: "a whole item without a name is there after one with a name",
    upstream: "responses",
    clients: ["messages", "responses"],
    answer: {
      frames: events(
        { type: "response.output_item.done", item: callItem("look", { id: "fc_1", arguments: "{}" }) },
        { type: "response.output_item.done", item: UNNAMED[0]! },
        { type: "response.completed", response: { ...SHORTEST.responses, output: [] } },
      ),
    },
    ask: { tools: TOOLS },
    want: { said: [{ call: "look", input: {} }, { text: "ONE" }] },
  },
  {
    id: "C19",
    title: "whole items without a name are all there, though calls have ids of their own",
    upstream: "responses",
    answer: {
      frames: events(
        ...["look", "find"].map((name) => ({
          type: "response.output_item.done",
          item: callItem(name, { arguments: "{}" }),
        })).flatMap((done, at) => [{ type: "response.output_item.done", item: THOUGHTS[at]! }, done]),
        { type: "response.completed", response: { ...SHORTEST.responses, output: [] } },
      ),
    },
    ask: { tools: TOOLS },
    want: { said: [{ reasoning: "A" }, { call: "look", input: {} }, { reasoning: "B" }, { call: "find", input: {} }] },
  },
  {
    id: "C19",
    title: "calls that are done without their names are those that began",
    upstream: "responses",
    answer: {
      frames: events(
        ...["look", "find"].flatMap((name, output_index) => [
          {
            type: "response.output_item.added",
            output_index,
            item: callItem(name, { id: `fc_${name}`, arguments: "" }),
          },
          { type: "response.function_call_arguments.delta", output_index, item_id: `fc_${name}`, delta: '{"a":1}' },
        ]),
        ...["look", "find"].map((name) => ({
          type: "response.output_item.done",
          item: { ...callItem(name, { arguments: '{"a":1}' }), call_id: undefined },
        })),
        { type: "response.completed", response: { ...SHORTEST.responses, output: [] } },
      ),
    },
    ask: { tools: TOOLS },
    want: { said: [{ call: "look", input: { a: 1 } }, { call: "find", input: { a: 1 } }], end: "tool-calls" },
  },
  {
    id: "C19",
    title: "blocks that a wire cannot show are noted, and are none of the model's words",
    upstream: "messages",
    clients: ["chat", "responses"],
    answer: {
      whole: { ...SHORTEST.messages, content: BLOCKS },
      frames: events(
        start(),
        ...BLOCKS.flatMap((content_block, index) => [
          { type: "content_block_start", index, content_block },
          { type: "content_block_stop", index },
        ]),
        ...end,
      ),
    },
    want: { said: [{ text: "Hi" }], end: "stop" },
    check: (view) => assertNoted(view, ["server_tool_use", "brand_new_block"]),
  },
]);

function assertNoted(
  { headers, frames, body }: Parameters<NonNullable<Parameters<typeof testAnswers>[0][0]["check"]>>[0],
  types: string[],
): void {
  const said = [headers.get("x-laneway-notes"), ...frames.map(({ comment }) => comment ?? "")].join(" ");
  for (const type of types) assert(said.includes(`dropped a part of type ${type}`), said);
  const visible = JSON.stringify([body, frames.map(({ data }) => data)]);
  assertEquals(visible.includes("SECRET"), false, visible);
}

testEach("C19", "history keeps words for the model in their place", { modes: ["whole"] }, async (client) => {
  if (client === "chat") return;
  const body: JsonObject = client === "messages"
    ? {
      model: "chat",
      max_tokens: 9,
      messages: [{ role: "user", content: "a" }, { role: "assistant", content: BLOCKS }, {
        role: "user",
        content: "b",
      }],
    }
    : { model: "chat", input: [{ role: "user", content: "a" }, SEARCH, { role: "user", content: "b" }] };
  const { asked } = await ask(client, body, [() => Response.json(chatWhole({ content: "Hi" }))]);
  assert(JSON.stringify(asked[0]).includes("SECRET"));
});
