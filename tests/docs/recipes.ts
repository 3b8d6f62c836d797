/** The hosts behind the gateway of each recipe of the cookbook, and the results that its calls must have. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { createMcpHandler, McpServer } from "mcp-server";
import { z } from "zod";
import { answerWhole } from "../support/chat.ts";
import { answerOn, type Say } from "../support/hosted_rig.ts";
import { CHAT } from "../support/wires.ts";

export interface Call {
  url: string;
  authorization: string | null;
  body: string;
}

export interface Recipe {
  env?: Record<string, string>;
  /** The other hosts. */
  answer?(request: Request, call: Call): Response | Promise<Response>;
  /** The output of each program and each block of commands. */
  prints: RegExp;
  /** Checks the requests that the other hosts got, once all have run. */
  check?(calls: readonly Call[]): void;
}

function lastText(body: string): string {
  const { content } = JSON.parse(body).messages.at(-1);
  return typeof content === "string" ? content : content[0].text;
}

/** A model that calls the tool that it is offered, and answers with what came back. */
function calling(args: string, said: (result: string) => Say) {
  return ({ body }: Call): Promise<Response> => {
    const { messages, tools } = JSON.parse(body);
    const { role, content } = messages.at(-1);
    const says = role === "tool" ? said(JSON.stringify(content)) : `${tools[0].function.name}${args}`;
    return answerOn(CHAT, [says], false);
  };
}

const mcp = createMcpHandler(() => {
  const server = new McpServer({ name: "docs", version: "1.0.0" });
  const inputSchema = z.object({ name: z.string() });
  const page = () => ({ content: [{ type: "text" as const, text: "A lane is a path" }] });
  server.registerTool("get_page", { description: "Reads a page", inputSchema }, page);
  server.registerTool("delete_page", { description: "Deletes a page", inputSchema }, page);
  return server;
}, { responseMode: "json" });

/** By their headings. */
export const RECIPES: Record<string, Recipe> = {
  "A local model for Claude Code": {
    answer: () => answerWhole("Hello from Ollama"),
    prints: /Hello from Ollama/,
    check(calls) {
      assertEquals(new Set(calls.map(({ url }) => url)), new Set(["http://127.0.0.1:11434/v1/chat/completions"]));
      assertEquals(new Set(calls.map(({ body }) => JSON.parse(body).model)), new Set(["qwen3-coder:30b"]));
    },
  },
  "A paid provider when the local server fails": {
    env: { GROQ_API_KEY: "gsk-of-the-house" },
    answer: ({ url }) => url.includes("groq") ? answerWhole("Hello") : new Response("down", { status: 500 }),
    prints: /groq\/openai\/gpt-oss-120b[^]*Hello/,
    check(calls) {
      const paid = calls.filter(({ url }) => url.startsWith("https://api.groq.com/"));
      assertEquals(new Set(paid.map(({ authorization }) => authorization)), new Set(["Bearer gsk-of-the-house"]));
      // Afterwards the conversation stays with the one that answered.
      assertEquals([calls[0]!.url, paid.length], ["http://10.0.0.5:8000/v1/chat/completions", calls.length - 1]);
    },
  },
  "A budget for a team": {
    env: { ANNA_KEY: "anna-secret", BEN_KEY: "ben-secret", OPS_KEY: "ops-secret" },
    answer: () => answerWhole(),
    // 5 tokens at 2 dollars a million, and 1 at 6; the budget of a day.
    prints: /0\.000016 4\.9+\d*|"budget":"team:research"[^]*"spent":"0\.000016"/,
  },
  "Structured output on any model": {
    answer: () => answerWhole('It is cold:\n```json\n{"city": "Oslo", "degrees": 7}\n```'),
    prints: /^7$|\{\\"city\\": ?\\"Oslo\\", ?\\"degrees\\": ?7\}/m,
    check: ([first]) => assert(!first!.body.includes("response_format") && first!.body.includes("JSON")),
  },
  "Web search": {
    answer: ({ url }, call) =>
      url.startsWith("http://10.0.0.6:8888/")
        ? Response.json({ results: [{ url: "https://weather.test/", title: "Oslo", content: "Rain, 7 degrees" }] })
        : calling('{"query":"Oslo"}', (result) => `${/Rain[^\\"]*/.exec(result)?.[0]} [1]`)(call),
    prints: /Rain, 7 degrees/,
  },
  "Tools of an MCP server": {
    env: { DOCS_TOKEN: "docs-token" },
    answer: (request, call) =>
      request.url.startsWith("http://10.0.0.7:9000/")
        ? mcp.fetch(request)
        : calling('{"name":"lanes"}', (result) => `It says: ${/A lane[^\\"]*/.exec(result)?.[0]}`)(call),
    prints: /It says: A lane is a path/,
    check(calls) {
      const ofServer = calls.filter(({ url }) => url.includes("/mcp"));
      assertEquals(new Set(ofServer.map(({ authorization }) => authorization)), new Set(["Bearer docs-token"]));
      const [asked] = calls.filter(({ url }) => url.endsWith("/chat/completions"));
      assertEquals(JSON.parse(asked!.body).tools.length, 1, "A tool without a rule was offered");
    },
  },
  "Embeddings and rerank": {
    answer: ({ url }) =>
      url.endsWith("/embed")
        ? Response.json([[1, 0], [0, 1]])
        : Response.json([{ index: 0, score: 0.1 }, { index: 1, score: 0.9 }]),
    prints: /^2 1$|"results":\[\{"index":1,/m,
  },
  "Transcription": {
    answer: () => Response.json({ text: "Good morning" }),
    prints: /Good morning/,
    check: (calls) => assert(calls.every(({ url }) => url === "http://10.0.0.5:8001/v1/audio/transcriptions")),
  },
  "Nothing personal leaves the house": {
    env: { GROQ_API_KEY: "gsk-of-the-house" },
    answer: (_, { body }) => answerWhole(`Done: ${lastText(body)}`),
    prints: /Done: Write to ada@example\.com/,
    check(calls) {
      for (const { body } of calls) {
        assert(!body.includes("ada@example.com"));
        assertStringIncludes(body, "redacted-email-");
      }
    },
  },
  "Prometheus and OpenTelemetry": {
    env: { TEAM_KEY: "team-secret", OPS_KEY: "ops-secret" },
    prints: /laneway_requests_total\{[^}]*lane="oss"[^}]*\} 1/,
  },
  "Two gateways, one Redis": { prints: /^[Tt]rue$|"previous_response_id":"resp_/m },
};

export function checkOutput(recipe: Recipe, out: string): void {
  assertMatch(out, recipe.prints);
}
