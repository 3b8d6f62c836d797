import { assert, assertEquals } from "@std/assert";
import type { JsonObject } from "../../src/canonical/json.ts";
import type { Script } from "../support/script.ts";
import {
  ask,
  bodyFor,
  chatStream,
  chatWhole,
  CONFIG,
  events,
  listOf,
  objectOf,
  responseOf,
  shortAnswer,
  testAnswers,
  testEach,
  testRequests,
  TOOLS,
  type Wire,
} from "./support.ts";

const SIGNATURE = "EqQBCgIYAhIkc2lnbmF0dXJl/+==";
const THOUGHT = ' First, "look" \\ then\n\tfind \u00e9\u{1f600} ';

/** What a server of the messages wire says when it thinks and then calls a tool. */
const THINKING_BLOCK = { type: "thinking", thinking: THOUGHT, signature: SIGNATURE };
const CALL_BLOCK = { type: "tool_use", id: "toolu_1", name: "look", input: { a: 1 } };
const SIGNED_WHOLE: JsonObject = {
  id: "msg_upstream",
  type: "message",
  role: "assistant",
  model: "org/model",
  content: [THINKING_BLOCK, CALL_BLOCK],
  stop_reason: "tool_use",
  stop_sequence: null,
  usage: { input_tokens: 5, output_tokens: 2 },
};
const SIGNED_STREAM = events(
  {
    type: "message_start",
    message: { ...SIGNED_WHOLE, content: [], stop_reason: null, usage: { input_tokens: 5, output_tokens: 0 } },
  },
  { type: "content_block_start", index: 0, content_block: { type: "thinking", thinking: "", signature: "" } },
  { type: "content_block_delta", index: 0, delta: { type: "thinking_delta", thinking: THOUGHT.slice(0, 9) } },
  { type: "content_block_delta", index: 0, delta: { type: "thinking_delta", thinking: THOUGHT.slice(9) } },
  { type: "content_block_delta", index: 0, delta: { type: "signature_delta", signature: SIGNATURE } },
  { type: "content_block_stop", index: 0 },
  { type: "content_block_start", index: 1, content_block: { ...CALL_BLOCK, input: {} } },
  { type: "content_block_delta", index: 1, delta: { type: "input_json_delta", partial_json: '{"a":1}' } },
  { type: "content_block_stop", index: 1 },
  {
    type: "message_delta",
    delta: { stop_reason: "tool_use", stop_sequence: null },
    usage: { input_tokens: 5, output_tokens: 2 },
  },
  { type: "message_stop" },
);
const SIGNED = { whole: SIGNED_WHOLE, frames: SIGNED_STREAM };

/** A conversation in which the model thought, called a tool and was answered. */
function afterThinking(thought: string | undefined): Partial<Script> {
  return {
    tools: TOOLS,
    turns: [
      {
        asked: "Where?",
        pictures: [],
        thought,
        answered: undefined,
        calls: [{ id: "call_1", name: "look", input: { a: 1 }, result: "here", failed: false }],
      },
      { asked: "And now?", pictures: [], thought: undefined, answered: undefined, calls: [] },
    ],
  };
}

/** The turns of the assistant in a request of the chat wire. */
function assistants(asked: JsonObject): JsonObject[] {
  return listOf(asked.messages).filter(({ role }) => role === "assistant");
}

testEach(
  "R19",
  "a signed thought goes back to its upstream byte for byte",
  { clients: ["messages"] },
  async (client, mode) => {
    const body = bodyFor(client, { tools: TOOLS, stream: mode === "streamed" }, "messages");
    const first = await ask(client, body, [() => responseOf(SIGNED, mode)]);
    const content = mode === "whole" ? first.body.content : blocksIn(first.frames.map(({ data }) => JSON.parse(data!)));
    const second = await ask(client, {
      ...body,
      messages: [
        ...listOf(body.messages),
        { role: "assistant", content: content! },
        { role: "user", content: [{ type: "tool_result", tool_use_id: "toolu_1", content: "here" }] },
      ],
    }, [() => responseOf(SIGNED, mode)]);
    assertEquals(listOf(second.asked[0]!.messages)[1], { role: "assistant", content: [THINKING_BLOCK, CALL_BLOCK] });
  },
);

/** The blocks of a stream of the messages wire, as a client keeps them. */
function blocksIn(values: JsonObject[]): JsonObject[] {
  const blocks: JsonObject[] = [];
  for (const { type, index, content_block, delta } of values) {
    const at = Number(index);
    if (type === "content_block_start") blocks[at] = { ...objectOf(content_block) };
    if (type !== "content_block_delta") continue;
    const { thinking, signature, partial_json } = objectOf(delta);
    const block = blocks[at]!;
    if (typeof thinking === "string") block.thinking = `${block.thinking}${thinking}`;
    if (typeof signature === "string") block.signature = `${block.signature}${signature}`;
    if (typeof partial_json === "string") block.input = JSON.parse(partial_json);
  }
  return blocks;
}

testEach("R20", "an upstream's signature is told as it is", { clients: ["messages"] }, async (client, mode) => {
  const body = bodyFor(client, { tools: TOOLS, stream: mode === "streamed" }, "messages");
  const signed = await ask(client, body, [() => responseOf(SIGNED, mode)]);
  const content = mode === "whole"
    ? listOf(signed.body.content)
    : blocksIn(signed.frames.map(({ data }) => JSON.parse(data!)));
  assertEquals(content[0]!.signature, SIGNATURE);
});

testEach("R22", "a thought goes back with the calls that followed it", { modes: ["whole"] }, async (client) => {
  const { asked } = await ask(client, bodyFor(client, afterThinking(THOUGHT)), [() => shortAnswer("chat")]);
  const [turn] = assistants(asked[0]!);
  assertEquals(turn!.reasoning_content, THOUGHT);
  assertEquals(listOf(turn!.tool_calls).map(({ id }) => id), ["call_1"]);
});

testEach(
  "R23",
  "what was only thought in the first turn is there in the next",
  { modes: ["whole"] },
  async (client) => {
    const script: Partial<Script> = {
      turns: [
        { asked: "Think of a word", pictures: [], thought: "The word is petrichor", answered: "Done", calls: [] },
        { asked: "Which word?", pictures: [], thought: undefined, answered: undefined, calls: [] },
      ],
    };
    const { asked } = await ask(client, bodyFor(client, script), [() => shortAnswer("chat")]);
    const [turn] = assistants(asked[0]!);
    assertEquals([turn!.reasoning_content, turn!.content], ["The word is petrichor", "Done"]);
  },
);

const OPAQUE = { google: { thought_signature: "c2lnbmF0dXJl" } };

testEach("R24", "what only the vendor reads comes back with the call", { clients: ["chat"] }, async (client, mode) => {
  const called = { id: "call_1", type: "function", function: { name: "look", arguments: "{}" }, extra_content: OPAQUE };
  const answer = {
    whole: chatWhole({ content: null, tool_calls: [called] }, "tool_calls"),
    frames: chatStream([{ tool_calls: [{ index: 0, ...called }] }], "tool_calls"),
  };
  const body = bodyFor(client, { tools: TOOLS, stream: mode === "streamed" });
  const first = await ask(client, body, [() => responseOf(answer, mode)]);
  const spoken = mode === "whole"
    ? first.body
    : JSON.parse(first.frames.find(({ data }) => data?.includes("extra_content"))!.data!);
  const [choice] = listOf(spoken.choices);
  const { index: _, ...call } = listOf(objectOf(choice!.message ?? choice!.delta).tool_calls)[0]!;
  const history = [
    ...listOf(body.messages),
    { role: "assistant", content: null, tool_calls: [{ ...call, function: called.function }] },
    { role: "tool", tool_call_id: "call_1", content: "here" },
  ];
  const second = await ask(client, { ...body, messages: history }, [() => responseOf(answer, mode)]);
  assertEquals(listOf(assistants(second.asked[0]!)[0]!.tool_calls), [called]);
});

const PARSED = {
  ...CONFIG,
  upstreams: { ...CONFIG.upstreams, chat: { ...CONFIG.upstreams.chat, textForms: "parse" as const } },
};

testAnswers([
  {
    id: "R25",
    title: "after a thought the answer is choice 0 still",
    clients: ["chat"],
    upstream: "messages",
    answer: SIGNED,
    ask: { tools: TOOLS },
    want: { said: [{ reasoning: THOUGHT }, { call: "look", input: { a: 1 }, id: "toolu_1" }], end: "tool-calls" },
  },
  ...["reasoning_content", "reasoning"].map((key) => ({
    id: "R22",
    title: `a thought in ${key} is a thought`,
    answer: {
      whole: chatWhole({ [key]: THOUGHT, content: "Hi" }),
      frames: chatStream([{ [key]: THOUGHT.slice(0, 3) }, { [key]: THOUGHT.slice(3) }, { content: "Hi" }]),
    },
    want: { said: [{ reasoning: THOUGHT }, { text: "Hi" }], end: "stop" },
  })),
  {
    id: "R29",
    title: "a think tag in the middle of a text stays text",
    answer: {
      whole: chatWhole({ content: "Write <think>hm</think> so" }),
      frames: chatStream([{ content: "Write <thi" }, { content: "nk>hm</think> so" }]),
    },
    want: { said: [{ text: "Write <think>hm</think> so" }], end: "stop" },
  },
  {
    id: "O07",
    title: "R29 a think tag at the start of the text is a thought where the configuration says so",
    config: PARSED,
    answer: {
      whole: chatWhole({ content: "<think>hm</think>Hi" }),
      frames: chatStream(["<thi", "nk>h", "m</th", "ink>H", "i"].map((content) => ({ content }))),
    },
    want: { said: [{ reasoning: "hm" }, { text: "Hi" }], end: "stop" },
  },
  {
    id: "R29",
    title: "a call in the text is a call where the configuration says so and tools were offered",
    config: PARSED,
    ask: { tools: TOOLS },
    answer: {
      whole: chatWhole({ content: '<tool_call>\n{"name": "look", "arguments": {"a": 1}}\n</tool_call>' }),
      frames: chatStream(
        ["<tool", '_call>\n{"name": "lo', 'ok", "arguments": {"a"', ": 1}}\n</tool_c", "all>"].map((content) => ({
          content,
        })),
      ),
    },
    want: { said: [{ call: "look", input: { a: 1 } }], end: "tool-calls" },
  },
  {
    id: "R29",
    title: "what looks like a call of a tool that was not offered stays text",
    config: PARSED,
    answer: {
      whole: chatWhole({ content: '<tool_call>{"name": "look", "arguments": {}}</tool_call>' }),
      frames: chatStream([{ content: '<tool_call>{"name": "look", ' }, { content: '"arguments": {}}</tool_call>' }]),
    },
    want: { said: [{ text: '<tool_call>{"name": "look", "arguments": {}}</tool_call>' }], end: "stop" },
  },
]);

testRequests([
  {
    id: "R26",
    title: "an effort arrives as the chat wire spells it",
    bodies: {
      chat: { reasoning_effort: "high" },
      messages: { thinking: { type: "adaptive" }, output_config: { effort: "high" } },
      responses: { reasoning: { effort: "high" } },
    },
    check: (asked) => assertEquals([asked.reasoning_effort, asked.output_config], ["high", undefined]),
  },
  {
    id: "R26",
    title: "the highest effort is the highest that the model has",
    bodies: {
      chat: { reasoning_effort: "xhigh" },
      messages: { thinking: { type: "adaptive" }, output_config: { effort: "max" } },
      responses: { reasoning: { effort: "xhigh" } },
    },
    config: {
      ...CONFIG,
      lanes: {
        oss: { models: { chat: { ...CONFIG.lanes.oss.models.chat, efforts: ["low", "medium", "high"] } } },
      },
    },
    check(asked, { headers }) {
      assertEquals(asked.reasoning_effort, "high");
      assert(headers.get("x-laneway-notes")?.includes("effort"));
    },
  },
  {
    id: "R26",
    title: "a budget of tokens stays what the client said",
    upstream: "messages",
    bodies: { messages: { thinking: { type: "enabled", budget_tokens: 1024 }, max_tokens: 4096 } },
    check(asked) {
      assertEquals([asked.thinking, asked.max_tokens], [{ type: "enabled", budget_tokens: 1024 }, 4096]);
    },
  },
  {
    id: "R26",
    title: "nothing is said of effort where nothing was asked",
    bodies: { chat: {}, messages: {}, responses: {} },
    check(asked) {
      for (const key of ["reasoning_effort", "reasoning", "chat_template_kwargs", "thinking"]) {
        assertEquals(asked[key], undefined);
      }
    },
  },
  {
    id: "R27",
    title: "no reasoning is asked for in so many words",
    bodies: {
      chat: { reasoning_effort: "none" },
      messages: { thinking: { type: "disabled" } },
      responses: { reasoning: { effort: "none" } },
    },
    check: (asked) => assertEquals(asked.reasoning_effort, "none"),
  },
  {
    id: "R27",
    title: "no reasoning is asked for as the model's template spells it",
    bodies: {
      chat: { model: "qwen3", reasoning_effort: "none" },
      messages: { model: "qwen3", thinking: { type: "disabled" } },
      responses: { model: "qwen3", reasoning: { effort: "none" } },
    },
    config: {
      upstreams: { chat: { ...CONFIG.upstreams.chat, dialect: "template" } },
      lanes: {
        oss: { models: { qwen3: { task: "chat", targets: [{ upstream: "chat", model: "Qwen/Qwen3-8B" }] } } },
      },
    },
    check: (asked) =>
      assertEquals([asked.reasoning_effort, asked.chat_template_kwargs], [undefined, { enable_thinking: false }]),
  },
]);

const GARBAGE: Record<Wire, JsonObject> = {
  chat: { reasoning_effort: "gigantic" },
  messages: { output_config: { effort: "gigantic" } },
  responses: { reasoning: { effort: "gigantic" } },
};

testEach("R26", "an effort that nobody knows is refused", { modes: ["whole"] }, async (client) => {
  const { status, asked } = await ask(client, { ...bodyFor(client), ...GARBAGE[client] }, [
    () => shortAnswer("chat"),
  ]);
  assertEquals([status, asked], [400, []]);
});

testEach("R28", "thoughts of earlier turns are never text of the assistant", { modes: ["whole"] }, async (client) => {
  const { asked } = await ask(client, bodyFor(client, afterThinking("A secret")), [() => shortAnswer("chat")]);
  for (const { content } of listOf(asked[0]!.messages)) assert(!JSON.stringify(content).includes("A secret"));
  assertEquals(assistants(asked[0]!).map((turn) => turn.reasoning_content), ["A secret"]);
});

testEach(
  "R22",
  "a host that wants reasoning with every call gets an empty one",
  { modes: ["whole"] },
  async (client) => {
    const config = {
      ...CONFIG,
      lanes: {
        oss: {
          models: {
            chat: { task: "chat" as const, targets: [{ upstream: "chat", model: "deepseek-ai/DeepSeek-V3.2" }] },
          },
        },
      },
    };
    const { asked } = await ask(client, bodyFor(client, afterThinking(undefined)), [() => shortAnswer("chat")], {
      config,
    });
    assertEquals(assistants(asked[0]!)[0]!.reasoning_content, "");
  },
);
