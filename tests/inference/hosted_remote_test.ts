/** Servers of the Model Context Protocol whose tools the gateway calls, as clients of each wire see them. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import Anthropic from "anthropic-sdk";
import { createMcpHandler, McpServer } from "mcp-server";
import OpenAI from "openai";
import { z } from "zod";
import type { JsonObject } from "../../src/canonical/json.ts";
import { type ConfigInput, newApp } from "../support/app.ts";

const TOKEN = "callers-own-token-7f6e";

/** The vendor's own server, with a tool that reads and one that writes; `sent` are the headers of each call. */
function newServer() {
  const sent: Headers[] = [];
  const ran: string[] = [];
  const handler = createMcpHandler(() => {
    const server = new McpServer({ name: "docs", version: "1.0.0" });
    const tool = (name: string, readOnlyHint: boolean) =>
      server.registerTool(
        name,
        { description: `Can ${name}`, inputSchema: z.object({ page: z.string() }), annotations: { readOnlyHint } },
        ({ page }) => {
          ran.push(`${name} ${page}`);
          return { content: [{ type: "text", text: `the page ${page}` }] };
        },
      );
    tool("read", true);
    tool("write", false);
    return server;
  }, { responseMode: "sse", legacy: "reject" });
  return { sent, ran, serve: (request: Request) => (sent.push(request.headers), handler.fetch(request)) };
}

type Says = string | { name: string; input: string };

interface RigOptions {
  allow?: string[];
  hostedTools?: ConfigInput["hostedTools"];
  serve?(request: Request): Response | Promise<Response>;
}

function newRig(rounds: Says[][], { allow = ["http://docs.test"], hostedTools, serve }: RigOptions = {}) {
  const server = newServer();
  const asked: JsonObject[] = [];
  const app = newApp({
    config: {
      upstreams: { fake: { driver: "chat", baseUrl: "http://upstream.test/v1" } },
      lanes: { oss: { models: { model: { task: "chat", targets: [{ upstream: "fake", model: "org/model" }] } } } },
      hostedTools: hostedTools ?? {
        mcp: { allow, servers: { house: { url: "http://house.test/mcp", secret: { env: "HOUSE_TOKEN" } } } },
      },
    } satisfies ConfigInput,
    env: { HOUSE_TOKEN: "house-token-1a2b3c" },
    async fetch(input, init) {
      const request = new Request(input, init);
      const { hostname } = new URL(request.url);
      if (hostname !== "upstream.test") return await (serve ?? server.serve)(request);
      asked.push(await request.json());
      const says = rounds[asked.length - 1] ?? ["too often"];
      const calls = says.flatMap((say, index) =>
        typeof say === "string"
          ? []
          : [{ id: `c${index}`, type: "function", function: { name: say.name, arguments: say.input } }]
      );
      const content = says.filter((say) => typeof say === "string").join("");
      const message = { role: "assistant", content, ...(calls.length > 0 && { tool_calls: calls }) };
      const finish_reason = calls.length > 0 ? "tool_calls" : "stop";
      const usage = { prompt_tokens: 10, completion_tokens: 2 };
      return Response.json({ id: "x", model: "m", choices: [{ index: 0, message, finish_reason }], usage });
    },
  });
  const fetch = (url: string | URL | Request, init?: RequestInit) => app.fetch(new Request(url, init));
  const openai = new OpenAI({ apiKey: "k", baseURL: "http://127.0.0.1/oss/v1", maxRetries: 0, fetch });
  const anthropic = new Anthropic({ apiKey: "k", baseURL: "http://127.0.0.1/oss", maxRetries: 0, fetch });
  return { app, asked, server, openai, anthropic };
}

const docs = (more: object = {}) => ({
  type: "mcp" as const,
  server_label: "docs",
  server_url: "http://docs.test/mcp",
  authorization: TOKEN,
  require_approval: "never" as const,
  ...more,
});
const READ: Says = { name: "docs_read", input: '{"page":"one"}' };
const WRITE: Says = { name: "docs_write", input: '{"page":"two"}' };
const typesOf = (output: readonly { type: string }[]) => output.map(({ type }) => type);

Deno.test("mcp: a server that a request names is asked for its tools, and its tool runs, with the caller's token for it alone", async () => {
  const { openai, asked, server } = newRig([[READ], ["Done."]]);
  const response = await openai.responses.create({ model: "model", input: "Read it", tools: [docs()] });
  assertEquals(typesOf(response.output), ["mcp_list_tools", "mcp_call", "message"]);
  const [list, call] = response.output as [
    OpenAI.Responses.ResponseOutputItem.McpListTools,
    OpenAI.Responses.ResponseOutputItem.McpCall,
  ];
  assertEquals(list.tools.map(({ name }) => name), ["read", "write"]);
  assertEquals([call.name, call.arguments, call.output, call.error], ["read", '{"page":"one"}', "the page one", null]);
  assertEquals(new Set(server.sent.map((headers) => headers.get("authorization"))), new Set([`Bearer ${TOKEN}`]));
  const names = (asked[0]!.tools as { function: { name: string } }[]).map((tool) => tool.function.name);
  assertEquals(names, ["docs_read", "docs_write"]);
  assertEquals(JSON.stringify(asked).includes(TOKEN), false, "no upstream gets the token");
  assertEquals(JSON.stringify(response).includes(TOKEN), false, "nor does it come back");
});

Deno.test("mcp: the token is not in what is stored", async () => {
  const { openai } = newRig([[READ], ["Done."], ["Again."]]);
  const first = await openai.responses.create({ model: "model", input: "Read it", tools: [docs()] });
  assertEquals(JSON.stringify(await openai.responses.retrieve(first.id)).includes(TOKEN), false);
});

Deno.test("mcp: a list that the conversation has is not asked for again", async () => {
  const { openai, server } = newRig([["Hello."], [READ], ["Done."]]);
  const first = await openai.responses.create({ model: "model", input: "Hi", tools: [docs()] });
  const before = server.sent.filter((headers) => headers.get("mcp-method") === "tools/list").length;
  const second = await openai.responses.create({
    model: "model",
    input: "Read it",
    tools: [docs()],
    previous_response_id: first.id,
  });
  assertEquals(typesOf(second.output), ["mcp_call", "message"]);
  assertEquals(server.sent.filter((headers) => headers.get("mcp-method") === "tools/list").length, before);
});

Deno.test("mcp: a call waits for the client, runs once it is approved, and is told of where it is not", async () => {
  for (const approve of [true, false]) {
    const { openai, asked, server } = newRig([[WRITE], ["So be it."]]);
    const tools = [docs({ require_approval: { never: { tool_names: ["read"] } } })];
    const first = await openai.responses.create({ model: "model", input: "Write it", tools });
    assertEquals(typesOf(first.output), ["mcp_list_tools", "mcp_approval_request"]);
    assertEquals(server.ran, []);
    const request = first.output[1] as OpenAI.Responses.ResponseOutputItem.McpApprovalRequest;
    assertEquals([request.name, request.arguments], ["write", '{"page":"two"}']);
    const answer = {
      type: "mcp_approval_response" as const,
      approval_request_id: request.id,
      approve,
      reason: "because",
    };
    const second = await openai.responses.create({
      model: "model",
      input: [answer],
      tools,
      previous_response_id: first.id,
    });
    assertEquals(typesOf(second.output), approve ? ["mcp_call", "message"] : ["message"]);
    assertEquals(server.ran, approve ? ["write two"] : []);
    if (approve) assertEquals((second.output[0] as { approval_request_id?: string }).approval_request_id, request.id);
    const last = JSON.stringify(asked.at(-1)!.messages);
    assertStringIncludes(last, approve ? "the page two" : "declined this call: because");
    assertEquals(last.includes("mcp_approval_response"), false);
  }
});

Deno.test("mcp: on messages a server's calls run at once, and only the tools that its tool set enables are offered", async () => {
  const { anthropic, asked, server } = newRig([[READ], ["Done."]]);
  const message = await anthropic.beta.messages.create({
    model: "model",
    max_tokens: 100,
    messages: [{ role: "user", content: "Read it" }],
    mcp_servers: [{ type: "url", name: "docs", url: "http://docs.test/mcp", authorization_token: TOKEN }],
    tools: [{
      type: "mcp_toolset",
      mcp_server_name: "docs",
      default_config: { enabled: false },
      configs: { read: { enabled: true } },
    }],
  });
  assertEquals(typesOf(message.content), ["mcp_tool_use", "mcp_tool_result", "text"]);
  const names = (asked[0]!.tools as { function: { name: string } }[]).map((tool) => tool.function.name);
  assertEquals([names, server.ran], [["docs_read"], ["read one"]]);
  assertEquals(JSON.stringify(asked).includes(TOKEN), false);
});

Deno.test("mcp: a server of the configuration has the configuration's secret, and nothing of the request's", async () => {
  const { openai, server } = newRig([[{ name: "house_read", input: '{"page":"one"}' }], ["Done."]]);
  const tools = [{
    type: "mcp" as const,
    server_label: "house",
    authorization: TOKEN,
    require_approval: "never" as const,
  }];
  const response = await openai.responses.create({
    model: "model",
    input: "Read it",
    tools: tools as OpenAI.Responses.Tool[],
  });
  assertEquals(typesOf(response.output), ["mcp_list_tools", "mcp_call", "message"]);
  assertEquals(
    new Set(server.sent.map((headers) => headers.get("authorization"))),
    new Set(["Bearer house-token-1a2b3c"]),
  );
});

Deno.test("mcp: a server that the configuration does not allow is never asked", async () => {
  const { openai, server } = newRig([["made up"]], { allow: ["http://other.test"] });
  const response = await openai.responses.create({ model: "model", input: "Read it", tools: [docs()] });
  assertEquals(typesOf(response.output), ["mcp_list_tools"]);
  assert((response.output[0] as { error?: unknown }).error);
  assertEquals(server.sent.length, 0);
});

Deno.test("mcp: a tool of a configured server can be what searches the web", async () => {
  const pages = { results: [{ url: "https://a.test/", title: "A", snippet: "so it is" }, { url: "javascript:1" }] };
  const handler = createMcpHandler(() => {
    const server = new McpServer({ name: "search", version: "1.0.0" });
    server.registerTool("find", { inputSchema: z.object({ query: z.string() }) }, ({ query }) => ({
      content: [{ type: "text", text: query === "weather" ? JSON.stringify(pages) : "nothing" }],
    }));
    return server;
  }, { legacy: "reject" });
  const { openai } = newRig([[{ name: "web_search", input: '{"query":"weather"}' }], ["So [1]."]], {
    hostedTools: {
      webSearch: { backend: "mcp", server: "search", tool: "find" },
      mcp: { servers: { search: { url: "http://search.test/mcp" } } },
    },
    serve: (request) => handler.fetch(request),
  });
  const response = await openai.responses.create({
    model: "model",
    input: "Weather?",
    tools: [{ type: "web_search" }],
    include: ["web_search_call.action.sources"],
  });
  assertStringIncludes(JSON.stringify(response.output[0]), "https://a.test/");
});
