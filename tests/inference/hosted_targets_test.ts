/** Hosted tools where one target follows another: who is offered them, and what of one target the next one gets. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import type { JsonObject } from "../../src/canonical/json.ts";
import { type Asked, ASKS, newHostedRig } from "../support/hosted_rig.ts";
import { CHAT, RESPONSES, type Wire } from "../support/wires.ts";

const SEARCH = 'web_search{"query":"a"}';

/** A model at two upstreams, with the modes of each. */
function twoUpstreams(wire: Wire, ...modes: (string | undefined)[]): JsonObject {
  const upstream = (name: string, hostedTools?: string) => ({
    driver: wire.name,
    baseUrl: `http://${name}.test/v1`,
    ...(hostedTools && { hostedTools }),
  });
  const names = ["first", "second"];
  const targets = names.map((upstream) => ({ upstream, model: "org/model" }));
  return {
    upstreams: Object.fromEntries(names.map((name, at) => [name, upstream(name, modes[at])])),
    lanes: { oss: { models: { model: { task: "chat", targets } } } },
  };
}

const offeredTo = ({ body }: Asked) => {
  const tools = (body.tools ?? []) as { type: string; name?: string; function?: { name: string } }[];
  const names = tools.map(({ type, name, function: own }) => own?.name ?? name ?? `${type}!`);
  return [...names, ...("web_search_options" in body ? ["web_search_options!"] : [])].sort().join(" ");
};

/** What the second upstream is offered once the first has failed; `!` marks what it is to run itself. */
const SECOND: [
  first: string,
  second: string | undefined,
  client: string,
  wire: Wire,
  offered: string,
  note: boolean,
][] = [
  ["gateway", "gateway", "responses", RESPONSES, "mine web_search", false],
  ["gateway", "upstream", "responses", RESPONSES, "mine web_search", false],
  ["gateway", "off", "responses", RESPONSES, "mine", true],
  ["gateway", "off", "chat", CHAT, "mine", true],
  ["upstream", "upstream", "responses", RESPONSES, "mine web_search!", false],
  ["upstream", "gateway", "responses", RESPONSES, "mine", true],
  ["upstream", "off", "responses", RESPONSES, "mine", true],
  ["upstream", undefined, "responses", RESPONSES, "mine", true],
  ["upstream", "upstream", "chat", CHAT, "mine web_search_options!", false],
  ["upstream", "gateway", "chat", CHAT, "mine", true],
  ["upstream", "off", "chat", CHAT, "mine", true],
  ["off", "off", "responses", RESPONSES, "mine", true],
  ["off", "off", "chat", CHAT, "mine", true],
];

for (const [first, second, client, wire, offered, note] of SECOND) {
  Deno.test(`hosted: after one that has them by "${first}", one of "${second}" is offered ${offered} on ${client}`, async () => {
    const failed = new Response("no", { status: 500 });
    const rig = newHostedRig({ wire, rounds: [failed, ["done"]], config: twoUpstreams(wire, first, second) });
    const response = await rig.app.post(ASKS[client]!.path, ASKS[client]!.body());
    assertEquals(response.status, 200);
    assertEquals(rig.asked.map(({ host }) => host), ["first.test", "second.test"]);
    assertEquals(offeredTo(rig.asked[1]!), offered);
    assertEquals(/dropped (tool )?web_search/.test(response.headers.get("x-laneway-notes") ?? ""), note);
    await response.body?.cancel();
  });
}

Deno.test("hosted: an alias that has them off overrides its upstream", async () => {
  const targets = [{ upstream: "first", model: "org/model" }];
  const config: JsonObject = {
    upstreams: { first: { driver: "chat", baseUrl: "http://first.test/v1", hostedTools: "gateway" } },
    lanes: { oss: { models: { model: { task: "chat", targets, hostedTools: "off" } } } },
  };
  const { app, asked } = newHostedRig({ rounds: [["done"]], config });
  await (await app.post(ASKS.messages!.path, ASKS.messages!.body())).text();
  assertEquals(offeredTo(asked[0]!), "mine");
});

Deno.test("hosted: an upstream that dies in a later round hands over before its first word, and fails the answer after it", async () => {
  for (const stream of [false, true]) {
    const config = twoUpstreams(CHAT);
    const handed = newHostedRig({ rounds: [[SEARCH], new Response("no", { status: 500 }), ["It rains [1]."]], config });
    const text = await (await handed.app.post(ASKS.messages!.path, ASKS.messages!.body({ stream }))).text();
    assertEquals(handed.asked.map(({ host }) => host), ["first.test", "first.test", "second.test"]);
    assertEquals(handed.searched, ["a"]);
    assertStringIncludes(text, '"url":"https://weather.test/oslo"');
    assertStringIncludes(text, '"end_turn"');
  }
});

Deno.test("hosted: what one target has thought in secret goes back to it in the next round, and to no other", async () => {
  const encrypted = (id: string) => ({ type: "reasoning", id: `rs_${id}`, summary: [], encrypted_content: `of ${id}` });
  const call = { type: "function_call", id: "fc_1", call_id: "c1", name: "web_search", arguments: '{"query":"a"}' };
  const words = { type: "message", id: "msg_1", role: "assistant", content: [{ type: "output_text", text: "done" }] };
  const whole = (...output: JsonObject[]) =>
    Response.json({
      object: "response",
      status: "completed",
      model: "m",
      output,
      usage: { input_tokens: 1, output_tokens: 1 },
    });
  const config = twoUpstreams(RESPONSES);
  const body = ASKS.responses!.body();

  const rounds = [whole(encrypted("first"), call), whole(words)];
  const same = newHostedRig({ wire: RESPONSES, rounds, config });
  await (await same.app.post(ASKS.responses!.path, body)).text();
  assertStringIncludes(JSON.stringify(same.asked[1]!.body), "of first");

  const failed = new Response("no", { status: 500 });
  const other = newHostedRig({
    wire: RESPONSES,
    rounds: [whole(encrypted("first"), call), failed, whole(encrypted("second"), words), ["Yes."]],
    config,
  });
  const answer = await (await other.app.post(ASKS.responses!.path, body)).json() as { output: JsonObject[] };
  assertEquals(other.asked[2]!.host, "second.test");
  assertEquals(JSON.stringify(other.asked[2]!.body).includes("of first"), false);
  // The next turn gives each its own.
  const input = [...body.input as JsonObject[], ...answer.output, { role: "user", content: "Sure?" }];
  await (await other.app.post(ASKS.responses!.path, { ...body, input })).text();
  const { host, body: last } = other.asked[3]!;
  const [own, foreign] = host === "first.test" ? ["of first", "of second"] : ["of second", "of first"];
  assertStringIncludes(JSON.stringify(last), own!);
  assertEquals(JSON.stringify(last).includes(foreign!), false);
});

Deno.test("hosted: what is relayed as it is cannot search, and says so before anybody is asked", async () => {
  const rig = newHostedRig({ rounds: [["made up"]] });
  const response = await rig.app.post(ASKS.chat!.path, ASKS.chat!.body({ n: 2 }));
  const { error } = await response.json();
  assertEquals([response.status, error.param, rig.asked.length], [400, "n", 0]);
  const tools = [{ type: "function", function: { name: "mine", parameters: { type: "object" } } }];
  const plain = newHostedRig({ rounds: [["Hello"]] });
  const body = ASKS.chat!.body({ n: 2, tools });
  delete body.web_search_options;
  assertEquals((await plain.app.post(ASKS.chat!.path, body)).status, 200);
});

Deno.test("hosted: pages are offered only where there is a fetcher", async () => {
  for (const webFetch of [undefined, { url: "http://fetcher.test" }]) {
    const hostedTools = {
      webSearch: { backend: "searxng", baseUrl: "http://search.test" },
      ...(webFetch && { webFetch }),
    };
    const rig = newHostedRig({ rounds: [["Hello"]], config: { hostedTools } });
    await (await rig.app.post(ASKS.responses!.path, ASKS.responses!.body())).text();
    assertEquals(offeredTo(rig.asked[0]!).includes("web_search_open_page"), webFetch !== undefined);
  }
});

Deno.test("hosted: a model that calls without end is held to the limit, whatever the request says", async () => {
  const many = Array.from({ length: 500 }, (_, at) => `web_search{"query":"q${at}"}`);
  for (const [more, most] of [[{}, 5], [{ max_tool_calls: 3 }, 3], [{ max_tool_calls: 400 }, 5]] as const) {
    const hostedTools = { webSearch: { backend: "searxng", baseUrl: "http://search.test" }, calls: 5 };
    const rig = newHostedRig({ rounds: [many, ["done"]], config: { hostedTools } });
    const answer = await (await rig.app.post(ASKS.responses!.path, ASKS.responses!.body(more))).json();
    assertEquals(rig.searched.length, most);
    const types = (answer.output as JsonObject[]).map(({ type }) => type);
    assertEquals(types.filter((type) => type === "web_search_call").length, most);
    assert(!offeredTo(rig.asked[1]!).includes("web_search"), "It is asked for its answer without them");
  }
});
