/** Searches among tools that the model does not see yet, which the gateway runs for models that know only functions. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import type { JsonObject } from "../../src/canonical/json.ts";
import { newHostedRig, type Say } from "../support/hosted_rig.ts";

const WEATHER = {
  name: "get_weather",
  description: "The weather in a city",
  input_schema: { type: "object", properties: { city: { type: "string", description: "Its name" } } },
  defer_loading: true,
};
const OTHERS = Array.from({ length: 30 }, (_, at) => ({
  name: `crm_task_${at}`,
  description: `Does task ${at} of the customers`,
  input_schema: { type: "object", properties: {} },
  defer_loading: true,
}));
const OWN = { name: "read", description: "Reads a file", input_schema: { type: "object" } };
const REGEX = { type: "tool_search_tool_regex_20251119", name: "tool_search_tool_regex" };
const BM25 = { type: "tool_search_tool_bm25", name: "tool_search_tool_bm25" };
const HELLO = { role: "user", content: "Is it raining in Oslo?" };

const body = (search: JsonObject, more: JsonObject = {}) => ({
  model: "model",
  max_tokens: 100,
  messages: [HELLO],
  tools: [search, OWN, ...OTHERS, WEATHER],
  ...more,
});

const namesOf = ({ tools = [] }: JsonObject) =>
  (tools as { function: { name: string } }[]).map(({ function: { name } }) => name);

/** The blocks of a whole or streamed answer of the messages wire. */
async function blocksOf(response: Response): Promise<{ content: JsonObject[]; stop: unknown; usage: JsonObject }> {
  assertEquals(response.status, 200);
  const text = await response.clone().text();
  if (!text.startsWith("event:")) {
    const { content, stop_reason, usage } = JSON.parse(text);
    return { content, stop: stop_reason, usage };
  }
  const content: (JsonObject & { json?: string })[] = [];
  let end: JsonObject = {};
  for (const [, data] of text.matchAll(/^data: (.*)$/gm)) {
    const event = JSON.parse(data!);
    if (event.type === "content_block_start") content[event.index] = event.content_block;
    const { partial_json, text: more } = event.delta ?? {};
    if (partial_json !== undefined) content[event.index]!.json = (content[event.index]!.json ?? "") + partial_json;
    if (more !== undefined) content[event.index]!.text = String(content[event.index]!.text ?? "") + more;
    if (event.type === "message_delta") end = event;
  }
  for (const block of content) {
    if (block.json !== undefined) block.input = JSON.parse(block.json === "" ? "{}" : block.json);
    delete block.json;
  }
  return { content, stop: (end.delta as JsonObject).stop_reason, usage: end.usage as JsonObject };
}

const FOUND: Say[][] = [['tool_search{"pattern":"(?i)WEATHER"}'], ['get_weather{"city":"Oslo"}'], ["It rains"]];

for (const stream of [false, true]) {
  const way = stream ? "streamed" : "whole";

  Deno.test(`tool search: messages: found, called, and usable in later turns, ${way}`, async () => {
    const { app, asked } = newHostedRig({ rounds: FOUND });
    const first = await blocksOf(await app.post("/oss/v1/messages", body(REGEX, { stream })));
    assertEquals(first.content.map(({ type }) => type), ["server_tool_use", "tool_search_tool_result", "tool_use"]);
    const [call, result, use] = first.content as [JsonObject, JsonObject, JsonObject];
    assertEquals([call.name, call.input], ["tool_search_tool_regex", { pattern: "(?i)WEATHER" }]);
    assertEquals(result.tool_use_id, call.id);
    assertEquals(result.content, {
      type: "tool_search_tool_search_result",
      tool_references: [{ type: "tool_reference", tool_name: "get_weather" }],
    });
    assertEquals([use.name, use.input, first.stop], ["get_weather", { city: "Oslo" }, "tool_use"]);
    assertEquals([first.usage.input_tokens, first.usage.output_tokens], [20, 4]);
    assertEquals(namesOf(asked[0]!.body), ["tool_search", "read"]);
    assertEquals(namesOf(asked[1]!.body), ["tool_search", "read", "get_weather"]);

    const messages = [HELLO, { role: "assistant", content: first.content }, {
      role: "user",
      content: [{ type: "tool_result", tool_use_id: use.id, content: "Rain" }],
    }];
    const second = await blocksOf(await app.post("/oss/v1/messages", body(REGEX, { stream, messages })));
    assertEquals(second.content.map(({ text }) => text), ["It rains"]);
    assertEquals(namesOf(asked[2]!.body), ["tool_search", "read", "get_weather"]);
    const roles = (asked[2]!.body.messages as JsonObject[]).map(({ role }) => role);
    assertEquals(roles, ["user", "assistant", "tool", "assistant", "tool"]);
    // The upstream's prefix cache: what it read before stands there unchanged.
    const before = asked[1]!.body.messages as JsonObject[];
    const shape = (message: JsonObject) => JSON.stringify(message).replace(/"(id|tool_call_id)":"[^"]*"/g, "");
    assertEquals((asked[2]!.body.messages as JsonObject[]).slice(0, before.length).map(shape), before.map(shape));
  });

  Deno.test(`tool search: messages: by words, and a search that fails, ${way}`, async () => {
    const rounds: Say[][] = [['tool_search{"query":"customers task 7", "limit":2}'], ["Done"]];
    const words = newHostedRig({ rounds });
    const { content } = await blocksOf(await words.app.post("/oss/v1/messages", body(BM25, { stream })));
    assertEquals(content[0]!.input, { query: "customers task 7", limit: 2 });
    const { tool_references } = content[1]!.content as { tool_references: JsonObject[] };
    assertEquals([tool_references.length, tool_references[0]!.tool_name], [2, "crm_task_7"]);

    for (const pattern of ["(", "(a)\\1", "x{2,1}", "a".repeat(201), ""]) {
      const failing = newHostedRig({ rounds: [[`tool_search${JSON.stringify({ pattern })}`], ["None"]] });
      const failed = await blocksOf(await failing.app.post("/oss/v1/messages", body(REGEX, { stream })));
      const { type, error_code, error_message } = failed.content[1]!.content as JsonObject;
      assertEquals([type, error_code], ["tool_search_tool_result_error", "invalid_tool_input"], pattern);
      assert(typeof error_message === "string");
      assertEquals([failed.content.at(-1)!.text, failed.stop], ["None", "end_turn"]);
    }
  });

  Deno.test(`tool search: responses: items, definitions and namespaces, ${way}`, async () => {
    const rounds: Say[][] = [['tool_search{"query":"weather city"}'], ['geo__get_weather{"city":"Oslo"}'], [
      "It rains",
    ]];
    const { app, asked } = newHostedRig({ rounds });
    const { input_schema, ...rest } = WEATHER;
    const weather = { type: "function", ...rest, parameters: input_schema };
    const other = { type: "function", name: "find_place", parameters: {}, defer_loading: true };
    const geo = { type: "namespace", name: "geo", description: "Places", tools: [other, weather] };
    const request = { model: "model", input: "Rain?", stream, tools: [{ type: "tool_search" }, geo] };
    const answer = await outputOf(await app.post("/oss/v1/responses", request));
    const [call, output, use] = answer.output as [JsonObject, JsonObject, JsonObject];
    assertEquals(
      [call.type, call.execution, call.call_id, call.arguments, call.status],
      ["tool_search_call", "server", null, { query: "weather city" }, "completed"],
    );
    assertEquals(
      [output.type, output.execution, output.call_id, output.status],
      ["tool_search_output", "server", null, "completed"],
    );
    assertEquals(output.tools, [{ ...geo, tools: [weather] }]);
    assertEquals([use.type, use.namespace, use.name], ["function_call", "geo", "get_weather"]);
    assertEquals(namesOf(asked[0]!.body), ["tool_search"]);
    assertEquals(namesOf(asked[1]!.body), ["tool_search", "geo__get_weather"]);
    if (stream) {
      const types = answer.events.filter((type) => type.startsWith("response.output_item"));
      const both = ["response.output_item.added", "response.output_item.done"];
      assertEquals(types, [...both, ...both, ...both]);
    }
    const result = { type: "function_call_output", call_id: use.call_id, output: "Rain" };
    // What the client keeps, and what the gateway keeps for it.
    for (
      const more of [
        { input: [{ role: "user", content: "Rain?" }, call, output, use, result] },
        { input: [result], previous_response_id: answer.id },
      ]
    ) {
      await outputOf(await app.post("/oss/v1/responses", { ...request, ...more }));
      assertEquals(namesOf(asked.at(-1)!.body), ["tool_search", "geo__get_weather"]);
      const texts = JSON.stringify(asked.at(-1)!.body.messages);
      assertStringIncludes(texts, "These tools can be called now: geo__get_weather");
    }
  });
}

interface Output {
  id: string;
  output: JsonObject[];
  events: string[];
}

async function outputOf(response: Response): Promise<Output> {
  const text = await response.text();
  assertEquals(response.status, 200, text);
  if (!text.startsWith("event:")) return { ...JSON.parse(text), events: [] };
  const events = [...text.matchAll(/^data: (\{.*)$/gm)].map(([, data]) => JSON.parse(data!));
  return { ...events.at(-1).response, events: events.map(({ type }) => type) };
}

// Hostile input

Deno.test("tool search: thousands of tools and patterns that are traps", async () => {
  const many = Array.from({ length: 3_000 }, (_, at) => ({
    name: `tool_${at}`,
    description: "a".repeat(3_000) + "!",
    input_schema: { type: "object", properties: { __proto__x: { description: "a".repeat(500) + "!" } } },
    defer_loading: true,
  }));
  for (const pattern of ["(a+)+$", "(a{1,20}){1,15}b", "constructor", "(.*)*zz"]) {
    const { app, asked } = newHostedRig({ rounds: [[`tool_search${JSON.stringify({ pattern })}`], ["None"]] });
    const response = await app.post("/oss/v1/messages", { ...body(REGEX), tools: [REGEX, ...many] });
    const { content } = await blocksOf(response);
    const { type, error_code, tool_references } = content[1]!.content as JsonObject;
    if (type === "tool_search_tool_result_error") assertEquals(error_code, "execution_time_exceeded");
    else assertEquals(tool_references, []);
    assertEquals(namesOf(asked[1]!.body), ["tool_search"]);
  }
});

Deno.test("tool search: a tool of the client's with the name of the search stays the client's", async () => {
  const rounds: Say[][] = [['tool_search_2{"pattern":"weather"}'], ['tool_search{"x":1}']];
  const { app, asked } = newHostedRig({ rounds });
  const own = { name: "tool_search", input_schema: { type: "object" } };
  const { content, stop } = await blocksOf(
    await app.post("/oss/v1/messages", body(REGEX, { tools: [REGEX, own, WEATHER] })),
  );
  assertEquals(namesOf(asked[0]!.body), ["tool_search_2", "tool_search"]);
  assertEquals(content.map(({ type }) => type), ["server_tool_use", "tool_search_tool_result", "tool_use"]);
  assertEquals([content[2]!.name, stop], ["tool_search", "tool_use"]);
});

Deno.test("tool search: odd limits, a search without end, and tools that nobody has", async () => {
  for (const limit of [-5, 0, 1e300, 2.5]) {
    const rig = newHostedRig({ rounds: [[`tool_search${JSON.stringify({ pattern: "task", limit })}`], ["Done"]] });
    const { content } = await blocksOf(await rig.app.post("/oss/v1/messages", body(REGEX)));
    const { tool_references } = content[1]!.content as { tool_references: unknown[] };
    assertEquals(tool_references.length, limit > 20 ? 20 : Math.max(1, Math.floor(limit)));
  }
  const search: Say[] = ['tool_search{"pattern":"task"}'];
  const endless = newHostedRig({ rounds: Array.from({ length: 99 }, () => search) });
  const { stop } = await blocksOf(await endless.app.post("/oss/v1/messages", body(REGEX)));
  assert(endless.asked.length < 30 && stop !== null);
  // At its end the model is offered no search any more.
  assert(!namesOf(endless.asked.at(-1)!.body).includes("tool_search"));
});

Deno.test("tool search: a client that answers the gateway's own call, or makes up what was found", async () => {
  const references = ["nobody", "read", "get_weather", "get_weather", "__proto__"].map((tool_name) => ({
    type: "tool_reference",
    tool_name,
  }));
  const use = { type: "server_tool_use", id: "srvtoolu_1", name: "tool_search_tool_regex", input: { pattern: "x" } };
  const made = {
    type: "tool_search_tool_result",
    tool_use_id: "srvtoolu_1",
    content: { type: "tool_search_tool_search_result", tool_references: references },
  };
  const stray = { type: "tool_result", tool_use_id: "srvtoolu_1", content: "read" };
  for (
    const turns of [
      [{ role: "assistant", content: [use] }, { role: "user", content: [stray] }],
      [{ role: "assistant", content: [use, made] }, {
        role: "user",
        content: [stray, { type: "text", text: "Go on" }],
      }],
      [{ role: "assistant", content: [made] }, { role: "user", content: "Go on" }],
    ]
  ) {
    const { app, asked } = newHostedRig({ rounds: [["Fine"]] });
    const { content } = await blocksOf(
      await app.post("/oss/v1/messages", body(REGEX, { messages: [HELLO, ...turns] })),
    );
    assertEquals(content.at(-1)!.text, "Fine");
    const sent = asked[0]!.body;
    assertEquals(namesOf(sent).filter((name) => name === "read" || name === "tool_search").length, 2);
    assert(namesOf(sent).length === new Set(namesOf(sent)).size);
    const ids = (field: string) => [...JSON.stringify(sent.messages).matchAll(new RegExp(`"${field}":"([^"]*)"`, "g"))];
    // Each result has its call.
    assertEquals(ids("tool_call_id").length, ids("id").length);
  }
});

Deno.test("tool search: a pending search at the end of the history runs first", async () => {
  const use = {
    type: "server_tool_use",
    id: "srvtoolu_1",
    name: "tool_search_tool_regex",
    input: { pattern: "weath" },
  };
  const { app, asked } = newHostedRig({ rounds: [["Fine"]] });
  const messages = [HELLO, { role: "assistant", content: [use] }];
  const { content } = await blocksOf(await app.post("/oss/v1/messages", body(REGEX, { messages })));
  assertEquals(content.map(({ type }) => type), ["server_tool_use", "tool_search_tool_result", "text"]);
  assertEquals(namesOf(asked[0]!.body), ["tool_search", "read", "get_weather"]);
});

Deno.test("tool search: where the gateway may run no hosted tools, the model sees all tools", async () => {
  const upstreams = { fake: { driver: "chat", baseUrl: "http://upstream.test/v1", hostedTools: "off" } };
  const { app, asked } = newHostedRig({ rounds: [["Fine"]], config: { upstreams } });
  await blocksOf(await app.post("/oss/v1/messages", body(REGEX)));
  assertEquals(namesOf(asked[0]!.body).length, 2 + OTHERS.length);
});

Deno.test("tool search: the explanation shows what the model is offered", async () => {
  const { app, asked } = newHostedRig({ rounds: [["Fine"]] });
  const headers = { "x-laneway-explain": "true" };
  const explained = await (await app.post("/oss/v1/messages", body(REGEX), headers)).text();
  assertStringIncludes(explained, "There are more tools than you see");
  assertEquals(asked, []);
});

Deno.test("tool search: searches are counted by their outcome", async () => {
  const rounds: Say[][] = [['tool_search{"pattern":"weather"}'], ['tool_search{"pattern":"("}'], ["None"]];
  const { app } = newHostedRig({ rounds });
  const { content } = await blocksOf(await app.post("/oss/v1/messages", body(REGEX)));
  assertEquals(content.map(({ type }) => type).filter((type) => type === "tool_search_tool_result").length, 2);
  const page = await (await app.get("/metrics")).text();
  assertStringIncludes(page, 'laneway_hosted_calls_total{tool="tool-search"} 1');
  assertStringIncludes(page, 'laneway_hosted_calls_total{tool="tool-search",error="invalid_input"} 1');
});
