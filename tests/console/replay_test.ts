/** A recorded request sent again, as the operator's own. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { CONFIG, type ConfigInput, ENV, newApp, type TestApp } from "../support/app.ts";
import { answerWhole } from "../support/chat.ts";

const RECORDED: ConfigInput = {
  ...CONFIG,
  console: { record: {} },
  keys: [
    { name: "ops", secret: { env: "TEAM_KEY" }, operator: true, models: ["model"] },
    { name: "anna", secret: { env: "GUEST_KEY" } },
  ],
};
const OPS = { "x-api-key": ENV.TEAM_KEY! };
const ANNA = { "x-api-key": ENV.GUEST_KEY! };
const BODY = {
  model: "model",
  max_tokens: 100,
  system: "Be short",
  messages: [
    { role: "user", content: "Weather?" },
    { role: "assistant", content: [{ type: "tool_use", id: "toolu_1", name: "look", input: { city: "Ulm" } }] },
    { role: "user", content: [{ type: "tool_result", tool_use_id: "toolu_1", content: "rain" }] },
  ],
  tools: [{ name: "look", input_schema: { type: "object" } }],
};

async function recorded(body: object = BODY): Promise<{ app: TestApp; id: string }> {
  const app = newApp({ config: RECORDED, fetch: () => Promise.resolve(answerWhole()) });
  await (await app.post("/oss/v1/messages?beta=true", body, { ...ANNA, "x-feature": "on" })).text();
  const { data: [{ id }] } = await (await app.get("/console/api/records", OPS)).json();
  return { app, id };
}

// deno-lint-ignore no-explicit-any -- what a page gets is looked into here and there
async function again(app: TestApp, id: string, wire = ""): Promise<any> {
  const query = wire && `&wire=${wire}`;
  return await (await app.get(`/console/api/record/request?id=${id}${query}`, OPS)).json();
}

Deno.test("replay: the request as it was, but for who asks and what was secret", async () => {
  const mcp = { type: "mcp", name: "s", url: "http://mcp.test", authorization_token: "tools-own-secret" };
  const number = '"seed":12345678901234567890';
  const { app, id } = await recorded({ ...BODY, mcp_servers: [mcp] });
  const { lane, path, text, headers, notes } = await again(app, id);
  assertEquals([lane, path, notes], ["oss", "v1/messages?beta=true", []]);
  assertEquals(JSON.parse(text), { ...BODY, mcp_servers: [{ ...mcp, authorization_token: "***" }] });
  assertEquals(headers.find(([name]: string[]) => name === "x-feature"), ["x-feature", "on"]);
  assert(!JSON.stringify(headers).includes("key"), "Whoever asks again shows a key of its own");
  const exact = `{"model":"model","messages":[{"role":"user","content":"Hi"}],${number}}`;
  await (await app.post("/oss/v1/chat/completions", exact, ANNA)).text();
  const { data: [{ id: latest }] } = await (await app.get("/console/api/records", OPS)).json();
  assertEquals((await again(app, latest)).text, exact, "No number is rounded");
});

Deno.test("replay: the request on every other wire, with what cannot be said there", async () => {
  const { app, id } = await recorded({ ...BODY, container: "c_1" });
  const { wires } = await again(app, id);
  assertEquals(wires.slice(0, 3).toSorted(), ["chat", "messages", "responses"]);
  for (const wire of ["chat", "responses"]) {
    const { lane, path, text, headers } = await again(app, id, wire);
    const sent = await app.post(`/console/call/${lane}/${path}`, text, { ...OPS, ...Object.fromEntries(headers) });
    assertEquals(sent.status, 200, `${wire}: ${await sent.clone().text()}`);
    await sent.text();
    const { data: [first] } = await (await app.get("/console/api/records", OPS)).json();
    assertEquals([first.key, first.lane, first.path], ["ops", "oss", `/oss/${path}`]);
    const { input } = await (await app.get(`/console/api/record/understood?id=${first.id}`, OPS)).json();
    assertEquals(
      // deno-lint-ignore no-explicit-any -- the canonical form, looked into
      input.messages.map(({ role, content }: any) => [role, content[0].type]),
      [["system", "text"], ["user", "text"], ["assistant", "tool-call"], ["tool", "tool-result"]],
      wire,
    );
    assertEquals([input.maxOutputTokens, input.tools[0].name], [100, "look"]);
  }
  const refused = await app.get(`/console/api/record/request?id=${id}&wire=nothing`, OPS);
  assertEquals(refused.status, 400);
  assertStringIncludes(await refused.text(), 'cannot be expressed in the wire \\"nothing\\"');
});

Deno.test("replay: it is the operator's own request, by its key's limits", async () => {
  const { app, id } = await recorded({ ...BODY, model: "sandbox" });
  const { lane, path, text } = await again(app, id);
  const sent = await app.post(`/console/call/${lane}/${path}`, text, OPS);
  assertEquals(sent.status, 403, "The operator's key may not ask for the model that anna asked for");
  await sent.text();
  const foreign = { ...OPS, origin: "http://evil.test" };
  assertEquals((await app.post(`/console/call/${lane}/${path}`, text, foreign)).status, 403);
  assertEquals((await app.get(`/console/api/record/request?id=${id}`, ANNA)).status, 403);
});

Deno.test("replay: turns that the gateway has stored are missed on another wire, and a cut request cannot go again", async () => {
  const app = newApp({
    config: { ...RECORDED, console: { record: { megabytes: 1 } } },
    fetch: () => Promise.resolve(answerWhole()),
  });
  const first = await (await app.post("/oss/v1/responses", { model: "model", input: "Hi" }, ANNA)).json();
  await (await app.post("/oss/v1/responses", { model: "model", input: "On", previous_response_id: first.id }, ANNA))
    .text();
  const { data: [{ id }] } = await (await app.get("/console/api/records", OPS)).json();
  assertEquals((await again(app, id, "chat")).notes, ["dropped the turns that the gateway has stored"]);
  const long = { ...BODY, system: "x".repeat(200_000) };
  await (await app.post("/oss/v1/messages", long, ANNA)).text();
  const { data: [cut] } = await (await app.get("/console/api/records", OPS)).json();
  const refused = await app.get(`/console/api/record/request?id=${cut.id}`, OPS);
  assertEquals(refused.status, 400);
  assertStringIncludes(await refused.text(), "The body was not kept in full");
});
