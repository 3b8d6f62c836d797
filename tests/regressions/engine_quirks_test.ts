/** What real engines answer that a client must not notice: each quirk for each client, whole and streamed. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import type { JsonObject } from "../../src/canonical/json.ts";
import { loadFixtures } from "../support/fixtures.ts";
import {
  type Answer,
  ask,
  bodyFor,
  call,
  chatStream,
  chatWhole,
  testAnswers,
  testEach,
  TOOLS,
  type View,
  type Wire,
} from "./support.ts";

/** What a real engine answered in both modes, as far as it was recorded. */
function recorded(wire: Wire, name: string): Answer {
  const fixtures = loadFixtures(wire);
  const find = (wanted: string) => fixtures.find((fixture) => fixture.name === wanted)?.response;
  return { frames: find(`${name}-stream`)?.text, whole: find(name)?.json as JsonObject | undefined };
}

function assertNoNotes({ headers, frames }: View): void {
  assertEquals(headers.get("x-laneway-notes"), null);
  assertEquals(frames.filter(({ comment }) => comment?.startsWith("notes:")), []);
}

const WEATHER = [{ name: "get_weather", description: "Get the weather", schema: { type: "object", properties: {} } }];

const named = (args: string) => ({ name: "look", arguments: args });

testAnswers([
  {
    id: "E29",
    title: "a call that is told in its legacy form too is one call",
    answer: {
      frames: chatStream(['{"a":', " ", "1}"].map((args, at) => ({
        ...(at === 0 && { role: "assistant", content: null }),
        function_call: named(args),
        tool_calls: [{ index: 0, id: "call__0_look_cmpl-1", type: "function", function: named(args) }],
      }))),
      whole: chatWhole({
        content: null,
        function_call: named('{"a": 1}'),
        tool_calls: [call("look", '{"a": 1}')],
      }, "stop"),
    },
    ask: { tools: TOOLS },
    want: { said: [{ call: "look", input: { a: 1 } }], end: "tool-calls" },
  },
  {
    id: "E29",
    title: "the legacy form that follows the call in chunks of its own is no other call",
    answer: {
      frames: chatStream([
        { tool_calls: [{ index: 0, ...call("look", '{"a":') }] },
        { function_call: named('{"a":') },
        { tool_calls: [{ index: 0, function: { arguments: "1}" } }] },
        { function_call: { arguments: "1}" } },
      ], "tool_calls"),
    },
    ask: { tools: TOOLS },
    want: { said: [{ call: "look", input: { a: 1 } }], end: "tool-calls" },
  },
  {
    id: "E29",
    title: "the legacy form that comes before the call in chunks of its own is no other call",
    answer: {
      frames: chatStream([
        { function_call: named('{"a":') },
        { tool_calls: [{ index: 0, ...call("look", '{"a":') }] },
        { function_call: { arguments: "1}" } },
        { tool_calls: [{ index: 0, function: { arguments: "1}" } }] },
      ], "tool_calls"),
    },
    ask: { tools: TOOLS },
    want: { said: [{ call: "look", input: { a: 1 } }], end: "tool-calls" },
  },
  {
    id: "E29",
    title: "the legacy form counts beside a call that says nothing",
    answer: {
      frames: chatStream([
        {
          function_call: named('{"a": 1}'),
          tool_calls: [{ index: 0, type: "function", function: { name: "", arguments: "" } }],
        },
      ], "function_call"),
      whole: chatWhole({
        content: null,
        function_call: named('{"a": 1}'),
        tool_calls: [{ type: "function", function: { name: "", arguments: "" } }],
      }, "function_call"),
    },
    ask: { tools: TOOLS },
    want: { said: [{ call: "look", input: { a: 1 } }], end: "tool-calls" },
  },
  {
    id: "E29",
    title: "the legacy form counts where there is no other, beside an empty list too",
    answer: {
      frames: chatStream([
        { function_call: named('{"a":'), tool_calls: [] },
        { function_call: { arguments: "1}" }, tool_calls: null },
      ], "function_call"),
      whole: chatWhole({ content: null, function_call: named('{"a":1}'), tool_calls: [] }, "function_call"),
    },
    ask: { tools: TOOLS },
    want: { said: [{ call: "look", input: { a: 1 } }], end: "tool-calls" },
  },
  {
    id: "E33 E37",
    title: "transformers: the message that it reopens after a call is told once, and empty annotations are no loss",
    upstream: "responses",
    answer: recorded("responses", "transformers-texttool"),
    ask: { tools: WEATHER },
    want: {
      said: [{ text: "I will check that for you." }, { call: "get_weather", input: { location: "Oslo" } }],
      end: "tool-calls",
    },
    check: assertNoNotes,
  },
  {
    id: "E33",
    title: "transformers: parallel calls, then a message without a text",
    upstream: "responses",
    answer: recorded("responses", "transformers-twotools"),
    ask: { tools: WEATHER },
    want: {
      said: [
        { call: "get_weather", input: { location: "Paris" } },
        { call: "get_weather", input: { location: "Tokyo" } },
      ],
      end: "tool-calls",
    },
  },
  {
    id: "E37",
    title: "litellm: the stop that matched is named, and what the proxy says of it is no loss",
    answer: recorded("chat", "litellm-names-the-stop"),
    ask: { stop: ["4"] },
    want: { said: [{ text: "1, 2, 3, " }], end: "stop" },
    check(view, client) {
      assertNoNotes(view);
      if (client === "messages") assertEquals([view.body.stop_reason, view.body.stop_sequence], ["stop_sequence", "4"]);
    },
  },
  {
    id: "E29",
    title: "llama-cpp-python: a tool that was named is called once",
    answer: recorded("chat", "llama-cpp-python-named-tool"),
    ask: { tools: [{ name: "save_person", description: "Save a person", schema: { type: "object", properties: {} } }] },
    want: { said: [{ call: "save_person", input: { name: "Ada", age: 36 } }], end: "tool-calls" },
  },
]);

testEach("E37", "llama-cpp-python: where its own files are stays inside", {}, async (client, mode) => {
  for (const name of ["llama-cpp-python-refuses-json-schema", "llama-cpp-python-refuses-null-content"]) {
    const { response } = loadFixtures("chat").find((fixture) => fixture.name === name)!;
    const answer = () => Response.json(response.json, { status: response.status });
    const { error, body } = await ask(client, bodyFor(client, { stream: mode === "streamed" }), [answer, answer]);
    assertMatch(String(error?.message), /validation error/);
    assert(!/site-packages|\.py/.test(JSON.stringify(body)), JSON.stringify(body));
  }
});
