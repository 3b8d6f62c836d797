/** The other ways out of a gateway that redacts: hosted tools, and records for the console. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import type { OutputPart } from "../../src/canonical/generate.ts";
import type { JsonObject } from "../../src/canonical/json.ts";
import type { TestApp } from "../support/app.ts";
import {
  type Answering,
  assertReceivedClean,
  assertRecordsClean,
  DOORS,
  EMAIL,
  HELD,
  newRedactionRig,
  PASSWORD,
  RECORD,
  SAID,
} from "../support/redaction_rig.ts";
import { WIRES } from "../support/wires.ts";

const { chat, responses } = DOORS;
/** What only a page tells. */
const TOKEN = "t0k3n-0f-a-page";

const HOSTED = {
  ...RECORD,
  hostedTools: {
    webSearch: { backend: "searxng", baseUrl: "http://search.test" },
    mcp: { servers: { docs: { url: "http://docs.test/mcp" } }, allow: ["http://named.test"] },
  },
};

const server = (server_label: string) => ({ type: "mcp", server_label, require_approval: "never" });
const TOOLS = [server("docs"), { ...server("other"), server_url: "http://named.test/mcp" }, { type: "web_search" }];

const call = (name: string, input: JsonObject): OutputPart => (
  { type: "tool-call", kind: "function", id: `call_${name}`, name, input: JSON.stringify(input) }
);

/** A model that gives all that it knows to each tool in turn, and a search and servers that tell it more. */
function telling(): Answering {
  let rounds = 0;
  return ({ host, body, text }) => {
    if (host === "search.test") {
      return Response.json({
        results: [{ url: "https://p.test/", title: "A page", content: `token=${TOKEN} ${EMAIL}` }],
      });
    }
    if (host !== "upstream.test") return Response.json(remoteAnswer(body));
    const q = [...new Set(text.match(HELD))].join(" ");
    const calls = [[call("web_search", { query: q })], [call("docs_read", { q }), call("other_read", { q })]];
    return calls[rounds++] ?? [{ type: "text", text: q }];
  };
}

function remoteAnswer({ id, method }: JsonObject): JsonObject {
  const tools = [{ name: "read", description: `for ${EMAIL}`, inputSchema: { type: "object" } }];
  const content = [{ type: "text", text: `The password is ${PASSWORD}` }];
  return { jsonrpc: "2.0", id: id!, result: method === "tools/list" ? { tools } : { content } };
}

for (const wire of WIRES) {
  Deno.test(`redaction: hosted tools of ${wire.name} upstreams see placeholders, and clients originals`, async () => {
    for (const stream of [false, true]) {
      const { app, received } = newRedactionRig({ wire, answers: telling(), config: HOSTED });
      const response = await app.post(responses!.path(stream), responses!.body(SAID, stream, { tools: TOOLS }));
      const text = await response.text();
      assert(!text.includes("redacted-"), text);
      for (const original of [EMAIL, PASSWORD, TOKEN]) assertStringIncludes(text, original);
      assertReceivedClean(received);
      const others = received.filter(({ path, text }) => /q=|tools\/call/.test(path + text));
      assertEquals(others.map(({ host }) => host).sort(), ["docs.test", "named.test", "search.test"]);
      for (const { path, text } of others) assert(!(path + text).includes(TOKEN), text);
      assertEquals(await assertRecordsClean(app), 1);
    }
  });
}

Deno.test("redaction: services that the configuration names receive originals, no server that a request names", async () => {
  const config = { ...HOSTED, hostedTools: { ...HOSTED.hostedTools } };
  const restoreFor = ["docs", "searxng", "other", "named.test", "web-search"];
  const { app, received } = newRedactionRig({ answers: telling(), config, redact: { restoreFor } });
  await (await app.post(responses!.path(false), responses!.body(SAID, false, { tools: TOOLS }))).text();
  const receivesOriginals = ({ host }: { host: string }) => host === "docs.test" || host === "search.test";
  assertReceivedClean(received.filter((one) => !receivesOriginals(one)));
  for (
    const { path, text } of received.filter(receivesOriginals).filter(({ path, text }) =>
      /q=|tools\/call/.test(path + text)
    )
  ) {
    for (const original of [EMAIL, PASSWORD]) assertStringIncludes(decodeURIComponent(path) + text, original);
  }
  // The page has told the token by then.
  assertStringIncludes(received.findLast(({ host }) => host === "docs.test")!.text, TOKEN);
  await assertRecordsClean(app);
});

/** Names all that was redacted, without what shows it to be a secret. */
const naming: Answering = ({ text }) => [{ type: "text", text: text.match(HELD)!.join(" and ") }];

// deno-lint-ignore no-explicit-any -- a record is looked into here and there
async function latest(app: TestApp): Promise<any> {
  const list = await (await app.get("/console/api/records")).json();
  return await (await app.get(`/console/api/record?id=${list.data[0].id}`)).json();
}

Deno.test("redaction: a record has placeholders wherever a secret stands alone, the same on both sides", async () => {
  const { app } = newRedactionRig({ answers: naming, config: RECORD });
  const text = await (await app.post(chat!.path(false), chat!.body(SAID, false))).text();
  assertStringIncludes(text, `${EMAIL} and ${PASSWORD}`);
  const { client, calls: [call], answer } = await latest(app);
  const held = client.body.text.match(HELD);
  assertEquals(held.length, 2);
  for (const { text } of [call.body, call.answer, answer.body]) assertEquals(text.match(HELD), held);
  await assertRecordsClean(app);
});

Deno.test("redaction: a streamed answer is not recorded, what led to it is", async () => {
  const { app } = newRedactionRig({ answers: naming, config: RECORD });
  await (await app.post(chat!.path(true), chat!.body(SAID, true))).text();
  const { client, answer, calls: [call] } = await latest(app);
  assertEquals([client.body.text.match(HELD).length, call.body.text.match(HELD).length], [2, 2]);
  assertStringIncludes(answer.body.text, "notKept");
});

Deno.test("redaction: turns over a WebSocket, and what is recorded of them", async () => {
  const { app, received } = newRedactionRig({ config: RECORD });
  const gateway = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    (request, info) => app.fetch(request, info),
  );
  const socket = new WebSocket(`ws://127.0.0.1:${gateway.addr.port}/oss/v1/responses`);
  await new Promise((resolve) => socket.onopen = resolve);
  const turn = async (body: JsonObject) => {
    const { promise, resolve } = Promise.withResolvers<{ text: string; id?: string }>();
    let text = "";
    socket.onmessage = ({ data }) => {
      const event = JSON.parse(data);
      if (event.type === "response.output_text.delta") text += event.delta;
      if (event.type === "response.completed") resolve({ text, id: event.response.id });
      if (event.type === "error") resolve({ text: event.error.message });
    };
    socket.send(JSON.stringify({ type: "response.create", model: "model", ...body }));
    return await promise;
  };
  const { text, id } = await turn({ input: SAID });
  assertEquals(text, `You said: ${SAID}!`);
  const asked = `Is ${PASSWORD} good?`;
  assertEquals((await turn({ input: asked, previous_response_id: id! })).text, `You said: ${asked}!`);
  const image = { type: "input_image", image_url: `http://images.test/${EMAIL}` };
  const refused = await turn({ input: [{ role: "user", content: [image] }] });
  assertStringIncludes(refused.text, '"unreadable": ["image"]');
  assertEquals([await assertRecordsClean(app), received.length], [3, 2]);
  assertReceivedClean(received);
  socket.close();
  app.abort();
  await app.settled();
  await gateway.shutdown();
});
