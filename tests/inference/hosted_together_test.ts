/** Several kinds of the gateway's own tools in one answer: a search finds the client's tool, code runs, and the model goes on. */
import { assertEquals, assertMatch } from "@std/assert";
import type { JsonObject } from "../../src/canonical/json.ts";
import { withCode } from "../support/code_rig.ts";

const HEADERS = { "x-api-key": "team-key-a1b2c3", authorization: "Bearer team-key-a1b2c3" };
const PARAMETERS = { type: "object", properties: {} };
const CALLS_CODE = `code_execution${JSON.stringify({ code: "print(6 * 7)" })}`;
const ROUNDS = [[`tool_search${JSON.stringify({ query: "weather", pattern: "weather" })}`], [CALLS_CODE], ["42"]];

const WIRES: [path: string, body: JsonObject][] = [
  ["messages", {
    messages: [{ role: "user", content: "Hi" }],
    max_tokens: 500,
    context_management: { edits: [{ type: "clear_tool_uses_20250919" }] },
    tools: [
      { type: "tool_search_tool_regex_20251119", name: "tool_search_tool_regex" },
      { type: "code_execution_20250522", name: "code_execution" },
      { name: "get_weather", description: "The weather", input_schema: PARAMETERS, defer_loading: true },
    ],
  }],
  ["responses", {
    input: "Hi",
    tools: [
      { type: "tool_search" },
      { type: "code_interpreter", container: { type: "auto" } },
      {
        type: "function",
        name: "get_weather",
        description: "The weather",
        parameters: PARAMETERS,
        defer_loading: true,
      },
    ],
  }],
];

/** The answer, put together from the events if it is a stream of Messages. */
function answerIn(text: string): JsonObject {
  const events = text.split("\n").filter((line) => line.startsWith("data: {")).map((line) =>
    JSON.parse(line.slice("data: ".length))
  );
  const completed = events.find(({ type }) => type === "response.completed");
  if (completed) return completed.response;
  const { delta, context_management } = events.find(({ type }) => type === "message_delta");
  return { content: events.flatMap(({ content_block }) => content_block ?? []), ...delta, context_management };
}

for (const [path, body] of WIRES) {
  for (const stream of [false, true]) {
    const how = stream ? "streamed" : "whole";
    Deno.test(`hosted tools: a search for tools and code in one answer, ${path}, ${how}`, async () => {
      await withCode({ rounds: ROUNDS }, async ({ fetch, ran, asked }) => {
        const response = await fetch(`http://gateway/oss/v1/${path}`, {
          method: "POST",
          headers: { ...HEADERS, "content-type": "application/json" },
          body: JSON.stringify({ model: "model", stream, ...body }),
        });
        const text = await response.text();
        assertEquals(response.status, 200, text);
        const answer = stream ? answerIn(text) : JSON.parse(text);
        const types = ((answer.content ?? answer.output) as JsonObject[]).map(({ type }) => type);
        assertEquals(
          types,
          path === "messages"
            ? ["server_tool_use", "tool_search_tool_result", "server_tool_use", "code_execution_tool_result", "text"]
            : ["tool_search_call", "tool_search_output", "code_interpreter_call", "message"],
        );
        assertEquals(ran.map(({ code }) => code), ["print(6 * 7)"]);
        const namesIn = (at: number) =>
          (asked[at]!.body.tools as JsonObject[]).map((tool) => (tool.function as JsonObject).name);
        assertEquals(namesIn(0), ["tool_search", "code_execution"]);
        assertEquals(namesIn(1).toSorted(), ["code_execution", "get_weather", "tool_search"]);
        if (path !== "messages") return;
        assertMatch((answer.container as { id: string }).id, /^container_/);
        assertEquals(answer.context_management, { applied_edits: [] });
      });
    });
  }
}
