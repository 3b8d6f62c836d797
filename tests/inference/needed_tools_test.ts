/** Requests whose answer needs a tool that nobody runs: they are told that it failed, never what the model would say without. */
import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import Anthropic from "anthropic-sdk";
import OpenAI from "openai";
import type { JsonObject, JsonValue } from "../../src/canonical/json.ts";
import { type ConfigInput, newApp, type TestApp } from "../support/app.ts";

interface Rig {
  app: TestApp;
  /** The bodies that upstreams got. */
  sent: JsonObject[];
}

const WORDS = "What the model made up";
const ANSWERS: Readonly<Record<string, JsonObject>> = {
  chat: {
    id: "x",
    model: "m",
    choices: [{ index: 0, message: { role: "assistant", content: WORDS }, finish_reason: "stop" }],
    usage: { prompt_tokens: 3, completion_tokens: 5 },
  },
  messages: {
    id: "x",
    type: "message",
    role: "assistant",
    model: "m",
    content: [{ type: "text", text: WORDS }],
    stop_reason: "end_turn",
    usage: { input_tokens: 3, output_tokens: 5 },
  },
  responses: {
    id: "x",
    object: "response",
    status: "completed",
    model: "m",
    output: [{ type: "message", role: "assistant", content: [{ type: "output_text", text: WORDS, annotations: [] }] }],
    usage: { input_tokens: 3, output_tokens: 5 },
  },
};

/** `drivers`: those of the model's upstreams, in their order. */
function newRig(drivers: string[], more: JsonObject = {}, model = "org/model"): Rig {
  const sent: JsonObject[] = [];
  const upstreams = Object.fromEntries(
    drivers.map((driver) => [driver, { driver, baseUrl: `http://${driver}.test`, ...more }]),
  );
  const targets = drivers.map((upstream) => ({ upstream, model }));
  const config = { upstreams, lanes: { oss: { models: { model: { task: "chat" as const, targets } } } } };
  const app = newApp({
    config: config as unknown as ConfigInput,
    async fetch(input, init) {
      const request = new Request(input, init);
      sent.push(await request.json());
      return Response.json(ANSWERS[new URL(request.url).hostname.split(".")[0]!]);
    },
  });
  return { app, sent };
}

const HELLO = [{ role: "user" as const, content: "query: weather in Oslo" }];

/** The data of a stream's events. */
function eventsIn(text: string): JsonObject[] {
  return [...text.matchAll(/^data: (\{.*)$/gm)].map(([, json]) => JSON.parse(json!));
}

// Messages

const SEARCH = { type: "web_search_20250305", name: "web_search", max_uses: 8 };
const MESSAGES = "/oss/v1/messages";
const message = (more: object) => ({ model: "model", max_tokens: 100, messages: HELLO, ...more });

const SERVER_TOOLS: [tool: JsonObject, name: string, result: string][] = [
  [SEARCH, "web_search", "web_search_tool_result"],
  [{ type: "web_search_20260318", name: "web_search" }, "web_search", "web_search_tool_result"],
  [{ type: "web_fetch_20250910", name: "web_fetch" }, "web_fetch", "web_fetch_tool_result"],
  [{ type: "code_execution_20250522", name: "code_execution" }, "code_execution", "code_execution_tool_result"],
  [
    { type: "code_execution_20260120", name: "code_execution" },
    "bash_code_execution",
    "bash_code_execution_tool_result",
  ],
];

/** The request with the tool alone, and with the tool forced beside one of the client's. */
function ways(tool: JsonObject): [way: string, fields: JsonObject][] {
  const own = { name: "mine", input_schema: { type: "object" } };
  return [
    ["alone", { tools: [tool] }],
    ["alone, and required", { tools: [tool], tool_choice: { type: "any" } }],
    ["forced", { tools: [own, tool], tool_choice: { type: "tool", name: tool.name! } }],
  ];
}

for (const [tool, name, result] of SERVER_TOOLS) {
  for (const [way, fields] of ways(tool)) {
    Deno.test(`messages: ${tool.type} that nobody runs fails, ${way}, whole and streamed`, async () => {
      for (const driver of ["chat", "responses"]) {
        const { app, sent } = newRig([driver]);
        const client = new Anthropic({
          apiKey: "none",
          baseURL: "http://gateway/oss",
          maxRetries: 0,
          fetch: (input, init) => app.fetch(new Request(input, init)),
        });
        const body = message(fields) as unknown as Anthropic.MessageCreateParamsNonStreaming;
        const whole = await client.messages.create(body);
        const streamed = await client.messages.stream(body).finalMessage();
        for (const answer of [whole, streamed]) {
          assertEquals(answer.content.map(({ type }) => type as string), ["server_tool_use", result]);
          const [use, outcome] = answer.content as unknown as JsonObject[];
          assertEquals([use!.name, outcome!.tool_use_id], [name, use!.id!]);
          const error = outcome!.content as JsonObject;
          assertEquals([error.type, error.error_code], [`${result}_error`, "unavailable"]);
          assertEquals(answer.stop_reason, "end_turn");
          assertEquals([answer.usage.input_tokens, answer.usage.output_tokens], [0, 0]);
          assertEquals(answer.usage.server_tool_use?.web_search_requests, 0);
        }
        assertEquals(sent, [], "an upstream was asked");
      }
    });
  }
}

Deno.test("messages: a failed tool is told in the notes, refused where nothing may be dropped, and costs the key nothing", async () => {
  const { app } = newRig(["chat"]);
  const response = await app.post(MESSAGES, message({ tools: [SEARCH] }));
  assertEquals(response.headers.get("x-laneway-notes"), "dropped tool web_search");
  assertEquals(response.headers.get("x-laneway-target"), null);
  assertEquals(app.logs[0]?.usage, { inputTokens: 0, outputTokens: 0 });
  const strict = await app.post(MESSAGES, message({ tools: [SEARCH] }), { "x-laneway-strict": "true" });
  assertEquals(strict.status, 400);
  const explain = { "x-laneway-explain": "true" };
  const explained = await app.post(MESSAGES, message({ tools: [SEARCH] }), explain);
  assertEquals((await explained.json()).targets, []);
  assertEquals(explained.headers.get("x-laneway-notes"), "dropped tool web_search");
  const both = await app.post(MESSAGES, message({ tools: [SEARCH] }), { ...explain, "x-laneway-strict": "true" });
  assertEquals(both.status, 400);
});

Deno.test("messages: a server tool among others is noted, as one that the model is not to call", async () => {
  const own = { name: "mine", input_schema: { type: "object" } };
  for (
    const fields of [
      { tools: [own, SEARCH] },
      { tools: [own, SEARCH], tool_choice: { type: "any" } },
      { tools: [own, SEARCH], tool_choice: { type: "tool", name: "mine" } },
      { tools: [SEARCH], tool_choice: { type: "none" } },
    ]
  ) {
    const { app, sent } = newRig(["chat"]);
    const response = await app.post(MESSAGES, message(fields));
    assertEquals((await response.json()).content, [{ type: "text", text: WORDS }]);
    assertEquals([response.headers.get("x-laneway-notes"), sent.length], ["dropped tool web_search", 1]);
  }
});

Deno.test("messages: an upstream of the same wire gets the tool as it is, also where another one stands before it", async () => {
  for (const drivers of [["messages"], ["chat", "messages"]]) {
    const { app, sent } = newRig(drivers);
    const response = await app.post(MESSAGES, message({ tools: [SEARCH] }));
    assertEquals(response.status, 200);
    assertEquals(sent.map(({ tools }) => tools as JsonValue), [[SEARCH]]);
  }
});

Deno.test("messages: a tool of which nobody knows how it fails is refused by its name", async () => {
  const { app, sent } = newRig(["chat"]);
  const response = await app.post(MESSAGES, message({ tools: [{ type: "oracle_20270101", name: "oracle" }] }));
  assertEquals([response.status, sent.length], [400, 0]);
  assertMatch(
    (await response.json()).error.message,
    /^Cannot run tool "oracle": no upstream of model "model" runs it$/,
  );
});

Deno.test("messages: a server that takes a tool of its wire and does not run it is never asked with it", async () => {
  const own = { name: "mine", input_schema: { type: "object" } };
  const { app, sent } = newRig(["messages"], { refuses: ["web_search"] });
  const failed = await app.post(MESSAGES, message({ tools: [SEARCH] }));
  assertEquals([(await failed.json()).content[1].content.error_code, sent.length], ["unavailable", 0]);
  const noted = await app.post(MESSAGES, message({ tools: [own, SEARCH] }));
  assertEquals(noted.headers.get("x-laneway-notes"), "dropped tool web_search");
  assertEquals((sent[0]!.tools as JsonObject[]).map(({ name }) => name as string), ["mine"]);
  const none = await app.post(MESSAGES, message({ tools: [SEARCH], tool_choice: { type: "none" } }));
  assertEquals([none.status, sent[1]!.tools as undefined], [200, undefined]);
});

// Responses

const RESPONSES = "/oss/v1/responses";
const ITEMS: [tool: JsonObject, type: string, status: string | undefined][] = [
  [{ type: "web_search" }, "web_search_call", "failed"],
  [{ type: "web_search_2025_08_26" }, "web_search_call", "failed"],
  [{ type: "web_search_preview" }, "web_search_call", "failed"],
  [{ type: "file_search", vector_store_ids: ["vs_1"] }, "file_search_call", "failed"],
  [{ type: "code_interpreter", container: { type: "auto" } }, "code_interpreter_call", "failed"],
  [{ type: "image_generation" }, "image_generation_call", "failed"],
  [{ type: "mcp", server_label: "far", server_url: "https://far.test" }, "mcp_list_tools", undefined],
];
const FUNCTION = { type: "function", name: "mine", parameters: { type: "object" }, strict: false };

for (const [tool, type, status] of ITEMS) {
  Deno.test(`responses: ${tool.type} that nobody runs fails, alone and forced, whole and streamed`, async () => {
    const choices = [
      { tools: [tool] },
      { tools: [tool], tool_choice: "required" },
      { tools: [FUNCTION, tool], tool_choice: { type: tool.type! } },
    ];
    for (const fields of choices) {
      for (const driver of ["chat", "messages"]) {
        const { app, sent } = newRig([driver]);
        const client = new OpenAI({
          apiKey: "none",
          baseURL: "http://gateway/oss/v1",
          maxRetries: 0,
          fetch: (input: string | URL | Request, init?: RequestInit) => app.fetch(new Request(input, init)),
        });
        const body = { model: "model", input: "Hello", ...fields } as OpenAI.Responses.ResponseCreateParamsNonStreaming;
        const whole = await client.responses.create(body);
        const streamed = await client.responses.stream(body as never).finalResponse();
        for (const answer of [whole, streamed]) {
          assertEquals([answer.status, answer.output_text], ["completed", ""]);
          assertEquals(answer.output.map((item) => item.type as string), [type]);
          const [item] = answer.output as unknown as JsonObject[];
          assertEquals(item!.status as string | undefined, status);
          assertEquals([answer.usage?.total_tokens], [0]);
        }
        assertEquals(sent, [], "an upstream was asked");
      }
    }
  });
}

Deno.test("responses: the stream tells the failing search as the vendor tells one, and a stored answer can be gone on from", async () => {
  const { app } = newRig(["chat"]);
  const body = { model: "model", input: "Hello", tools: [{ type: "web_search" }] };
  const events = eventsIn(await (await app.post(RESPONSES, { ...body, stream: true })).text());
  assertEquals(events.map(({ type }) => type as string), [
    "response.created",
    "response.in_progress",
    "response.output_item.added",
    "response.web_search_call.in_progress",
    "response.output_item.done",
    "response.completed",
  ]);
  const [added, done] = [events[2]!.item, events[4]!.item] as JsonObject[];
  assertEquals([added!.status, done!.status, added!.id], ["in_progress", "failed", done!.id!]);
  const { id } = (events.at(-1)!.response as JsonObject) as { id: string };
  const next = await app.post(RESPONSES, { model: "model", input: "And now?", previous_response_id: id });
  assertEquals(next.status, 200);
});

Deno.test("responses: in the background, a tool that nobody runs fails as it does at once", async () => {
  const { app, sent } = newRig(["chat"]);
  const body = { model: "model", input: "Hello", tools: [{ type: "web_search" }], background: true };
  for (const stream of [false, true]) {
    const response = await app.post(RESPONSES, { ...body, stream });
    assertEquals(response.status, 200);
    const text = await response.text();
    const { id } = stream ? eventsIn(text)[0]!.response as { id: string } : JSON.parse(text);
    let found = await (await app.get(`${RESPONSES}/${id}`)).json();
    while (found.status === "queued" || found.status === "in_progress") {
      await new Promise((resolve) => setTimeout(resolve));
      found = await (await app.get(`${RESPONSES}/${id}`)).json();
    }
    assertEquals([found.status, found.output.map(({ type }: JsonObject) => type)], ["completed", ["web_search_call"]]);
  }
  assertEquals(sent, []);
});

Deno.test("responses: a hosted tool among others is noted, and one that the client runs is no failed one", async () => {
  for (
    const [fields, note] of [
      [{ tools: [FUNCTION, { type: "web_search" }] }, "dropped tool web_search"],
      [{ tools: [{ type: "local_shell" }] }, "dropped tool local_shell"],
      [{ tools: [{ type: "web_search" }], tool_choice: "none" }, "dropped tool web_search"],
    ] as const
  ) {
    const { app } = newRig(["chat"]);
    const response = await app.post(RESPONSES, { model: "model", input: "Hello", ...fields });
    assertEquals(response.headers.get("x-laneway-notes"), note);
    assertStringIncludes(JSON.stringify(await response.json()), WORDS);
  }
});

Deno.test("responses: a function of the client's that has a hosted tool's name can be forced", async () => {
  const { app, sent } = newRig(["chat"]);
  const tools = [{ type: "web_search" }, { ...FUNCTION, name: "web_search" }];
  const tool_choice = { type: "function", name: "web_search" };
  const response = await app.post(RESPONSES, { model: "model", input: "Hello", tools, tool_choice });
  assertEquals([response.status, sent.length], [200, 1]);
  assertEquals(sent[0]!.tool_choice, { type: "function", function: { name: "web_search" } });
});

Deno.test("responses: a conversation that is to be compacted is left to its vendor's own model", async () => {
  const input = [{ role: "user", content: "Hello" }, { type: "compaction_trigger" }];
  const { app, sent } = newRig(["chat", "responses"], {}, "openai/gpt-5");
  assertEquals((await app.post(RESPONSES, { model: "model", input, tools: [FUNCTION] })).status, 200);
  assertEquals((sent[0]!.input as JsonObject[]).at(-1)!.type, "compaction_trigger");
  const context_management = [{ type: "compaction", compact_threshold: 1 }];
  assertEquals((await app.post(RESPONSES, { model: "model", input: "Hello", context_management })).status, 200);
  assertEquals([sent[1]!.context_management, sent.length], [context_management, 2]);
});

// Chat

const CHAT = "/oss/v1/chat/completions";
const TOOL = { type: "function", function: { name: "mine" } };

Deno.test("chat: what nobody runs is refused by its field", async () => {
  const hosted = { type: "openrouter:web_search" };
  const cases: [fields: JsonObject, drivers: string[], refuses: string[], param: string][] = [
    [{ web_search_options: {} }, ["chat"], ["web_search_options"], "web_search_options"],
    [{ web_search_options: {} }, ["messages"], [], "web_search_options"],
    [{ web_search_options: {}, tool_choice: "required", tools: [] }, ["messages"], [], "web_search_options"],
    [{ tools: [hosted] }, ["messages"], [], "tools[0]"],
    [{ tools: [hosted], web_search_options: {} }, ["responses"], [], "tools[0]"],
  ];
  for (const [fields, drivers, refuses, param] of cases) {
    for (const stream of [false, true]) {
      const { app, sent } = newRig(drivers, { refuses });
      const response = await app.post(CHAT, { model: "model", messages: HELLO, stream, ...fields });
      const { error } = await response.json();
      assertEquals([response.status, error.param, sent.length], [400, param, 0], JSON.stringify(fields));
      assertStringIncludes(error.message, param);
    }
  }
});

Deno.test("chat: a search among tools is noted; an upstream that may search gets it as it is", async () => {
  const noted = newRig(["chat"], { refuses: ["web_search_options"] });
  const fields = { model: "model", messages: HELLO, web_search_options: { search_context_size: "low" } };
  const response = await noted.app.post(CHAT, { ...fields, tools: [TOOL] });
  assertEquals([response.status, response.headers.get("x-laneway-notes")], [200, "dropped web_search_options"]);
  const passed = newRig(["chat"]);
  assertEquals((await passed.app.post(CHAT, fields)).status, 200);
  assertEquals(passed.sent[0]!.web_search_options, { search_context_size: "low" });
});
