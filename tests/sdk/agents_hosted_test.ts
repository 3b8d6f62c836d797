/** The vendor's SDK for agents with tools that the server runs: a search, and a remote server with approvals. */
import { Agent, hostedMcpTool, type RunItem, Runner } from "@openai/agents-core";
import { OpenAIProvider, webSearchTool } from "@openai/agents-openai";
import { assertEquals, assertStringIncludes } from "@std/assert";
import { newApp } from "../support/app.ts";
import { MAJORS, newClient } from "./chat_clients.ts";

const runner = new Runner({
  modelProvider: new OpenAIProvider({ openAIClient: newClient(MAJORS[0], newApp()), useResponses: true }),
  tracingDisabled: true,
});

interface Result {
  newItems: RunItem[];
  finalOutput?: unknown;
}

async function whole(agent: Agent, input: string): Promise<Result> {
  return await runner.run(agent, input);
}

async function streamed(agent: Agent, input: string): Promise<Result> {
  const result = await runner.run(agent, input, { stream: true });
  await result.completed;
  return result;
}

/** The names of the tools that ran, in their order. */
function toolsOf({ newItems }: Result): string[] {
  return newItems.flatMap(({ rawItem }) => rawItem?.type === "hosted_tool_call" ? [rawItem.name] : []);
}

const PAGE = "A lane is a path prefix with its own models.";
const SERVER = { serverLabel: "pages", serverUrl: "https://sandbox.invalid/mcp" };
const QUESTION = "Read https://sandbox.invalid/lanes by mcp";

for (const [way, run] of Object.entries({ whole, streamed })) {
  Deno.test(`agents SDK, ${way}: a search of the web`, async () => {
    const agent = new Agent({ name: "Reader", model: "sandbox", tools: [webSearchTool()] });
    const result = await run(agent, "What is a lane?");
    assertEquals(toolsOf(result), ["web_search_call"]);
    assertStringIncludes(String(result.finalOutput), PAGE);
  });

  Deno.test(`agents SDK, ${way}: a remote server's tool that needs no approval`, async () => {
    const agent = new Agent({
      name: "Reader",
      model: "sandbox",
      tools: [hostedMcpTool({ ...SERVER, requireApproval: "never" })],
    });
    const result = await run(agent, QUESTION);
    assertEquals(toolsOf(result), ["mcp_list_tools", "mcp_call"]);
    assertStringIncludes(String(result.finalOutput), PAGE);
  });

  for (const approve of [true, false]) {
    Deno.test(`agents SDK, ${way}: a remote server's tool that is ${approve ? "approved" : "declined"}`, async () => {
      const asked: string[] = [];
      const agent = new Agent({
        name: "Reader",
        model: "sandbox",
        tools: [hostedMcpTool({
          ...SERVER,
          requireApproval: "always",
          onApproval(_context, { rawItem }) {
            asked.push("name" in rawItem ? String(rawItem.name) : "");
            return Promise.resolve({ approve });
          },
        })],
      });
      const result = await run(agent, QUESTION);
      assertEquals(asked, ["read_page"]);
      assertEquals(String(result.finalOutput).includes(PAGE), approve);
    });
  }
}
