/** Things that agents and editors take for granted, beyond what their protocols say. */
import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { isJsonObject, type JsonObject, type JsonValue } from "../../src/canonical/json.ts";
import {
  ask,
  bodyFor,
  call,
  chatEnd,
  chatStream,
  chatWhole,
  CONFIG,
  data,
  delta,
  events,
  HELLO,
  listOf,
  type Mode,
  MODES,
  objectOf,
  PATH,
  responseOf,
  shortAnswer,
  streamed,
  testEach,
  type Wire,
  WIRES,
} from "../regressions/support.ts";
import { fakeUpstream } from "../support/fake_upstream.ts";
import { type ConfigInput, ENV, newApp } from "../support/app.ts";

// A model's name with a wish for a long window

testEach("[1m]", "a wish for a long window is no part of a model's name", {}, async (client, mode) => {
  const body = bodyFor(client, { stream: mode === "streamed" }, "chat[1m]");
  const view = await ask(client, body, [() => responseOf(HELLO, mode)]);
  assertEquals([view.status, view.asked[0]!.model], [200, "org/model"]);
  const text = mode === "whole" ? JSON.stringify(view.body) : view.frames.map(({ data }) => data ?? "").join("\n");
  assertEquals([text.includes('"chat[1m]"'), text.includes("org/model")], [true, false], "the client's own name");
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

/** The body that Cursor posts to the chat endpoint: one of the responses wire, its tools of both wires. */
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

const FORM = '{"done":true}';
/** An answer in the form that the body asks for. */
const FITTING = { whole: chatWhole({ content: FORM }), frames: chatStream([{ content: FORM }]) };

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

/** The body that goes up, and the text that comes back. */
async function cursor(
  mode: Mode,
  more: JsonObject = {},
  answer = FITTING,
): Promise<{ asked: JsonObject; text: string }> {
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
    const { status, said, end, asked, headers } = await ask("chat", body, [() => responseOf(FITTING, mode)]);
    assertEquals([status, said, end], [200, [{ text: FORM }], "stop"]);
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

// Claude Code

/** Fields that are nobody's business but the vendor's: where the person works, on which device, in which session. */
const PRIVATE = {
  metadata: { user_id: JSON.stringify({ device_id: "device-1f2e", account_uuid: "", session_id: "session-3d4c" }) },
  safeguards: [{
    type: "dangerous_tool_use",
    classifier_context: { v: 1, permission_mode: "auto", live_cwd: "/home/somebody/secret-project", rules: [] },
  }],
};
const SECRETS = ["device-1f2e", "session-3d4c", "secret-project"];
const UNSUPPORTED = [{ type: "dangerous_tool_use", status: { type: "unsupported" } }];

/** A short answer of each wire, as it is streamed. */
const SHORT_STREAM: Record<Wire, string> = {
  chat: chatStream([{ content: "Hi" }]),
  messages: events(
    { type: "message_start", message: { id: "msg_1", content: [], usage: { input_tokens: 5, output_tokens: 1 } } },
    { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
    { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "Hi" } },
    { type: "content_block_stop", index: 0 },
    { type: "message_delta", delta: { stop_reason: "end_turn" }, usage: { output_tokens: 2 } },
    { type: "message_stop" },
  ),
  responses: events(
    { type: "response.created", response: { id: "resp_1", status: "in_progress", output: [] } },
    { type: "response.output_item.added", output_index: 0, item: { type: "message", id: "msg_1", content: [] } },
    { type: "response.output_text.delta", item_id: "msg_1", output_index: 0, content_index: 0, delta: "Hi" },
    { type: "response.completed", response: { id: "resp_1", status: "completed", output: [] } },
  ),
};

for (const upstream of WIRES) {
  for (const mode of MODES) {
    Deno.test(`Claude Code: a check of tool calls is told as unsupported, and asked of nobody · ${upstream} · ${mode}`, async () => {
      const body = { ...bodyFor("messages", { stream: mode === "streamed" }, upstream), ...PRIVATE };
      const answers = [() => mode === "whole" ? shortAnswer(upstream) : streamed(SHORT_STREAM[upstream])];
      const view = await ask("messages", body, answers);
      assertEquals(view.status, 200);
      const text = mode === "whole"
        ? view.body
        : view.frames.map(({ data }) => JSON.parse(data ?? "{}")).find(({ type }) => type === "message_delta").delta;
      assertEquals(text.safeguard_results, UNSUPPORTED);
      const seen = JSON.stringify([
        view.upstream.asked.map(({ body, headers }) => [body, [...headers]]),
        view.app.logs,
      ]);
      for (const secret of SECRETS) assertEquals(seen.includes(secret), false, secret);
      assertStringIncludes(view.headers.get("x-laneway-notes") ?? "", "dropped safeguards");
    });
  }
}

Deno.test("Claude Code: its vendor's own models are asked for the check, and their verdict is told", async () => {
  const verdict = [{ type: "dangerous_tool_use", status: { type: "available", tool_uses: {} } }];
  const own: ConfigInput = {
    ...CONFIG,
    lanes: {
      oss: {
        models: { own: { task: "chat", targets: [{ upstream: "messages", model: "anthropic/claude-opus-5-5" }] } },
      },
    },
  };
  const answer = async () => Response.json({ ...await shortAnswer("messages").json(), safeguard_results: verdict });
  const { asked, body } = await ask("messages", { ...bodyFor("messages", {}, "own"), ...PRIVATE }, [answer], {
    config: own,
  });
  assertEquals([asked[0]!.safeguards, asked[0]!.metadata], [PRIVATE.safeguards, PRIVATE.metadata]);
  assertEquals(body.safeguard_results, verdict);
});

Deno.test("Claude Code: a title is asked for as a JSON schema, and comes as the JSON", async () => {
  const schema = {
    type: "object",
    properties: { title: { type: "string" } },
    required: ["title"],
    additionalProperties: false,
  };
  const title = JSON.stringify({ title: "Greeting" });
  const { said, end, asked } = await ask("messages", {
    model: "chat",
    messages: [{ role: "user", content: [{ type: "text", text: "Hello" }] }],
    system: [
      { type: "text", text: "x-anthropic-billing-header: cc_version=2.1.329.feb; cc_entrypoint=cli;" },
      { type: "text", text: "Write a title." },
    ],
    max_tokens: 32_000,
    output_config: { effort: "high", format: { type: "json_schema", schema } },
    stream: true,
  }, [() => streamed(chatStream([{ content: title }]))]);
  assertEquals([said, end], [[{ text: title }], "stop"]);
  assertEquals(asked[0]!.messages, [{ role: "system", content: "Write a title." }, { role: "user", content: "Hello" }]);
  assertEquals(objectOf(asked[0]!.response_format).type, "json_schema");
  assertEquals(objectOf(objectOf(asked[0]!.response_format).json_schema).schema, schema);
});

Deno.test("Claude Code: a probe for one token is answered", async () => {
  const { status, asked } = await ask("messages", { ...bodyFor("messages"), max_tokens: 1 }, [
    () => shortAnswer("chat"),
  ]);
  assertEquals([status, asked[0]!.max_tokens], [200, 1]);
});

Deno.test("Claude Code: what it asks of no endpoint is answered at once", async () => {
  for (const config of [CONFIG, { ...CONFIG, keys: [{ name: "team", secret: { env: "TEAM_KEY" } }] }]) {
    const app = newApp({ config });
    const hello = await app.fetch(new Request("http://gateway/oss/api/hello", { method: "HEAD" }));
    assertEquals([hello.status, await hello.text()], ["keys" in config ? 401 : 404, ""]);
    const lane = await app.get("/oss");
    assertMatch(lane.headers.get("content-type") ?? "", /^application\/json/);
    await lane.body?.cancel();
  }
});

// Codex

Deno.test("Codex: what it tells of itself and of its session goes to no upstream", async () => {
  const headers = {
    "session-id": "session-3d4c",
    "thread-id": "session-3d4c",
    "x-codex-window-id": "session-3d4c:0",
    "x-codex-turn-metadata": '{"cwd":"/home/somebody/secret-project"}',
    "originator": "codex_exec",
  };
  const client_metadata = { "x-codex-installation-id": "device-1f2e" };
  for (const upstream of WIRES) {
    const body = { ...bodyFor("responses", {}, upstream), client_metadata };
    const view = await ask("responses", body, [() => shortAnswer(upstream)], { headers });
    assertEquals(view.status, 200);
    const seen = JSON.stringify([view.upstream.asked.map(({ body, headers }) => [body, [...headers]]), view.app.logs]);
    for (const secret of [...SECRETS, "codex"]) assertEquals(seen.includes(secret), false, secret);
  }
});

Deno.test("Codex: a WebSocket that cannot be made is declined at once, and a call without a key is refused", async () => {
  const app = newApp({ config: { ...CONFIG, keys: [{ name: "team", secret: { env: "TEAM_KEY" } }] } });
  const upgrade = await app.get(PATH.responses, {
    "authorization": `Bearer ${ENV.TEAM_KEY}`,
    "connection": "Upgrade",
    "upgrade": "websocket",
  });
  assertEquals(upgrade.status, 426);
  await upgrade.body?.cancel();
  const bare = await app.fetch(new Request(`http://gateway${PATH.responses}`, { method: "HEAD" }));
  assertEquals(bare.status, 401);
});

// Tools that are deferred until a search brings them up

const PARAMETERS = { type: "object", properties: {} };
const DEFERRED = { type: "function", parameters: PARAMETERS, strict: false, defer_loading: true };
const SEARCH = { type: "tool_search", execution: "client", description: "Finds tools", parameters: PARAMETERS };
const SEARCHED: JsonObject = {
  input: [{ role: "user", content: "How warm is it?" }],
  tools: [
    SEARCH,
    { type: "function", name: "look", parameters: PARAMETERS, strict: false },
    { ...DEFERRED, name: "get_weather" },
    { type: "namespace", name: "mail", description: "Mail", tools: [{ ...DEFERRED, name: "send" }] },
  ],
};
const FOUND: JsonObject[] = [
  {
    type: "tool_search_call",
    call_id: "call_1",
    execution: "client",
    arguments: { query: "weather" },
    status: "completed",
  },
  {
    type: "tool_search_output",
    call_id: "call_1",
    execution: "client",
    status: "completed",
    tools: [
      { ...DEFERRED, name: "get_weather" },
      { type: "namespace", name: "mail", description: "Mail", tools: [{ ...DEFERRED, name: "send" }] },
    ],
  },
];

for (const upstream of WIRES) {
  Deno.test(`Responses: the model sees a deferred tool once the client's search has found it · ${upstream}`, async () => {
    const before = await ask("responses", { model: upstream, ...SEARCHED }, [() => shortAnswer(upstream)]);
    assertEquals(namesOf(before.asked[0]!.tools), ["tool_search", "look"]);
    const input = [...listOf(SEARCHED.input), ...FOUND];
    const after = await ask("responses", { model: upstream, ...SEARCHED, input }, [() => shortAnswer(upstream)]);
    assertEquals(namesOf(after.asked[0]!.tools), ["tool_search", "look", "get_weather", "mail__send"]);
    assertEquals(JSON.stringify(after.asked).includes("defer_loading"), false);
    assertStringIncludes(JSON.stringify(after.asked), "The tool get_weather, mail__send is now available.");
    assertEquals([before.headers.get("x-laneway-notes"), after.headers.get("x-laneway-notes")], [null, null]);
  });
}

Deno.test("Responses: the vendor's own models are told of deferred tools as the client tells it", async () => {
  const own: ConfigInput = {
    ...CONFIG,
    lanes: { oss: { models: { own: { task: "chat", targets: [{ upstream: "responses", model: "gpt-5.6" }] } } } },
  };
  const input = [...listOf(SEARCHED.input), ...FOUND];
  const { asked } = await ask("responses", { model: "own", ...SEARCHED, input }, [() => shortAnswer("responses")], {
    config: own,
  });
  const [search, look, weather] = listOf(asked[0]!.tools);
  assertEquals([search, look!.defer_loading, weather!.defer_loading], [SEARCH, undefined, true]);
  assertEquals(listOf(asked[0]!.input).slice(1), FOUND);
});

Deno.test("Responses: where the server would search, the gateway does, and the model sees its search", async () => {
  const tools = [{ type: "tool_search" }, ...listOf(SEARCHED.tools).slice(1)];
  const { asked } = await ask("responses", { model: "chat", ...SEARCHED, tools }, [() => shortAnswer("chat")]);
  assertEquals(namesOf(asked[0]!.tools), ["tool_search", "look"]);
});

Deno.test("Messages: where the server would search, the gateway does, and the model sees its search", async () => {
  const tools = [
    { type: "tool_search_tool_regex_20251119", name: "tool_search_tool_regex" },
    { name: "get_weather", input_schema: PARAMETERS, defer_loading: true },
  ];
  const { asked } = await ask("messages", { ...bodyFor("messages"), tools }, [() => shortAnswer("chat")]);
  assertEquals(namesOf(asked[0]!.tools), ["tool_search"]);
});

for (const mode of MODES) {
  Deno.test(`Responses: the model's call of the search is an item of its kind · ${mode}`, async () => {
    const called = call("tool_search", '{"query":"weather"}');
    const [head, ...pieces] = ["", '{"query":', '"weather"}'];
    const answer = {
      whole: chatWhole({ content: null, tool_calls: [called] }, "tool_calls"),
      frames: data(
        delta({ tool_calls: [{ index: 0, ...call("tool_search", head!) }] }),
        ...pieces.map((piece) => delta({ tool_calls: [{ index: 0, function: { arguments: piece } }] })),
      ) + chatEnd("tool_calls"),
    };
    const body = { model: "chat", ...SEARCHED, stream: mode === "streamed" };
    const upstream = fakeUpstream(() => responseOf(answer, mode));
    const text = await (await newApp({ config: CONFIG, fetch: upstream.fetch }).post(PATH.responses, body)).text();
    const item = {
      type: "tool_search_call",
      call_id: "call_tool_search",
      execution: "client",
      arguments: { query: "weather" },
      status: "completed",
    };
    if (mode === "whole") {
      const { id, ...rest } = listOf(JSON.parse(text).output)[0]!;
      assertEquals([typeof id, rest], ["string", item]);
      return;
    }
    const events: JsonObject[] = text.split("\n").filter((line) => line.startsWith("data: {")).map((line) =>
      JSON.parse(line.slice(6))
    );
    assertEquals(events.map(({ type }) => type), [
      "response.created",
      "response.in_progress",
      "response.output_item.added",
      "response.output_item.done",
      "response.completed",
    ]);
    const [added, done, last] = events.slice(2);
    const { id } = objectOf(added!.item);
    assertEquals(added!.item, { ...item, id, arguments: {}, status: "in_progress" });
    assertEquals(done!.item, { ...item, id });
    assertEquals(objectOf(last!.response).output, [{ ...item, id }]);
  });
}

for (const client of ["chat", "responses"] as const) {
  Deno.test(`the most effort is a level like the others · ${client}`, async () => {
    const { status, asked } = await ask(client, bodyFor(client, { effort: "max" }), [() => shortAnswer("chat")]);
    assertEquals([status, asked[0]!.reasoning_effort], [200, "max"]);
  });
}
