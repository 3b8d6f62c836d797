/** Hosted tools from turn to turn: what is numbered, listed, shortened, and asked in every order. */
import { assertEquals, assertStringIncludes } from "@std/assert";
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
  // Each is there under the id that it is listed by, and a step that is deleted is gone as a whole.
  const items = `/oss/v1/conversations/${id}/items`;
  const { data } = await (await rig.app.get(items)).json() as { data: { id: string; type: string }[] };
  for (const { id, type } of data) assertEquals((await (await rig.app.get(`${items}/${id}`)).json()).type, type);
  const step = data.find(({ type }) => type === "web_search_call")!;
  const gone = new Request(`http://gateway${items}/${step.id}`, { method: "DELETE" });
  assertEquals((await rig.app.fetch(gone)).status, 200);
  assertEquals(await listed(items), ["message completed", "message completed"]);
  assertEquals((await rig.app.get(`${items}/${step.id}`)).status, 404);
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
