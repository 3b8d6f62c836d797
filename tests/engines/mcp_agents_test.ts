/**
 * Claude Code and Codex with thirty tools of an MCP server, whose schemas use `pattern`, `format`, `$ref` (also to another document),
 * `anyOf` and boolean schemas, on each engine: a tool is called and its result read, turn after turn.
 */
import { assert, assertEquals, assertLessOrEqual, assertStringIncludes } from "@std/assert";
import type { Exchange } from "../clients/recorder.ts";
import { KEY, withClaudeCode } from "../clients/claude_code.ts";
import { KEYS, liveCatalog, withCodex } from "../clients/codex.ts";
import { CLAUDE_CODE, CODEX, install } from "../clients/install.ts";
import type { ConfigInput } from "../support/app.ts";
import { ENGINES, MODELS, withEngine } from "./engines.ts";

const SERVER = new URL("many_tools.mjs", import.meta.url).pathname;
const RUN_SERVER = ["run", "--no-config", "--allow-all", SERVER];

/** What the model's script calls, and what the agents call the same tool. */
const [PLAIN, OWN] = ["get_weather", "mcp__many__get_weather"];

function configOf(baseUrl: string): ConfigInput {
  return {
    upstreams: { engine: { driver: "chat", baseUrl } },
    lanes: {
      oss: {
        models: {
          [MODELS.chat]: {
            task: "chat",
            targets: [{ upstream: "engine", model: MODELS.chat }],
            contextLength: 100_000,
          },
        },
      },
    },
  };
}

/** Stands before the engine, whose model knows the tool by its plain name. Calls `use` with the bodies that the engine refused. */
async function withPlainNames(engine: string, use: (baseUrl: string, refused: string[]) => Promise<void>) {
  const { origin, pathname } = new URL(engine);
  const refused: string[] = [];
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, async ({ url, method, body }) => {
    const asked = body && (await new Response(body).text()).replaceAll(OWN!, PLAIN!);
    const headers = { "content-type": "application/json" };
    const response = await fetch(origin + new URL(url).pathname, { method, headers, body: asked });
    const text = await response.text();
    if (!response.ok) refused.push(text);
    return new Response(text.replaceAll(PLAIN!, OWN!), { status: response.status, headers: response.headers });
  });
  try {
    await use(`http://127.0.0.1:${server.addr.port}${pathname}`, refused);
  } finally {
    await server.shutdown();
  }
}

/** How many tools of the server a request offers. */
function offeredIn({ body }: Exchange): number {
  return JSON.stringify(body).match(/tool_\d+"/g)?.length ?? 0;
}

const [claudeCode, codex] = [await install(CLAUDE_CODE, "claude"), await install(CODEX, "codex")];
const PROMPTS = ["#tool How is the weather?", "And now? #tool"];
const RESULT = "get_weather says that it is sunny in San Francisco";
const ANSWER = "it is a nice day";
/** By default Claude Code has its model search for tools. */
const ALL_AT_ONCE = { ANTHROPIC_API_KEY: KEY, ENABLE_TOOL_SEARCH: "false" };

for (const engine of ENGINES) {
  withEngine({ ...engine, name: `${engine.name}: agents with many tools` }, (baseUrl) => {
    if ("program" in claudeCode) {
      Deno.test(`${engine.name}: Claude Code calls one of thirty MCP tools in each turn`, () =>
        withPlainNames(baseUrl, async (url, refused) => {
          await withClaudeCode(claudeCode.program, configOf(url), async ({ home, run }) => {
            const servers = { many: { command: Deno.execPath(), args: RUN_SERVER } };
            await Deno.writeTextFile(`${home}/mcp.json`, JSON.stringify({ mcpServers: servers }));
            const options = [
              "--mcp-config",
              `${home}/mcp.json`,
              "--strict-mcp-config",
              "--tools",
              "Bash",
              "--allowedTools",
              OWN!,
            ];
            const always = [...options, "--model", MODELS.chat, "--output-format", "stream-json", "--verbose"];
            for (const [turn, prompt] of PROMPTS.entries()) {
              const { code, text, result, exchanges } = await run([
                prompt,
                ...(turn === 0 ? [] : ["--continue"]),
                ...always,
              ], ALL_AT_ONCE);
              assertEquals([code, result.is_error], [0, false], text);
              assertStringIncludes(String(result.result), ANSWER);
              assertStringIncludes(text, RESULT);
              assert(exchanges.every(({ status }) => status === 200));
              assert(exchanges.some((one) => offeredIn(one) === 29));
            }
            // What the engine refused once is not sent again.
            assertLessOrEqual(refused.length, 1);
          });
        }));
    }
    if ("program" in codex) {
      Deno.test(`${engine.name}: Codex calls one of thirty MCP tools in each turn`, () =>
        withPlainNames(baseUrl, async (url, refused) => {
          await withCodex(codex.program, { config: { ...configOf(url), keys: KEYS } }, async ({ baseUrl, exec }) => {
            const server = [
              "--config",
              `mcp_servers.many.command=${JSON.stringify(Deno.execPath())}`,
              "--config",
              `mcp_servers.many.args=${JSON.stringify(RUN_SERVER)}`,
            ];
            const always = ["--model", MODELS.chat, ...liveCatalog(baseUrl), ...server];
            for (const [turn, prompt] of PROMPTS.entries()) {
              const { code, text, exchanges } = await exec([
                ...always,
                ...(turn === 0 ? [] : ["resume", "--last"]),
                prompt,
              ]);
              assertEquals(code, 0, text);
              assertStringIncludes(text, RESULT);
              assertStringIncludes(text, ANSWER);
              assert(exchanges.every(({ status }) => status === 200));
              assert(exchanges.some((one) => offeredIn(one) === 29));
            }
            assertLessOrEqual(refused.length, 1);
          });
        }));
    }
  });
}
