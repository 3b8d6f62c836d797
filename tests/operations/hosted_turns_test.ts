/** Hosted tools from turn to turn: what is numbered, listed, shortened, and asked in every order. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import type { JsonObject } from "../../src/canonical/json.ts";
import { ASKS, newHostedRig, type Say } from "../support/hosted_rig.ts";
import { WIRES } from "../support/wires.ts";

const search = (query: string): Say => `web_search{"query":"${query}"}`;
const mine = (value: string): Say => `mine{"a":"${value}"}`;
const QUESTION = { role: "user", content: "What is the weather in Oslo?" };

const ORDERS: Say[][] = [
  [search("a"), mine("x")],
  [mine("x"), search("a")],
  ["Hm.", search("a"), mine("x"), search("b"), mine("y")],
  [mine("x"), search("a"), mine("y"), search("b")],
  ["(so)", mine("x"), search("a"), "words between", search("b")],
  [search("a"), "words", mine("x")],
  [search("a"), "(late)", mine("x")],
];

/** The client's next turn: what it was answered, and the results of its own calls. */
const NEXT: Record<string, (answer: JsonObject) => JsonObject> = {
  messages: ({ content }) => {
    const blocks = content as JsonObject[];
    const results = blocks.filter(({ type }) => type === "tool_use").map(({ id }) => ({
      type: "tool_result",
      tool_use_id: id!,
      content: "mine",
    }));
    return { messages: [QUESTION, { role: "assistant", content: blocks }, { role: "user", content: results }] };
  },
  responses: ({ output }) => {
    const items = output as JsonObject[];
    const results = items.filter(({ type }) => type === "function_call").map(({ call_id }) => ({
      type: "function_call_output",
      call_id: call_id!,
      output: "mine",
    }));
    return { input: [QUESTION, ...items, ...results] };
  },
};

/** The ids of the calls and of the results in what an upstream is sent, in their order. */
const PAIRED: Record<string, (body: JsonObject) => { calls: unknown[]; results: unknown[] }> = {
  chat: ({ messages }) => {
    const all = messages as { role: string; tool_call_id?: string; tool_calls?: { id: string }[] }[];
    return {
      calls: all.flatMap(({ tool_calls = [] }) => tool_calls.map(({ id }) => id)),
      results: all.filter(({ role }) => role === "tool").map((one) => one.tool_call_id),
    };
  },
  messages: ({ messages }) => {
    const blocks = (messages as { content: JsonObject[] | string }[]).flatMap(({ content }) =>
      typeof content === "string" ? [] : content
    );
    return {
      calls: blocks.filter(({ type }) => type === "tool_use").map(({ id }) => id),
      results: blocks.filter(({ type }) => type === "tool_result").map((one) => one.tool_use_id),
    };
  },
  responses: ({ input }) => {
    const items = input as JsonObject[];
    return {
      calls: items.filter(({ type }) => type === "function_call").map((one) => one.call_id),
      results: items.filter(({ type }) => type === "function_call_output").map((one) => one.call_id),
    };
  },
};

for (const wire of WIRES) {
  for (const client of ["messages", "responses"]) {
    Deno.test(`hosted: calls of both kinds in one turn, in every order, and the next turn: ${client} before ${wire.name}`, async () => {
      for (const order of ORDERS) {
        const { path, body } = ASKS[client]!;
        const rig = newHostedRig({ wire, rounds: [order, ["done"]] });
        const answer = await (await rig.app.post(path, body())).json();
        assertEquals(rig.asked.length, 1, "The client's own calls are the client's");
        const response = await rig.app.post(path, body(NEXT[client]!(answer)));
        assertEquals(response.status, 200, await response.text());
        const { calls, results } = PAIRED[wire.name]!(rig.asked[1]!.body);
        assertEquals(calls.length, order.filter((say) => say.endsWith("}")).length);
        assertEquals(new Set(calls).size, calls.length);
        assertEquals(calls.toSorted(), results.toSorted(), `${order}: each call has one result`);
      }
    });
  }
}

Deno.test("hosted: hits that come back without their numbers have each one of its own, in all turns that follow", async () => {
  const found = (id: string, ...urls: string[]) => ({
    type: "web_search_call",
    id,
    status: "completed",
    action: { type: "search", query: id, sources: urls.map((url) => ({ type: "url", url })) },
  });
  const input = [
    QUESTION,
    found("ws_1", "https://a.test/", "https://b.test/"),
    found("ws_2", "https://c.test/"),
    { role: "assistant", content: "So." },
    { role: "user", content: "And?" },
  ];
  const rig = newHostedRig({ rounds: [[search("d")], ["See [1], [3] and [4]."], ["Yes [4]."]] });
  const { path, body } = ASKS.responses!;
  const answer = await (await rig.app.post(path, body({ input }))).json() as { output: JsonObject[] };
  const urlsOf = ({ output }: { output: JsonObject[] }) =>
    (output.at(-1)!.content as { annotations: { url: string }[] }[])[0]!.annotations.map(({ url }) => url);
  const shown = JSON.stringify(rig.asked[1]!.body.messages);
  for (const line of ["[1] https://a.test/", "[2] https://b.test/", "[3] https://c.test/", "[4] Oslo"]) {
    assertStringIncludes(shown, line);
  }
  assertEquals(urlsOf(answer), ["https://a.test/", "https://c.test/", "https://weather.test/oslo"]);
  const next = [...input, ...answer.output, { role: "user", content: "Sure?" }];
  const again = await (await rig.app.post(path, body({ input: next }))).json() as { output: JsonObject[] };
  assertEquals(urlsOf(again), ["https://weather.test/oslo"]);
});

Deno.test("hosted: what a summary cites is not taken for what is found after it", async () => {
  for (const stream of [false, true]) {
    const rig = newHostedRig({ rounds: [["It rained in Oslo [2]."], [search("more")], ["So [2], [3]."]] });
    const input = [QUESTION, { role: "assistant", content: "Rain. ".repeat(2_000) }, { role: "user", content: "More" }];
    const { path, body } = ASKS.responses!;
    const asked = body({ stream, input, context_management: [{ type: "compaction", compact_threshold: 1_000 }] });
    const text = await (await rig.app.post(path, asked)).text();
    assertStringIncludes(JSON.stringify(rig.asked[2]!.body), "[3] Oslo");
    const cited = new Set([...text.matchAll(/"url_citation","url":"([^"]+)"/g)].map(([, url]) => url));
    assertEquals([...cited], ["https://weather.test/oslo"]);
  }
});

const LISTED = { jsonrpc: "2.0", result: { tools: [{ name: "read", inputSchema: { type: "object" } }] } };
const docs = { type: "mcp", server_label: "docs", require_approval: "never" };
const withDocs = { hostedTools: { mcp: { servers: { docs: { url: "http://docs.test/mcp" } } } } };

async function listing(request: Request): Promise<Response> {
  const { id } = await request.json();
  return Response.json({ ...LISTED, id });
}

Deno.test("hosted: a trigger gives one compaction item, also where servers have not been listed yet", async () => {
  const rig = newHostedRig({ rounds: [["The summary."]], config: withDocs, others: listing });
  const input = [QUESTION, { role: "assistant", content: "Rain." }, { type: "compaction_trigger" }];
  const { path, body } = ASKS.responses!;
  const answer = await (await rig.app.post(path, body({ input, tools: [docs] }))).json() as { output: JsonObject[] };
  assertEquals(answer.output.map(({ type }) => type), ["compaction"]);
});

Deno.test("hosted: a conversation and the input of a response list each step once", async () => {
  const rig = newHostedRig({ rounds: [[search("a")], ["So [1]."], ["Still."]] });
  const { id } = await (await rig.app.post("/oss/v1/conversations", {})).json();
  const { path, body } = ASKS.responses!;
  await (await rig.app.post(path, body({ conversation: id, store: true }))).text();
  const listed = async (place: string) => {
    const { data } = await (await rig.app.get(`${place}?order=asc`)).json() as { data: JsonObject[] };
    return data.map(({ type, status }) => `${type} ${status}`);
  };
  assertEquals(await listed(`/oss/v1/conversations/${id}/items`), [
    "message completed",
    "web_search_call completed",
    "message completed",
  ]);
});

Deno.test("hosted: a call that cannot be read comes as JSON all the same", async () => {
  const rig = newHostedRig({ rounds: [["docs_read{no json}"], ["Sorry."]], config: withDocs, others: listing });
  const { path, body } = ASKS.responses!;
  const answer = await (await rig.app.post(path, body({ tools: [docs] }))).json() as { output: JsonObject[] };
  const call = answer.output.find(({ type }) => type === "mcp_call");
  assertEquals([call?.arguments, call?.status], ["{}", "failed"]);
});

Deno.test("hosted: the client is kept company while servers are asked for their tools", async () => {
  const gate = Promise.withResolvers<void>();
  const rig = newHostedRig({
    rounds: [["Hello."]],
    config: withDocs,
    pace: { headAfterMs: 1, keepAliveMs: 1 },
    others: async (request) => {
      await gate.promise;
      return await listing(request);
    },
  });
  const { path, body } = ASKS.responses!;
  const response = await rig.app.post(path, body({ stream: true, tools: [docs] }));
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  const { value } = await reader.read();
  assert(value?.startsWith(":"), value);
  assertEquals(rig.asked.length, 0);
  gate.resolve();
  let text = "";
  for (let next = await reader.read(); !next.done; next = await reader.read()) text += next.value;
  assertStringIncludes(text, "response.completed");
});

Deno.test("hosted: of the servers that a request names, those that the gateway does not call stay with the upstream", async () => {
  const [, messages] = WIRES;
  const rig = newHostedRig({
    wire: messages,
    rounds: [["Hello."]],
    config: { hostedTools: { mcp: { allow: ["http://docs.test"] } } },
    others: listing,
  });
  const server = (name: string) => ({ type: "url", name, url: `http://${name}.test/mcp` });
  const toolset = (mcp_server_name: string) => ({ type: "mcp_toolset", mcp_server_name });
  const { path, body } = ASKS.messages!;
  const asked = body({ mcp_servers: [server("docs"), server("other")], tools: [toolset("docs"), toolset("other")] });
  await (await rig.app.post(path, asked)).text();
  const { mcp_servers, tools } = rig.asked[0]!.body;
  assertEquals((mcp_servers as JsonObject[]).map(({ name }) => name), ["other"]);
  assertEquals((tools as JsonObject[]).map(({ name, mcp_server_name }) => name ?? mcp_server_name), [
    "docs_read",
    "other",
  ]);
});

Deno.test("hosted: a request names no more servers than can be asked for their tools at once", async () => {
  const rig = newHostedRig({
    rounds: [["Hello."]],
    config: { hostedTools: { mcp: { allow: ["http://docs.test"] } } },
    others: listing,
  });
  const tools = Array.from({ length: 33 }, (_, at) => ({
    ...docs,
    server_label: `docs${at}`,
    server_url: "http://docs.test/mcp",
  }));
  const { path, body } = ASKS.responses!;
  const response = await rig.app.post(path, body({ tools }));
  assertEquals([response.status, (await response.json()).error.param, rig.asked.length], [400, "tools", 0]);
});

Deno.test("hosted: a call that an answer was cut off after runs in the next one, and is one call from then on", async () => {
  const rig = newHostedRig({ rounds: [["So [1]."], ["Yes."]] });
  const { path, body } = ASKS.messages!;
  const cut: JsonObject[] = [
    { type: "text", text: "Let me see." },
    { type: "server_tool_use", id: "srvtoolu_9", name: "web_search", input: { query: "a" } },
  ];
  const resumed = body({ messages: [QUESTION, { role: "assistant", content: cut }] });
  const { content } = await (await rig.app.post(path, resumed)).json() as { content: JsonObject[] };
  assertEquals(rig.searched, ["a"]);
  assertEquals(content.map(({ type }) => type), ["server_tool_use", "web_search_tool_result", "text"]);
  // Clients go on from both answers as one turn.
  const messages = [QUESTION, { role: "assistant", content: [...cut, ...content] }, { role: "user", content: "Sure?" }];
  await (await rig.app.post(path, body({ messages }))).text();
  assertEquals(PAIRED.chat!(rig.asked[1]!.body), { calls: ["srvtoolu_9"], results: ["srvtoolu_9"] });
});

Deno.test("hosted: searches beyond the key's requests fail as the tool's, and the model goes on", async () => {
  const rig = newHostedRig({
    rounds: [[search("a"), search("b"), search("c")], ["So."]],
    config: { keys: [{ name: "team", secret: { env: "TEAM_KEY" }, quota: { requestsPerMinute: 3 } }] },
  });
  const { path, body } = ASKS.messages!;
  const { content } = await (await rig.app.post(path, body(), { "x-api-key": "team-key-a1b2c3" })).json() as {
    content: { type: string; content?: { error_code?: string } }[];
  };
  const results = content.filter(({ type }) => type === "web_search_tool_result");
  assertEquals([rig.searched.length, results.map(({ content }) => content?.error_code ?? "found")], [
    2,
    ["found", "found", "too_many_requests"],
  ]);
});
