import { assertEquals, assertStringIncludes } from "@std/assert";
import Anthropic from "anthropic-sdk";
import OpenAI from "openai";
import { newApp } from "../support/app.ts";

const app = newApp();
const fetch = (url: string | URL | Request, init?: RequestInit) => app.fetch(new Request(url, init));
const anthropic = new Anthropic({ apiKey: "k", baseURL: "http://127.0.0.1/oss", maxRetries: 0, fetch });
const openai = new OpenAI({ apiKey: "k", baseURL: "http://127.0.0.1/oss/v1", maxRetries: 0, fetch });

Deno.test("sandbox: a searched and cited answer needs no network", async () => {
  const message = await anthropic.messages.create({
    model: "sandbox",
    max_tokens: 500,
    messages: [{ role: "user", content: "What is a lane?" }],
    tools: [{ type: "web_search_20250305", name: "web_search" }],
  });
  assertEquals(message.content.map(({ type }) => type), ["server_tool_use", "web_search_tool_result", "text"]);
  const text = message.content.at(-1) as Anthropic.TextBlock;
  assertStringIncludes(text.text, "Lanes: A lane is a path prefix");
  assertEquals(text.citations?.map((one) => "url" in one && one.url)[0], "https://sandbox.invalid/lanes");
  assertEquals(message.usage.server_tool_use?.web_search_requests, 1);
});

Deno.test("sandbox: a search is used beside other tools where the user asks for one", async () => {
  const ask = async (input: string) => {
    const tools = [{ type: "web_search" as const }, {
      type: "function" as const,
      name: "ls",
      parameters: {},
      strict: false,
    }];
    const { output } = await openai.responses.create({ model: "sandbox", input, tools });
    return output.map(({ type }) => type);
  };
  assertEquals(await ask("Search for lanes"), ["web_search_call", "message"]);
  assertEquals((await ask("Hello")).includes("web_search_call"), false);
});

Deno.test("sandbox: it searches for Chat Completions, too, which asks by a field or by a tool", async () => {
  const messages = [{ role: "user" as const, content: "Search for lanes" }];
  const tools = [{ type: "openrouter:web_search" }] as unknown as OpenAI.ChatCompletionTool[];
  for (const asked of [{ web_search_options: {} }, { tools }]) {
    const { choices } = await openai.chat.completions.create({ model: "sandbox", messages, ...asked });
    const [{ message }] = choices as [OpenAI.ChatCompletion.Choice];
    const [{ url_citation } = {}] = message.annotations ?? [];
    assertEquals(url_citation?.url, "https://sandbox.invalid/lanes");
    assertEquals(message.content?.slice(url_citation?.start_index, url_citation?.end_index), "[1]");
  }
});

Deno.test("sandbox: its own pages can be opened, and no others", async () => {
  const open = async (url: string) => {
    const message = await anthropic.beta.messages.create({
      model: "sandbox",
      max_tokens: 500,
      messages: [{ role: "user", content: `Read ${url}` }],
      tools: [{ type: "web_fetch_20250910", name: "web_fetch" }],
      betas: ["web-fetch-2025-09-10"],
    });
    const result = message.content.find(({ type }) => type === "web_fetch_tool_result") as {
      content: { type: string };
    };
    return result.content.type;
  };
  assertEquals(await open("https://sandbox.invalid/lanes"), "web_fetch_result");
  assertEquals(await open("https://example.com/"), "web_fetch_tool_result_error");
});

Deno.test("sandbox: it has a server of tools, whose calls wait for the client where that wants it", async () => {
  const ask = async (require_approval: "always" | "never") => {
    const tools = [{
      type: "mcp" as const,
      server_label: "pages",
      server_url: "https://sandbox.invalid/mcp",
      require_approval,
    }];
    const { output } = await openai.responses.create({
      model: "sandbox",
      input: "Read https://sandbox.invalid/lanes",
      tools,
    });
    return output.map(({ type }) => type);
  };
  assertEquals(await ask("never"), ["mcp_list_tools", "mcp_call", "message"]);
  assertEquals(await ask("always"), ["mcp_list_tools", "mcp_approval_request", "message"]);
});
