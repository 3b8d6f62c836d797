/** What a request gives the gateway for a remote server goes to that server alone, and a call runs only as its client wants it. */
import { assertEquals, assertStringIncludes } from "@std/assert";
import type { JsonObject, JsonValue } from "../../src/canonical/json.ts";
import { type ConfigInput, newApp } from "../support/app.ts";

const TOKEN = "callers-own-token-7f6e";
const SECRET_HEADER = "callers-own-header-1c2d";
const WRITE = { name: "docs_write", arguments: "{}" };

/** A model that makes these calls first and then says "done", on a chat or messages server, and a remote server with two tools. */
function newRig({ calls = [], driver = "chat" }: { calls?: JsonObject[]; driver?: "chat" | "messages" } = {}) {
  const asked: JsonObject[] = [];
  const sent: { method: string; headers: Headers }[] = [];
  const app = newApp({
    config: {
      upstreams: { fake: { driver, baseUrl: "http://upstream.test/v1" } },
      lanes: { oss: { models: { model: { task: "chat", targets: [{ upstream: "fake", model: "org/model" }] } } } },
      hostedTools: { mcp: { allow: ["http://docs.test"] } },
    } satisfies ConfigInput,
    async fetch(input, init) {
      const request = new Request(input, init);
      const body = await request.json();
      if (new URL(request.url).hostname === "docs.test") {
        sent.push({ method: body.method, headers: request.headers });
        const tools = ["read", "write"].map((name) => ({ name, inputSchema: { type: "object" } }));
        const result = body.method === "tools/list" ? { tools } : { content: [{ type: "text", text: "it ran" }] };
        return Response.json({ jsonrpc: "2.0", id: body.id, result });
      }
      asked.push(body);
      const tool_calls = asked.length === 1 ? calls.map((call) => ({ id: "c", type: "function", function: call })) : [];
      const message = { role: "assistant", content: "done", ...(tool_calls.length > 0 && { tool_calls }) };
      const usage = { prompt_tokens: 1, completion_tokens: 1 };
      return Response.json({ id: "x", model: "m", choices: [{ index: 0, message, finish_reason: "stop" }], usage });
    },
  });
  const post = async (path: string, body: JsonObject, headers: Record<string, string> = {}) => {
    const request = new Request(`http://127.0.0.1/oss/v1/${path}`, {
      method: "POST",
      headers: { "content-type": "application/json", "anthropic-version": "2023-06-01", ...headers },
      body: JSON.stringify({ model: "model", ...body }),
    });
    return (await app.fetch(request)).text();
  };
  return { asked, sent, post, calls: () => sent.filter(({ method }) => method === "tools/call").length };
}

const docs = (more: JsonObject = {}): JsonObject => ({
  type: "mcp",
  server_label: "docs",
  server_url: "http://docs.test/mcp",
  authorization: TOKEN,
  require_approval: "never",
  ...more,
});

Deno.test("mcp: a request's headers change nothing of where its call goes and what the protocol says", async () => {
  const { post, sent } = newRig();
  const headers = {
    Host: "inner.test",
    "Content-Length": "3",
    "Content-Type": "text/plain",
    "Transfer-Encoding": "chunked",
    Cookie: "a=b",
    "Mcp-Session-Id": "stolen",
    "Mcp-Method": "tools/call",
    "X-Forwarded-For": "127.0.0.1",
    "not a name": "x",
    "X-Line": "a\r\nHost: inner.test",
    "X-Own": "mine",
  };
  await post("responses", { input: "x", tools: [docs({ headers })] });
  const got = sent[0]!.headers;
  const names = [
    "host",
    "content-length",
    "transfer-encoding",
    "cookie",
    "mcp-session-id",
    "x-forwarded-for",
    "x-line",
  ];
  assertEquals(names.filter((name) => got.has(name)), []);
  assertEquals(
    ["x-own", "mcp-method", "content-type", "authorization"].map((name) => got.get(name)),
    ["mine", "tools/list", "application/json", `Bearer ${TOKEN}`],
  );
});

Deno.test("mcp: an explanation shows the functions that the model gets, and no credential", async () => {
  const { post } = newRig();
  const text = await post("responses", { input: "x", tools: [docs({ headers: { "x-key": SECRET_HEADER } })] }, {
    "x-laneway-explain": "true",
    "x-laneway-strict": "true",
  });
  assertStringIncludes(text, "docs_write");
  assertEquals([text.includes(TOKEN), text.includes(SECRET_HEADER)], [false, false]);
  const passedOn = newRig({ driver: "messages" });
  const server = { type: "url", name: "docs", url: "http://not-allowed.test/mcp", authorization_token: TOKEN };
  const explained = await passedOn.post("messages", {
    max_tokens: 9,
    messages: [{ role: "user", content: "x" }],
    mcp_servers: [server],
    tools: [{ type: "mcp_toolset", mcp_server_name: "docs" }],
  }, { "x-laneway-explain": "true" });
  assertStringIncludes(explained, "not-allowed.test");
  assertEquals(explained.includes(TOKEN), false);
});

Deno.test("mcp: the credential of a server that the gateway asks goes to no upstream, also of the client's own wire", async () => {
  const { post, asked, sent } = newRig({ driver: "messages" });
  await post("messages", {
    max_tokens: 9,
    messages: [{ role: "user", content: "x" }],
    mcp_servers: [{ type: "url", name: "docs", url: "http://docs.test/mcp", authorization_token: TOKEN }],
    tools: [{ type: "mcp_toolset", mcp_server_name: "docs" }],
  });
  assertEquals([asked.length, sent.length, JSON.stringify(asked).includes(TOKEN)], [1, 1, false]);
});

Deno.test("mcp: a list of tools is nothing that the model is shown, and the user has the last word", async () => {
  const { post, asked } = newRig();
  await post("responses", { input: "x", tools: [docs()] });
  assertEquals(asked[0]!.messages as JsonValue, [{ role: "user", content: "x" }]);
});

Deno.test("mcp: a list that failed is asked for again in the next turn, also where the client brings it back", async () => {
  const { post, sent, asked } = newRig();
  const failed = { type: "mcp_list_tools", id: "mcpl_1", server_label: "docs", tools: [], error: "unavailable" };
  await post("responses", { input: [failed, { role: "user", content: "x" }], tools: [docs()], store: false });
  assertEquals([sent.length, (asked[0]!.tools as JsonValue[]).length], [1, 2]);
});

for (const approve of [true, false]) {
  Deno.test(`mcp: a call that was ${approve ? "approved" : "declined"} is settled once, where the client settled it`, async () => {
    const { post, asked, calls } = newRig({ calls: [WRITE] });
    const tools = [docs({ require_approval: "always" })];
    const { output } = JSON.parse(await post("responses", { input: "Write", tools })) as { output: JsonObject[] };
    const { id } = output.find(({ type }) => type === "mcp_approval_request")!;
    const answer = { type: "mcp_approval_response", approval_request_id: id, approve };
    // A client that keeps what the model said, and not the call that ran.
    const history = [{ role: "user", content: "Write" }, ...output, answer, { role: "assistant", content: "So." }];
    await post("responses", { input: [...history, { role: "user", content: "And?" }] as JsonValue, tools });
    assertEquals(calls(), 0, "what was answered since does not run again");
    const messages = asked.at(-1)!.messages as JsonObject[];
    assertEquals(messages.at(-1), { role: "user", content: "And?" });
    assertEquals(JSON.stringify(messages).includes("declined this call"), !approve);
    assertEquals(JSON.stringify(messages).includes("mcp_approval_response"), false);
  });
}

Deno.test("mcp: a choice that forces a server, or one tool of it, is no choice of another server's", async () => {
  const tools = [docs({ server_label: "other", server_url: "http://docs.test/other" }), docs()];
  const chosen = async (tool_choice: JsonObject) => {
    const { post, asked } = newRig();
    await post("responses", { input: "x", tools, tool_choice: { type: "mcp", server_label: "docs", ...tool_choice } });
    const { tool_choice: choice, tools: offered } = asked[0]!;
    return [choice, (offered as { function: JsonObject }[]).map((tool) => tool.function.name)] as JsonValue;
  };
  assertEquals(
    (await chosen({ name: "write" }) as JsonValue[])[0]!,
    { type: "function", function: { name: "docs_write" } },
  );
  assertEquals(await chosen({}), ["required", ["docs_read", "docs_write"]]);
});
