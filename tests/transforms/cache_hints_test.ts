/** An upstream that turns out to know no cache hints is asked without them, for an hour. */
import { assert, assertEquals } from "@std/assert";
import type { JsonObject } from "../../src/canonical/json.ts";
import { type ConfigInput, newApp, NOW } from "../support/app.ts";
import { answerWhole } from "../support/chat.ts";
import { type Asked, fakeUpstream } from "../support/fake_upstream.ts";

const CONFIG: ConfigInput = {
  upstreams: {
    chat: { driver: "chat", baseUrl: "http://chat.test/v1", cacheControl: "pass" },
    messages: { driver: "messages", baseUrl: "http://messages.test/v1" },
    strict: { driver: "messages", baseUrl: "http://messages.test/v1", refuses: ["cache_control"] },
  },
  lanes: {
    oss: {
      models: {
        chat: { task: "chat", targets: [{ upstream: "chat", model: "org/model" }] },
        messages: { task: "chat", targets: [{ upstream: "messages", model: "org/model" }] },
        strict: { task: "chat", targets: [{ upstream: "strict", model: "org/model" }] },
      },
    },
  },
};

const HINT = { cache_control: { type: "ephemeral" } };
const TEXT = { type: "text", text: "Hello", ...HINT };
const TOOL = { input_schema: { type: "object", properties: { cache_control: { type: "string" } } } };
const PATH = { chat: "/oss/v1/chat/completions", messages: "/oss/v1/messages" };
const BODY: Record<keyof typeof PATH, JsonObject> = {
  chat: { messages: [{ role: "user", content: [TEXT] }] },
  messages: {
    max_tokens: 100,
    ...HINT,
    system: [TEXT],
    tools: [{ name: "look", ...TOOL, ...HINT }],
    messages: [
      { role: "user", content: [TEXT] },
      { role: "assistant", content: [{ type: "tool_use", id: "toolu_1", name: "look", input: {}, ...HINT }] },
      {
        role: "user",
        content: [{ type: "tool_result", tool_use_id: "toolu_1", content: [TEXT], ...HINT }, {
          type: "search_result",
          source: "s",
          title: "t",
          content: [{ type: "text", text: "found" }],
          ...HINT,
        }],
      },
    ],
  },
};

function answerOf({ url }: Asked): Response {
  if (url.pathname.endsWith("/chat/completions")) return answerWhole();
  const content = [{ type: "text", text: "Hi" }];
  const usage = { input_tokens: 5, output_tokens: 1 };
  return Response.json({ id: "msg_1", type: "message", role: "assistant", content, stop_reason: "end_turn", usage });
}

function refusal(message: string, status = 400): Response {
  return Response.json({ type: "error", error: { type: "invalid_request_error", message } }, { status });
}

/** Whether hints went up with each request. The tool's own argument of that name is none. */
function hintsIn(asked: readonly Asked[]): boolean[] {
  return asked.map(({ body }) => body.replaceAll('"cache_control":{"type":"string"}', "").includes("cache_control"));
}

for (
  const [client, model, message] of [
    ["messages", "messages", "system.0.cache_control: Extra inputs are not permitted"],
    ["messages", "messages", "Unknown field: cache_control"],
    ["messages", "messages", "tools.0.cache_control.scope: Extra inputs are not permitted"],
    ["messages", "chat", "property 'messages.0.content.0.cache_control' is unsupported"],
    ["chat", "chat", "Extra inputs are not permitted, field: 'messages[0].content[0].cache_control'"],
    ["chat", "messages", "cache_control parameter is not permitted"],
  ] as const
) {
  Deno.test(`cache hints: ${client} client, ${model} upstream: after "${message}" they are left out for a day`, async () => {
    let now = NOW;
    const upstream = fakeUpstream((asked) => hintsIn([asked])[0] ? refusal(message) : answerOf(asked));
    const app = newApp({ config: CONFIG, fetch: upstream.fetch, now: () => now });
    const say = async () => {
      const response = await app.post(PATH[client], { model, ...BODY[client] });
      assertEquals(response.status, 200, await response.text());
      return response.headers.get("x-laneway-notes");
    };
    assert((await say())?.includes("dropped cache_control"));
    assertEquals(hintsIn(upstream.asked), [true, false]);
    assert((await say())?.includes("dropped cache_control"));
    now += 86_400_000;
    await say();
    assertEquals(hintsIn(upstream.asked), [true, false, false, true, false]);
    if (client === "messages") {
      assert(
        upstream.asked.every(({ body }) => body.includes('"cache_control":{"type":"string"}')),
        "A tool's argument",
      );
    }
  });
}

Deno.test("cache hints: an upstream that is configured to refuse them never sees any", async () => {
  const upstream = fakeUpstream(answerOf);
  const app = newApp({ config: CONFIG, fetch: upstream.fetch });
  const response = await app.post(PATH.messages, { model: "strict", ...BODY.messages });
  assertEquals([response.status, hintsIn(upstream.asked)], [200, [false]]);
  assertEquals(response.headers.get("x-laneway-notes"), "dropped cache_control");
});

Deno.test("cache hints: a text that has lost its hint is one text with the words for the form of the answer", async () => {
  const upstream = fakeUpstream(() => answerWhole("{}"));
  const chat = { ...CONFIG.upstreams!.chat!, refuses: ["cache_control", "response_format"] };
  const app = newApp({ config: { ...CONFIG, upstreams: { ...CONFIG.upstreams, chat } }, fetch: upstream.fetch });
  const format = { output_config: { format: { type: "json_schema", schema: { type: "object" } } } };
  const messages = [{ role: "user", content: [TEXT] }];
  const response = await app.post(PATH.messages, { model: "chat", max_tokens: 100, messages, ...format });
  const [{ content }] = JSON.parse(upstream.asked[0]!.body).messages;
  assertEquals([response.status, typeof content], [200, "string"]);
});

for (
  const message of [
    "A maximum of 4 blocks with cache_control may be provided. Found 5.",
    "messages.1.content.0.thinking.cache_control: Extra inputs are not permitted",
    "temperature is not supported",
  ]
) {
  Deno.test(`cache hints: "${message}" is the client's to hear`, async () => {
    const upstream = fakeUpstream(() => refusal(message));
    const app = newApp({ config: CONFIG, fetch: upstream.fetch });
    const response = await app.post(PATH.messages, { model: "messages", ...BODY.messages });
    const { error } = await response.json();
    assertEquals([response.status, error.message, upstream.asked.length <= 5], [400, message, true]);
  });
}
