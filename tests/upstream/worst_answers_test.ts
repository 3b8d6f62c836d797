/** Answers that no server should send, and what the fuzzers found them to do. */
import { assert, assertEquals, assertThrows } from "@std/assert";
import { replicateDriver } from "../../plugins/hub/replicate.ts";
import { pathOf } from "../../plugins/hub/paths.ts";
import type { JsonObject, JsonValue } from "../../src/canonical/json.ts";
import type { Catalog } from "../../src/contract/catalog.ts";
import type { UpstreamOperation } from "../../src/contract/driver.ts";
import { GatewayError } from "../../src/errors.ts";
import { bodyFor, chatWhole, CONFIG, PATH, type Wire } from "../regressions/support.ts";
import { newApp } from "../support/app.ts";
import { newReply } from "../support/text_operations.ts";
import { fakeUpstream } from "../support/fake_upstream.ts";

const CLIENTS = ["chat", "messages", "responses"] as const;
const DEEP = "[".repeat(100_000) + "]".repeat(100_000);

/** What a client is answered where the upstream of a wire answers with this text. */
async function answerTo(client: Wire, upstream: Wire, body: string, status = 200, config = CONFIG) {
  const headers = { "content-type": "application/json" };
  const app = newApp({ config, fetch: fakeUpstream(() => new Response(body, { status, headers })).fetch });
  const response = await app.post(PATH[client], bodyFor(client, {}, upstream));
  return { status: response.status, body: await response.json() as JsonObject, error: app.logs[0]?.error };
}

Deno.test("an answer that is nested without end is a failure of the upstream's", async () => {
  const body = JSON.stringify(chatWhole({ content: "Hi", x_a: "DEEP" })).replace('"DEEP"', DEEP);
  for (const client of CLIENTS) {
    const { status, error } = await answerTo(client, "chat", body);
    assertEquals([status, error], [502, "upstream_error"]);
  }
});

Deno.test("an error that is nested without end is an error", async () => {
  for (const upstream of CLIENTS) {
    const { status } = await answerTo("chat", upstream, `{"error":${DEEP}}`, 400);
    assertEquals(status, 400);
  }
});

Deno.test("a request that is nested without end is refused in every protocol", async () => {
  for (const client of CLIENTS) {
    const body = JSON.stringify({ ...bodyFor(client), x_a: "DEEP" }).replace('"DEEP"', DEEP);
    const app = newApp({ config: CONFIG });
    const response = await app.post(PATH[client], body);
    assertEquals(response.status, 400);
    assert((await response.text()).includes("nested deeper than"));
  }
});

Deno.test("a call whose arguments are nested without end reaches an upstream that wants an object", async () => {
  const upstream = fakeUpstream(() => Response.json({ error: "no" }, { status: 400 }));
  const body = bodyFor("chat", {}, "messages");
  (body.messages as JsonValue[]).push(
    { role: "assistant", tool_calls: [{ id: "call_1", type: "function", function: { name: "a", arguments: DEEP } }] },
    { role: "tool", tool_call_id: "call_1", content: "b" },
  );
  await newApp({ config: CONFIG, fetch: upstream.fetch }).post(PATH.chat, body);
  assertEquals(JSON.parse(upstream.asked[0]!.body).messages[1].content[0].input, { input: DEEP });
});

Deno.test("a catalog whose list has no end is read so far", async () => {
  const upstream = fakeUpstream(() => {
    // For a gateway that reads on and on, which no time-out would end here.
    if (upstream.asked.length > 100) throw new TypeError("Enough");
    return Response.json([]);
  });
  const catalog: Catalog = {
    name: "endless",
    listing: () => [{ path: "models" }],
    next: () => ({ path: "models" }),
    parseListing: (replies) => replies.map((_, at) => ({ id: `m${at}`, task: "chat", created: 1, ownedBy: "org" })),
  };
  const config = {
    ...CONFIG,
    catalogs: { endless: { plugin: "endless", baseUrl: "http://endless.test" } },
    lanes: { oss: { catalog: "endless", upstreams: { chat: "chat" } } },
  };
  const app = newApp({ config, fetch: upstream.fetch, plugins: { catalogs: [catalog] } });
  const { data } = await (await app.get("/oss/v1/models")).json();
  assertEquals([data.length, upstream.asked.length], [20, 20]);
});

Deno.test("more calls than a function takes arguments are an answer, and a conversation, like any other", async () => {
  const calls = Array.from({ length: 130_000 }, (_, at) => ({
    id: `call_${at}`,
    type: "function",
    function: { name: "a", arguments: "{}" },
  }));
  const whole = JSON.stringify(chatWhole({ tool_calls: calls }));
  const config = { ...CONFIG, limits: { jsonValues: 10_000_000, jsonNames: 10_000_000 } };
  assertEquals((await answerTo("chat", "chat", whole, 200, config)).error, undefined);
  const parts = Array.from({ length: 130_000 }, () => ({ type: "text", text: "b" }));
  const said: [upstream: Wire, messages: JsonValue[]][] = [
    ["chat", [{ role: "assistant", tool_calls: calls }, { role: "user", content: "b" }]],
    ["messages", [{ role: "user", content: "b" }, { role: "user", content: parts }]],
    ["responses", [{ role: "assistant", content: parts }, { role: "user", content: "b" }]],
  ];
  for (const [upstream, messages] of said) {
    const app = newApp({ config, fetch: fakeUpstream(() => Response.json({}, { status: 400 })).fetch });
    await app.post(PATH.chat, { ...bodyFor("chat", {}, upstream), messages });
    assertEquals(app.logs[0]?.error, "invalid_request");
  }
});

Deno.test("a request of nothing but fields is refused in every protocol", async () => {
  const fields = Object.fromEntries(Array.from({ length: 25_100 }, (_, at) => [`k${at}`, 1]));
  for (const client of CLIENTS) {
    const body = JSON.stringify({ ...bodyFor(client), ...fields });
    const response = await newApp({ config: CONFIG }).post(PATH[client], body);
    assertEquals(response.status, 400);
    assert((await response.text()).includes("more than 20000 distinct field names"));
  }
});

Deno.test("a list with more mistakes than can be counted is refused", async () => {
  const wrong = new Array(150_000).fill(0);
  const app = newApp({ config: CONFIG });
  const response = await app.post(PATH.chat, { model: "chat", messages: [{ role: "assistant", tool_calls: wrong }] });
  assertEquals(response.status, 400);
  await response.body?.cancel();
  // Before any of it is made, which would take the memory of the machine.
  const many = await app.post(PATH.chat, { model: "chat", messages: new Array(5_000_000).fill(0) });
  assert((await many.text()).includes("more than 300000 numbers"));
  const { status, error } = await answerTo(
    "chat",
    "chat",
    JSON.stringify({ choices: [{ message: { tool_calls: wrong } }] }),
  );
  assertEquals([status, error], [502, "upstream_error"]);
});

Deno.test("counts below zero are estimated on every wire", async () => {
  const whole = chatWhole({ content: "Hi" }, "stop", { prompt_tokens: -5, completion_tokens: -2, total_tokens: -7 });
  const { body } = await answerTo("chat", "chat", JSON.stringify(whole));
  assert(Number((body.usage as JsonObject).prompt_tokens) > 0);
  const message = {
    type: "message",
    role: "assistant",
    content: [{ type: "text", text: "Hi" }],
    stop_reason: "end_turn",
    usage: { input_tokens: -5, output_tokens: "2" },
  };
  const answer = await answerTo("messages", "messages", JSON.stringify(message));
  assertEquals(answer.status, 200);
  assert(Number((answer.body.usage as JsonObject).input_tokens) > 0);
});

Deno.test("a reason by the name of what every object has is a word like any other", async () => {
  const { status, body } = await answerTo(
    "messages",
    "chat",
    JSON.stringify(chatWhole({ content: "Hi" }, "constructor")),
  );
  assertEquals([status, body.stop_reason], [200, "end_turn"]);
});

Deno.test("a format of sound by the name of what every object has is a format like any other", async () => {
  const upstream = fakeUpstream(() => Response.json(chatWhole({ content: "Hi" })));
  const sound = { type: "input_audio", input_audio: { data: "AAAA", format: "constructor" } };
  const body = { model: "chat", messages: [{ role: "user", content: [sound] }] };
  assertEquals((await newApp({ config: CONFIG, fetch: upstream.fetch }).post(PATH.chat, body)).status, 200);
  assertEquals(JSON.parse(upstream.asked[0]!.body).messages[0].content, [sound]);
});

Deno.test("objects in place of texts are told as their JSON", async () => {
  const message = {
    type: "message",
    role: "assistant",
    content: [{ type: "thinking", thinking: { toString: "a" } }, { type: "text", text: { toString: "a" } }],
    stop_reason: "end_turn",
  };
  const { status, body } = await answerTo("messages", "messages", JSON.stringify(message));
  assertEquals([status, (body.content as JsonObject[])[1]?.text], [200, '{"toString":"a"}']);
  const failure = { error: { message: "no", code: { toString: "a" }, type: { toString: "a" } } };
  for (const upstream of CLIENTS) {
    const answer = await answerTo("chat", upstream, JSON.stringify({ type: "error", ...failure }));
    assertEquals([answer.status, answer.error], [502, "upstream_error"], upstream);
  }
});

Deno.test("items that clients know by their ids have one each", async () => {
  const items = [null, "ws_1", "ws_1"].map((id) => ({ type: "web_search_call", id, status: "completed" }));
  const response = { object: "response", status: "completed", output: items };
  const { body } = await answerTo("responses", "responses", JSON.stringify(response));
  const ids = (body.output as JsonObject[]).map(({ id }) => id);
  assertEquals(new Set(ids).size, 3);
  assert(ids.every((id) => typeof id === "string"), JSON.stringify(ids));
});

Deno.test("an item that is told whole is over, whatever the upstream calls it", async () => {
  const content = [{ type: "output_text", text: "Hi" }];
  for (const status of [5, "in_progress"]) {
    const output = [
      { type: "reasoning", id: "rs_1", summary: [{ type: "summary_text", text: "Hm" }], status },
      { type: "message", id: "msg_1", role: "assistant", content, status },
    ];
    const { body } = await answerTo("responses", "responses", JSON.stringify({ status: "completed", output }));
    assertEquals((body.output as JsonObject[]).map((item) => item.status), ["completed", "completed"]);
  }
});

Deno.test("a tool of the messages protocol without any name is refused", async () => {
  for (const tool of [{ description: "a", input_schema: {} }, { name: "", input_schema: {} }, { type: "custom" }]) {
    const response = await newApp({ config: CONFIG }).post(PATH.messages, { ...bodyFor("messages"), tools: [tool] });
    assertEquals(response.status, 400);
    assert((await response.text()).includes("tools[0].name"));
  }
});

Deno.test("names with half a character in them lead to paths all the same", () => {
  assertEquals(pathOf("org/\ud800"), "org/%EF%BF%BD");
  const way = replicateDriver.operations.transcribe as UpstreamOperation<"transcribe">;
  const prediction = newReply({ id: "\ud800", status: "processing" });
  assertEquals(way.cancel!(prediction)?.path, "v1/predictions/%EF%BF%BD/cancel");
  assertThrows(() => pathOf("org/.."), GatewayError);
});
