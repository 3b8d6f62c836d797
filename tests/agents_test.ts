/** What agents and editors take for granted, beyond what their protocols say. */
import { assertEquals } from "@std/assert";
import { isJsonObject, type JsonObject, type JsonValue } from "../src/canonical/json.ts";
import {
  ask,
  bodyFor,
  call,
  chatEnd,
  chatWhole,
  CONFIG,
  data,
  delta,
  HELLO,
  listOf,
  type Mode,
  MODES,
  objectOf,
  PATH,
  responseOf,
  shortAnswer,
  testEach,
} from "./regressions/support.ts";
import { fakeUpstream } from "./support/fake_upstream.ts";
import { newApp } from "./support/app.ts";

// A model's name with a wish for a long window

testEach("[1m]", "a wish for a long window is no part of a model's name", {}, async (client, mode) => {
  const body = bodyFor(client, { stream: mode === "streamed" }, "chat[1m]");
  const view = await ask(client, body, [() => responseOf(HELLO, mode)]);
  assertEquals([view.status, view.asked[0]!.model], [200, "org/model"]);
  const told = mode === "whole" ? JSON.stringify(view.body) : view.frames.map(({ data }) => data ?? "").join("\n");
  assertEquals([told.includes('"chat[1m]"'), told.includes("org/model")], [true, false], "the client's own name");
});

Deno.test("[1m] a wish for a long window is no part of a model's name · everywhere else", async () => {
  const app = newApp({ config: CONFIG });
  const messages = [{ role: "user", content: "Hello" }];
  const counts = [
    await app.post(`${PATH.messages}/count_tokens`, { model: "chat[1m]", messages }),
    await app.post(`${PATH.responses}/input_tokens`, { model: "chat[1m]", input: "Hello" }),
  ];
  for (const count of counts) {
    assertEquals(count.status, 200);
    await count.body?.cancel();
  }
  for (const path of ["/oss/v1/models/chat[1m]", "/oss/v1/models/chat%5B1m%5D"]) {
    assertEquals((await (await app.get(path)).json()).id, "chat[1m]");
  }
});

// Cursor

/** What Cursor posts to the chat endpoint: a body of the responses wire, its tools of both wires. */
const CURSOR: JsonObject = {
  model: "chat",
  instructions: "You are a coding assistant.",
  input: [
    { role: "developer", content: "Be brief." },
    {
      role: "user",
      content: [
        { type: "input_text", text: "Look at it" },
        { type: "input_image", image_url: "data:image/png;base64,AAAA", detail: "low" },
        { type: "input_file", file_data: "data:application/pdf;base64,JVBERi0=", filename: "a.pdf" },
      ],
    },
    {
      type: "reasoning",
      id: "rs_1",
      summary: [],
      content: [{ type: "reasoning_text", text: "I look first." }],
      encrypted_content: "gAAA",
    },
    {
      type: "message",
      id: "msg_1",
      role: "assistant",
      status: "completed",
      content: [{ type: "output_text", text: "Looking.", annotations: [] }],
    },
    { type: "function_call", id: "fc_1", call_id: "call_1", name: "Shell", arguments: '{"command":"ls"}' },
    { type: "custom_tool_call", call_id: "call_2", name: "ApplyPatch", input: "*** Begin Patch\n" },
    { type: "function_call_output", call_id: "call_1", output: "a.txt" },
    { type: "custom_tool_call_output", call_id: "call_2", output: [{ type: "input_text", text: "Done" }] },
    { type: "web_search_call", id: "ws_1", status: "completed" },
    { role: "user", content: "Go on" },
  ],
  tools: [
    { type: "function", name: "Shell", description: "Runs", parameters: { type: "object" }, strict: false },
    { type: "function", function: { name: "Read", parameters: { type: "object" } } },
    {
      type: "custom",
      name: "ApplyPatch",
      description: "Edits files",
      format: { type: "grammar", syntax: "lark", definition: "start: begin" },
    },
    { type: "web_search" },
  ],
  tool_choice: "auto",
  reasoning: { effort: "high", summary: "auto" },
  text: { verbosity: "low", format: { type: "json_schema", name: "answer", schema: { type: "object" }, strict: true } },
  max_output_tokens: 500,
  include: ["reasoning.encrypted_content"],
  store: false,
  prompt_cache_key: "thread",
  metadata: { a: "b" },
};

const PATCH = '*** Begin Patch\n+"é"\n*** End Patch\n';
const PATCHING = {
  whole: chatWhole({ content: null, tool_calls: [call("ApplyPatch", JSON.stringify({ input: PATCH }))] }, "tool_calls"),
  frames: data(
    delta({ tool_calls: [{ index: 0, ...call("ApplyPatch", "") }] }),
    ...JSON.stringify({ input: PATCH }).match(/[^]{1,5}/g)!.map((piece) =>
      delta({ tool_calls: [{ index: 0, function: { arguments: piece } }] })
    ),
  ) + chatEnd("tool_calls"),
};

/** What becomes of the body, and the bytes of what comes back. */
async function cursor(mode: Mode, more: JsonObject = {}, answer = HELLO): Promise<{ asked: JsonObject; text: string }> {
  const upstream = fakeUpstream(() => responseOf(answer, mode));
  const app = newApp({ config: CONFIG, fetch: upstream.fetch });
  const response = await app.post(PATH.chat, { ...CURSOR, stream: mode === "streamed", ...more });
  const text = await response.text();
  assertEquals(response.status, 200, text);
  return { asked: JSON.parse(upstream.asked[0]!.body), text };
}

for (const mode of MODES) {
  Deno.test(`Cursor: a body of the responses wire is answered in chat · ${mode}`, async () => {
    const body = { ...CURSOR, stream: mode === "streamed" };
    const { status, said, end, asked, headers } = await ask("chat", body, [() => responseOf(HELLO, mode)]);
    assertEquals([status, said, end], [200, [{ text: "Hi" }], "stop"]);
    const { messages, tools, stream: _, stream_options: _options, ...rest } = asked[0]!;
    assertEquals(messages, [
      { role: "system", content: "You are a coding assistant." },
      { role: "system", content: "Be brief." },
      {
        role: "user",
        content: [
          { type: "text", text: "Look at it" },
          { type: "image_url", image_url: { url: "data:image/png;base64,AAAA", detail: "low" } },
          { type: "file", file: { file_data: "data:application/pdf;base64,JVBERi0=", filename: "a.pdf" } },
        ],
      },
      {
        role: "assistant",
        content: "Looking.",
        reasoning_content: "I look first.",
        tool_calls: [
          { id: "call_1", type: "function", function: { name: "Shell", arguments: '{"command":"ls"}' } },
          {
            id: "call_2",
            type: "function",
            function: { name: "ApplyPatch", arguments: '{"input":"*** Begin Patch\\n"}' },
          },
        ],
      },
      { role: "tool", tool_call_id: "call_1", content: "a.txt" },
      { role: "tool", tool_call_id: "call_2", content: "Done" },
      { role: "user", content: "Go on" },
    ]);
    assertEquals(namesOf(tools), ["Shell", "Read", "ApplyPatch"]);
    assertEquals(rest, {
      model: "org/model",
      tool_choice: "auto",
      reasoning_effort: "high",
      max_tokens: 500,
      response_format: {
        type: "json_schema",
        json_schema: { name: "answer", schema: { type: "object" }, strict: true },
      },
      verbosity: "low",
      prompt_cache_key: "thread",
      metadata: { a: "b" },
    });
    assertEquals(headers.get("x-laneway-notes"), "dropped an item of type web_search_call; dropped tool web_search");
  });

  // Cursor looks for `function.name` in every call, and takes the arguments for the patch.
  Deno.test(`Cursor: a call of a flat custom tool comes as a function's, and so it comes back · ${mode}`, async () => {
    const called = callIn((await cursor(mode, {}, PATCHING)).text, mode);
    assertEquals(called, {
      id: "call_ApplyPatch",
      type: "function",
      function: { name: "ApplyPatch", arguments: PATCH },
    });
    const history = [
      { role: "user", content: "Patch it" },
      { role: "assistant", content: null, tool_calls: [called] },
      { role: "tool", tool_call_id: "call_ApplyPatch", content: "Done" },
    ];
    for (const more of [{ input: history }, { messages: history, input: undefined }]) {
      const { asked } = await cursor(mode, more);
      const [, again] = listOf(asked.messages).slice(-3);
      assertEquals(again, {
        role: "assistant",
        content: null,
        tool_calls: [call("ApplyPatch", JSON.stringify({ input: PATCH }))],
      });
    }
  });

  Deno.test(`Cursor: a custom tool in the form of the chat wire is called in that form · ${mode}`, async () => {
    const tools = [{ type: "custom", custom: { name: "ApplyPatch" } }];
    const called = callIn((await cursor(mode, { tools }, PATCHING)).text, mode);
    assertEquals(called, { id: "call_ApplyPatch", type: "custom", custom: { name: "ApplyPatch", input: PATCH } });
  });
}

Deno.test("Cursor: a text alone is a turn of the user", async () => {
  const { asked } = await ask("chat", { model: "chat", input: "Hello", messages: [] }, [() => shortAnswer("chat")]);
  assertEquals(asked[0]!.messages, [{ role: "user", content: "Hello" }]);
});

Deno.test("Cursor: where there are messages, they are what is asked", async () => {
  const messages = [{ role: "user", content: "Hello" }];
  const { asked } = await cursor("whole", { messages, input: "of the server's own" });
  assertEquals([asked.messages, asked.input], [messages, "of the server's own"]);
});

const MISTAKES: Record<string, [more: JsonObject, param: string]> = {
  "an empty conversation": [{ input: [] }, "input"],
  "a call without its id": [{ input: [{ type: "function_call", name: "f", arguments: "{}" }] }, "input[0].call_id"],
  "a result without its id": [{ input: [{ role: "tool", content: "x" }] }, "input[0].call_id"],
  "a part without text": [
    { input: [{ role: "user", content: [{ type: "input_text" }] }] },
    "input[0].content[0].text",
  ],
  "a role that does not exist": [{ input: [{ role: "nobody", content: "x" }] }, "input[0].role"],
  "a reference to what is not stored": [
    { input: [{ type: "item_reference", id: "msg_1" }] },
    "input[0]",
  ],
  "an effort that does not exist": [{ reasoning: { effort: "huge" } }, "reasoning.effort"],
  "a limit below one": [{ max_output_tokens: 0 }, "max_output_tokens"],
  "a form without a type": [{ text: { format: {} } }, "text.format.type"],
  "an answer to go on from": [{ previous_response_id: "resp_1" }, "previous_response_id"],
};

for (const [what, [more, param]] of Object.entries(MISTAKES)) {
  Deno.test(`Cursor: ${what} is refused by the client's own name for the field`, async () => {
    const response = await newApp({ config: CONFIG }).post(PATH.chat, { ...CURSOR, ...more });
    const { error } = await response.json();
    assertEquals([response.status, error.type, error.param], [400, "invalid_request_error", param]);
  });
}

function namesOf(tools: JsonValue | undefined): unknown[] {
  return listOf(tools).map((tool) => isJsonObject(tool.function) ? tool.function.name : tool.name);
}

/** The one call of an answer of the chat wire, put together where it is streamed. */
function callIn(text: string, mode: Mode): JsonObject {
  const answers: JsonObject[] = mode === "whole"
    ? [JSON.parse(text)]
    : text.split("\n").filter((line) => line.startsWith("data: {")).map((line) => JSON.parse(line.slice(6)));
  const pieces = answers.flatMap(({ choices }) => listOf(choices)).map(({ message, delta }) => message ?? delta)
    .flatMap((said) => isJsonObject(said) ? listOf(said.tool_calls) : []);
  const { index: _, ...first } = pieces[0]!;
  const [outer, inner] = first.type === "custom" ? ["custom", "input"] : ["function", "arguments"];
  const texts = pieces.map((piece) => objectOf(piece[outer!])[inner!] ?? "");
  return { ...first, [outer!]: { ...objectOf(first[outer!]), [inner!]: texts.join("") } };
}
