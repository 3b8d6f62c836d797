import { assert, assertEquals, assertMatch } from "@std/assert";
import type { JsonObject } from "../../src/canonical/json.ts";
import {
  type Answer,
  type AnswerRow,
  ask,
  bodyFor,
  call,
  chatStream,
  chatWhole,
  data,
  delta,
  events,
  HELLO,
  objectOf,
  responseOf,
  SHORTEST,
  streamed,
  testAnswers,
  testEach,
  TOOLS,
  USAGE,
} from "./support.ts";

/** The same counts, as each wire tells them. */
const CACHED = {
  messages: { input_tokens: 15, cache_read_input_tokens: 80, cache_creation_input_tokens: 5, output_tokens: 2 },
  responses: {
    input_tokens: 100,
    input_tokens_details: { cached_tokens: 80, cache_write_tokens: 5 },
    output_tokens: 2,
    total_tokens: 102,
  },
};

/** Pieces of calls, each in a delta of its own. */
function calls(...fragments: (Parameters<typeof delta>[0] | Parameters<typeof delta>[0][])[]) {
  return fragments.map((fragment) => ({ tool_calls: [fragment].flat() }));
}

const look = (args: string) => ({ function: { name: "look", arguments: args } });
const find = (args: string) => ({ function: { name: "find", arguments: args } });
const more = (args: string) => ({ function: { arguments: args } });
const BOTH = [{ call: "look", input: { a: 1 } }, { call: "find", input: { b: [2] } }];

function bothCalls(title: string, answer: Answer, id = "R05"): AnswerRow {
  return { id, title, answer, ask: { tools: TOOLS }, want: { said: BOTH, end: "tool-calls" } };
}

/** An answer of the messages wire whose blocks all have index 0. */
function blocksOfOneIndex(ended: boolean): string {
  const block = (start: JsonObject, ...deltas: JsonObject[]): JsonObject[] => [
    { type: "content_block_start", index: 0, content_block: start },
    ...deltas.map((delta) => ({ type: "content_block_delta", index: 0, delta })),
    ...(ended ? [{ type: "content_block_stop", index: 0 }] : []),
  ];
  const tool = (id: string, name: string, ...pieces: string[]) =>
    block(
      { type: "tool_use", id, name, input: {} },
      ...pieces.map((partial_json) => ({ type: "input_json_delta", partial_json })),
    );
  return events(
    { type: "message_start", message: { usage: { input_tokens: 5, output_tokens: 1 } } },
    ...block({ type: "text", text: "" }, { type: "text_delta", text: "Let me" }),
    ...block({ type: "thinking", thinking: "" }, { type: "thinking_delta", thinking: "hm" }),
    ...tool("toolu_1", "look", '{"a"', ":1}"),
    ...tool("toolu_2", "find", '{"b":', "[2]}"),
    { type: "message_delta", delta: { stop_reason: "tool_use" }, usage: { output_tokens: 2 } },
    { type: "message_stop" },
  );
}

const COMMAND = `grep -rn "a \\"quoted\\" \\\\path\\\\" . | awk '{print $1}' \n\t\u00e9\u{1f600}`.repeat(14);
const LONG = JSON.stringify({ command: COMMAND });

const NO_ARGUMENTS: Record<string, object> = {
  "empty arguments": { arguments: "" },
  "no arguments": {},
  "null for arguments": { arguments: null },
};

const THINKS: Answer["whole"] = {
  id: "msg_upstream",
  type: "message",
  role: "assistant",
  model: "org/model",
  content: [
    { type: "thinking", thinking: "hm", signature: "c2lnbmVk" },
    { type: "text", text: "Let me look" },
    { type: "tool_use", id: "toolu_1", name: "look", input: { a: 1 } },
  ],
  stop_reason: "tool_use",
  stop_sequence: null,
  usage: { input_tokens: 5, output_tokens: 2 },
};

testAnswers([
  {
    id: "R01",
    title: "reasoning and then text are two parts of one answer",
    answer: {
      frames: chatStream([{ reasoning_content: "a" }, { content: "b" }]),
      whole: chatWhole({ reasoning_content: "a", content: "b" }),
    },
    want: { said: [{ reasoning: "a" }, { text: "b" }], end: "stop" },
  },
  {
    id: "R01",
    title: "reasoning and text in one delta are two parts",
    answer: { frames: chatStream([{ reasoning_content: "a", content: "b" }, { content: "c" }]) },
    want: { said: [{ reasoning: "a" }, { text: "bc" }], end: "stop" },
  },
  {
    id: "R02",
    title: "text, reasoning and a call keep their order",
    answer: {
      frames: chatStream(
        [{ content: "---" }, { reasoning_content: "hm" }, ...calls({ index: 0, id: "call_1", ...look('{"a":1}') })],
        "tool_calls",
      ),
    },
    ask: { tools: TOOLS },
    want: {
      said: [{ text: "---" }, { reasoning: "hm" }, { call: "look", input: { a: 1 }, id: "call_1" }],
      end: "tool-calls",
    },
  },
  {
    id: "R03",
    title: "the first token after reasoning is there",
    answer: { frames: chatStream([{ reasoning_content: "x" }, { content: "Hel" }, { content: "lo" }]) },
    want: { said: [{ reasoning: "x" }, { text: "Hello" }] },
  },
  {
    id: "R04",
    title: "a stream that begins in the middle of an item is begun for it",
    upstream: "responses",
    answer: {
      frames: events(
        { type: "response.output_text.delta", item_id: "msg_1", output_index: 0, content_index: 0, delta: "Hel" },
        { type: "response.output_text.delta", item_id: "msg_1", output_index: 0, content_index: 0, delta: "lo" },
        {
          type: "response.completed",
          response: { id: "resp_1", status: "completed", output: [], usage: { input_tokens: 5, output_tokens: 2 } },
        },
      ),
    },
    want: { said: [{ text: "Hello" }], end: "stop" },
  },
  bothCalls("parallel tool calls that share an index stay apart", {
    frames: chatStream(
      calls({ index: 0, id: "call_1", ...look('{"a":1}') }, { index: 0, id: "call_2", ...find('{"b":[2]}') }),
      "tool_calls",
    ),
    whole: chatWhole({
      content: null,
      tool_calls: [call("look", '{"a":1}', { index: 0 }), call("find", '{"b":[2]}', { index: 0 })],
    }, "tool_calls"),
  }),
  bothCalls("parallel tool calls that share an index and come in pieces stay apart", {
    frames: chatStream(
      calls(
        { index: 0, id: "call_1", ...look("") },
        { index: 0, ...more('{"a"') },
        { index: 0, ...more(":1}") },
        { index: 0, id: "call_2", ...find("") },
        { index: 0, ...more('{"b":') },
        { index: 0, ...more("[2]}") },
      ),
      "tool_calls",
    ),
  }),
  {
    id: "R05",
    title: "a call without arguments stays apart from the next that shares its index",
    ask: { tools: TOOLS },
    answer: {
      frames: chatStream(
        calls({ index: 0, id: "call_1", ...look("") }, { index: 0, id: "call_2", ...find('{"b":[2]}') }),
        "tool_calls",
      ),
    },
    want: { said: [{ call: "look", input: {} }, { call: "find", input: { b: [2] } }], end: "tool-calls" },
  },
  bothCalls("parallel tool calls without an index stay apart", {
    frames: chatStream(
      calls({ id: "call_1", ...look('{"a"') }, more(":1}"), { id: "call_2", ...find('{"b":') }, more("[2]}")),
      "tool_calls",
    ),
    whole: chatWhole(
      { content: null, tool_calls: [call("look", '{"a":1}'), call("find", '{"b":[2]}')] },
      "tool_calls",
    ),
  }),
  bothCalls("parallel tool calls that interleave stay apart", {
    frames: chatStream(
      calls(
        { index: 0, id: "call_1", ...look('{"a"') },
        { index: 1, id: "call_2", ...find('{"b"') },
        { index: 0, ...more(":1}") },
        { index: 1, ...more(":[2]}") },
      ),
      "tool_calls",
    ),
  }),
  bothCalls("several calls without an index in one delta stay apart", {
    frames: chatStream(
      calls([{ id: "call_1", ...look('{"a":1}') }, { id: "call_2", ...find('{"b":[2]}') }]),
      "tool_calls",
    ),
  }),
  bothCalls("of two calls in one delta the second may lack its index", {
    frames: chatStream(
      calls([{ index: 0, id: "call_1", ...look('{"a":1}') }, { id: "call_2", ...find('{"b":[2]}') }]),
      "tool_calls",
    ),
  }),
  bothCalls("pieces of several calls in one delta go on with the calls in their places", {
    frames: chatStream(
      calls(
        [{ id: "call_1", ...look("") }, { id: "call_2", ...find("") }],
        [more('{"a"'), more('{"b":')],
        [more(":1}"), more("[2]}")],
      ),
      "tool_calls",
    ),
  }),
  ...[true, false].map((ended): AnswerRow => ({
    ...bothCalls(`blocks that share an index stay apart${ended ? "" : ", though none is said to have ended"}`, {
      frames: blocksOfOneIndex(ended),
    }),
    upstream: "messages",
    want: { said: [{ text: "Let me" }, { reasoning: "hm" }, ...BOTH], end: "tool-calls" },
  })),
  {
    id: "R06",
    title: "arguments that are an object are told as one",
    ask: { tools: TOOLS },
    answer: {
      frames: chatStream(calls({ index: 0, id: "call_1", function: { name: "look", arguments: { a: 1 } } }), "stop"),
      whole: chatWhole({ content: null, tool_calls: [call("look", { a: 1 })] }, "tool_calls"),
    },
    want: { said: [{ call: "look", input: { a: 1 } }], end: "tool-calls" },
  },
  {
    id: "R06",
    title: "arguments that are JSON inside JSON are told as an object",
    ask: { tools: TOOLS },
    answer: {
      frames: chatStream(calls({ index: 0, id: "call_1", ...look('"{\\"a\\":1}"') }), "tool_calls"),
      whole: chatWhole({ content: null, tool_calls: [call("look", '"{\\"a\\":1}"')] }, "tool_calls"),
    },
    want: { said: [{ call: "look", input: { a: 1 } }], end: "tool-calls" },
  },
  ...[
    ['{"a"', '{"a":1}'],
    ["{", '{"a"', '{"a":1}', '{"a":1}'],
    ['{"a":1}', '{"a":1}'],
  ].map((pieces): AnswerRow => ({
    id: "R06",
    title: `arguments that come as all so far with every piece are told once: ${pieces.join(" ")}`,
    ask: { tools: TOOLS },
    answer: {
      frames: chatStream(
        calls({ index: 0, id: "call_1", ...look("") }, ...pieces.map((piece) => ({ index: 0, ...more(piece) }))),
        "tool_calls",
      ),
    },
    want: { said: [{ call: "look", input: { a: 1 } }], end: "tool-calls" },
  })),
  {
    id: "R06",
    title: "arguments whose next piece begins like the last one stay as they are",
    ask: { tools: TOOLS },
    answer: {
      frames: chatStream(
        calls(
          { index: 0, id: "call_1", ...look("") },
          { index: 0, ...more('{"a":') },
          { index: 0, ...more('{"a":1}}') },
        ),
        "tool_calls",
      ),
    },
    want: { said: [{ call: "look", input: { a: { a: 1 } } }], end: "tool-calls" },
  },
  {
    id: "R07",
    title: "a long command full of escapes comes whole",
    ask: { tools: TOOLS },
    answer: {
      frames: chatStream(
        [
          ...calls({ index: 0, id: "call_1", ...look("") }),
          ...calls(...LONG.match(/[^]{1,7}/g)!.map((piece) => ({ index: 0, ...more(piece) }))),
        ],
        "tool_calls",
      ),
      whole: chatWhole({ content: null, tool_calls: [call("look", LONG)] }, "tool_calls"),
    },
    want: { said: [{ call: "look", input: { command: COMMAND } }] },
  },
  ...Object.entries(NO_ARGUMENTS).map(([what, args]): AnswerRow => ({
    id: "R08",
    title: `a call with ${what} has an empty object`,
    ask: { tools: TOOLS },
    answer: {
      frames: chatStream(calls({ index: 0, id: "call_1", function: { name: "look", ...args } }), "tool_calls"),
      whole: chatWhole({
        content: null,
        tool_calls: [{ id: "call_1", type: "function", function: { name: "look", ...args } }],
      }, "tool_calls"),
    },
    want: { said: [{ call: "look", input: {}, id: "call_1" }], end: "tool-calls" },
  })),
  {
    id: "R09",
    title: "an answer with calls that ends with stop ends for its calls",
    ask: { tools: TOOLS },
    answer: {
      frames: chatStream(calls({ index: 0, id: "call_1", ...look('{"a":1}') }), "stop"),
      whole: chatWhole({ content: null, tool_calls: [call("look", '{"a":1}')] }, "stop"),
    },
    want: { said: [{ call: "look", input: { a: 1 } }], end: "tool-calls" },
  },
  {
    id: "R10",
    title: "an answer that ends for calls and has none ends its turn",
    ask: { tools: TOOLS },
    answer: {
      frames: chatStream([{ content: "Hi" }], "tool_calls"),
      whole: chatWhole({ content: "Hi" }, "tool_calls"),
    },
    want: { said: [{ text: "Hi" }], end: "stop" },
  },
  {
    id: "R13",
    title: "counts with the finish reason and counts after it are one count",
    answer: {
      frames: data(
        delta({ content: "Hi" }),
        {
          choices: [{ index: 0, delta: {}, finish_reason: "stop" }],
          usage: { prompt_tokens: 100, completion_tokens: 2 },
        },
        {
          choices: [],
          usage: { prompt_tokens: 100, completion_tokens: 2, prompt_tokens_details: { cached_tokens: 80 } },
        },
      ) + "data: [DONE]\n\n",
    },
    want: { usage: { input: 100, cached: 80, output: 2 } },
  },
  {
    id: "R14",
    title: "cached tokens are counted once",
    answer: {
      frames: chatStream([{ content: "Hi" }], "stop", {
        prompt_tokens: 100,
        completion_tokens: 2,
        prompt_tokens_details: { cached_tokens: 80 },
      }),
      whole: chatWhole({ content: "Hi" }, "stop", {
        prompt_tokens: 100,
        completion_tokens: 2,
        prompt_tokens_details: { cached_tokens: 80 },
      }),
    },
    want: { usage: { input: 100, cached: 80, output: 2 } },
    check({ body, frames }, client) {
      if (client !== "messages") return;
      const ending = frames.find(({ event }) => event === "message_delta");
      const { usage } = ending ? objectOf(JSON.parse(ending.data!)) : body;
      assertEquals([objectOf(usage).input_tokens, objectOf(usage).cache_read_input_tokens], [20, 80]);
    },
  },
  ...Object.entries({
    prompt_cache_hit_tokens: { prompt_cache_hit_tokens: 80, prompt_cache_miss_tokens: 20 },
    "cached_tokens of its own": { cached_tokens: 80 },
    "cached_tokens in the details": {
      prompt_tokens_details: { cached_tokens: 80, cache_creation_input_tokens: 0 },
    },
  }).map(([name, cached]): AnswerRow => ({
    id: "R14",
    title: `tokens that an upstream calls ${name} are cached ones to every client`,
    answer: {
      frames: chatStream([{ content: "Hi" }], "stop", { prompt_tokens: 100, completion_tokens: 2, ...cached }),
      whole: chatWhole({ content: "Hi" }, "stop", { prompt_tokens: 100, completion_tokens: 2, ...cached }),
    },
    want: { usage: { input: 100, cached: 80, output: 2 } },
  })),
  {
    id: "R13",
    title: "usage that stands in the choice is the answer's",
    answer: {
      frames: data(delta({ content: "Hi" }), {
        choices: [{
          index: 0,
          delta: {},
          finish_reason: "stop",
          usage: { prompt_tokens: 100, completion_tokens: 2, cached_tokens: 80 },
        }],
      }) + "data: [DONE]\n\n",
    },
    want: { usage: { input: 100, cached: 80, output: 2 } },
  },
  {
    id: "R14",
    title: "tokens written to the cache are counted apart and once",
    answer: {
      whole: chatWhole({ content: "Hi" }, "stop", {
        prompt_tokens: 100,
        completion_tokens: 2,
        prompt_tokens_details: { cached_tokens: 0, cache_creation_input_tokens: 70 },
      }),
    },
    want: { usage: { input: 100, cached: 0, output: 2 } },
    check({ body }, client) {
      const usage = objectOf(body.usage);
      const written = {
        chat: () => objectOf(usage.prompt_tokens_details).cache_write_tokens,
        messages: () => usage.cache_creation_input_tokens,
        responses: () => objectOf(usage.input_tokens_details).cache_write_tokens,
      };
      assertEquals(written[client](), 70);
    },
  },
  ...(["messages", "responses"] as const).map((upstream): AnswerRow => ({
    id: "R14",
    title: `tokens that a ${upstream} upstream had cached are cached ones to every client`,
    upstream,
    answer: { whole: { ...SHORTEST[upstream], usage: CACHED[upstream] } },
    want: { usage: { input: 100, cached: 80, output: 2 } },
  })),
  {
    id: "R16",
    title: "an answer has an id of its protocol and the gateway's own",
    answer: HELLO,
    want: { said: [{ text: "Hi" }] },
    check({ id }, client) {
      assertMatch(id!, { chat: /^chatcmpl-\w+$/, messages: /^msg_\w+$/, responses: /^resp_\w+$/ }[client]);
      assert(!id!.includes("upstream"));
    },
  },
  {
    id: "R17",
    title: "a stream of the messages protocol has no [DONE]",
    clients: ["messages"],
    answer: { frames: HELLO.frames },
    want: { end: "stop" },
    check: ({ frames }) => assert(frames.every(({ data }) => data !== "[DONE]")),
  },
  {
    id: "R18",
    title: "an answer that the upstream did not count has usage all the same",
    answer: {
      frames: chatStream([{ content: "Hi" }], "stop", null),
      whole: chatWhole({ content: "Hi" }, "stop", null),
    },
    want: { said: [{ text: "Hi" }], end: "stop" },
    check({ frames, usage }, client, mode) {
      assert(usage!.input > 0 && usage!.output > 0, JSON.stringify(usage));
      if (client !== "messages" || mode === "whole") return;
      const ending = objectOf(JSON.parse(frames.find(({ event }) => event === "message_delta")!.data!));
      assertEquals(objectOf(ending.delta).stop_sequence, null);
      assertEquals(typeof objectOf(ending.usage).input_tokens, "number");
    },
  },
]);

testEach("R07", "a long command reaches a chat client byte for byte", { clients: ["chat"] }, async (client, mode) => {
  const frames = chatStream(calls({ index: 0, id: "call_1", ...look(LONG) }), "tool_calls");
  const whole = chatWhole({ content: null, tool_calls: [call("look", LONG)] }, "tool_calls");
  const body = bodyFor(client, { tools: TOOLS, stream: mode === "streamed" });
  const { body: emitted, frames: came } = await ask(client, body, [() => responseOf({ frames, whole }, mode)]);
  const spoken = mode === "whole"
    ? [emitted]
    : came.filter(({ data }) => data !== "[DONE]").map(({ data }) => JSON.parse(data!));
  const input = spoken.flatMap(({ choices }) => choices)
    .map((choice) => (choice?.delta ?? choice?.message)?.tool_calls?.[0]?.function.arguments ?? "").join("");
  assertEquals(input, LONG);
});

testEach("R11", "a whole answer becomes a stream with all of it", { modes: ["streamed"] }, async (client) => {
  const body = bodyFor(client, { tools: TOOLS, stream: true }, "messages");
  const { said, end, frames } = await ask(client, body, [() => Response.json(THINKS)]);
  assertEquals(said, [{ reasoning: "hm" }, { text: "Let me look" }, {
    call: "look",
    input: { a: 1 },
    id: "toolu_1",
  }]);
  assertEquals(end, "tool-calls");
  if (client === "messages") {
    const signatures = frames.map(({ data }) => JSON.parse(data!).delta?.signature).filter((one) => one !== undefined);
    assertEquals(signatures, ["c2lnbmVk"]);
  }
});

testEach("R12", "the first event has the input estimated, the last has it exact", {
  clients: ["messages"],
  modes: ["streamed"],
}, async (client) => {
  const asked = "A question of some length, so that it is some tokens. ".repeat(20);
  const turns = [{ asked, pictures: [], thought: undefined, answered: undefined, calls: [] }];
  const body = bodyFor(client, { turns, stream: true });
  const { frames, usage } = await ask(client, body, [() => streamed(HELLO.frames!)]);
  assertEquals(usage, { input: USAGE.prompt_tokens, cached: 0, output: USAGE.completion_tokens });
  const { message } = JSON.parse(frames[0]!.data!);
  const { input_tokens } = message.usage;
  assert(input_tokens > asked.length / 8 && input_tokens < asked.length, `${input_tokens} tokens`);
});

testEach("R15", "usage is always asked for, and shown to a chat client that asked for it", {}, async (client, mode) => {
  const body = bodyFor(client, { stream: mode === "streamed" });
  delete body.stream_options;
  const { asked, usage } = await ask(client, body, [() => responseOf(HELLO, mode)]);
  assertEquals(asked[0]!.stream_options, mode === "streamed" ? { include_usage: true } : undefined);
  const hidden = client === "chat" && mode === "streamed";
  assertEquals(usage, hidden ? undefined : { input: 5, cached: 0, output: 2 });
});

testEach(
  "R17",
  "an upstream that says nothing after its finish reason is a whole answer",
  { modes: ["streamed"] },
  async (client) => {
    const [frames] = (HELLO.frames!).split("data: [DONE]");
    const { said, end } = await ask(client, bodyFor(client, { stream: true }), [() => streamed(frames!)]);
    assertEquals([said, end], [[{ text: "Hi" }], "stop"]);
  },
);
