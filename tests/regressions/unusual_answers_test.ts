/** Answers and failures in shapes that only some hosts have. */
import { assertEquals } from "@std/assert";
import type { JsonObject } from "../../src/canonical/json.ts";
import { ask, bodyFor, events, streamed, testAnswers, testEach, TOOLS } from "./support.ts";

// Items of the responses wire

const CREATED = {
  type: "response.created",
  response: { id: "resp_1", status: "in_progress", model: "org/model", output: [] },
};

function completed(output: JsonObject[] = []): JsonObject {
  const usage = { input_tokens: 5, output_tokens: 2, total_tokens: 7 };
  return {
    type: "response.completed",
    response: { id: "resp_1", status: "completed", model: "org/model", output, usage },
  };
}

/** Two calls, in which every mention of an item has an id of its own. */
function callsOfManyIds(place: (at: number) => JsonObject): JsonObject[][] {
  let ids = 0;
  return ["look", "find"].map((name, at) => {
    const input = JSON.stringify({ q: name });
    const item = (args: string) => ({
      type: "function_call",
      id: `fc_${ids++}`,
      call_id: `call_${name}`,
      name,
      arguments: args,
    });
    const about = (type: string, fields: JsonObject) => ({ type, ...place(at), ...fields });
    const input_delta = (delta: string) =>
      about("response.function_call_arguments.delta", { item_id: `fc_${ids++}`, delta });
    return [
      about("response.output_item.added", { item: item("") }),
      input_delta(input.slice(0, 3)),
      input_delta(input.slice(3)),
      about("response.function_call_arguments.done", { item_id: `fc_${ids++}`, arguments: input }),
      about("response.output_item.done", { item: item(input) }),
    ];
  });
}

/** The lists in turns. */
function alternating(lists: JsonObject[][]): JsonObject[] {
  return lists[0]!.flatMap((_, at) => lists.map((list) => list[at]!));
}

const MANY_IDS: Record<string, JsonObject[]> = {
  "one after the other": callsOfManyIds((at) => ({ output_index: at })).flat(),
  "side by side": alternating(callsOfManyIds((at) => ({ output_index: at }))),
  "one after the other, in one place": callsOfManyIds(() => ({ output_index: 0 })).flat(),
  "one after the other, in no place": callsOfManyIds(() => ({})).flat(),
};

const message = (id: string) => ({
  type: "message",
  id,
  role: "assistant",
  status: "completed",
  content: [{ type: "output_text", text: "Hello", annotations: [] }],
});
const look = (id: string) => ({ type: "function_call", id, call_id: "call_look", name: "look", arguments: "{}" });

testAnswers([
  ...Object.entries(MANY_IDS).map(([how, items]) => ({
    id: "B9",
    title: `calls whose ids change from event to event are told apart (${how})`,
    upstream: "responses" as const,
    answer: { frames: events(CREATED, ...items, completed()) },
    ask: { tools: TOOLS },
    want: { said: ["look", "find"].map((name) => ({ call: name, input: { q: name } })), end: "tool-calls" },
  })),
  {
    id: "B9",
    title: "a text whose id changes beside a call is told once, in the list of all too",
    upstream: "responses",
    answer: {
      frames: events(
        CREATED,
        { type: "response.output_item.added", output_index: 1, item: { ...message("a"), content: [] } },
        { type: "response.output_item.added", output_index: 0, item: { ...look("b"), arguments: "" } },
        { type: "response.output_text.delta", output_index: 1, content_index: 0, item_id: "c", delta: "Hel" },
        { type: "response.function_call_arguments.delta", output_index: 0, item_id: "d", delta: "{}" },
        { type: "response.output_text.delta", output_index: 1, content_index: 0, item_id: "e", delta: "lo" },
        completed([look("f"), message("g")]),
      ),
    },
    ask: { tools: TOOLS },
    want: { said: [{ call: "look", input: {} }, { text: "Hello" }], end: "tool-calls" },
  },
  {
    id: "B9",
    title: "an empty error is none",
    upstream: "responses",
    answer: {
      whole: { id: "resp_1", status: "completed", model: "org/model", error: {}, output: [message("a")] },
      frames: events(CREATED, { ...completed([message("a")]), error: {} }),
    },
    want: { said: [{ text: "Hello" }], end: "stop" },
  },
]);

// Failures

const SLOW = { code: "rate_limit_exceeded", message: "Please slow down" };
const failed = (more: JsonObject, inside: JsonObject = {}) => ({
  type: "response.failed",
  response: { id: "resp_1", status: "failed", output: [], ...inside },
  ...more,
});
const FAILURES: Record<string, [event: JsonObject, status: number, message: string]> = {
  "inside the response": [failed({}, { error: SLOW }), 429, "Please slow down"],
  "beside the response": [failed({ error: SLOW }), 429, "Please slow down"],
  "beside the response, in which it is empty": [failed({ error: SLOW }, { error: {} }), 429, "Please slow down"],
  "beside the response, in which it is null": [failed({ error: SLOW }, { error: null }), 429, "Please slow down"],
  "as fields beside the response": [failed(SLOW), 429, "Please slow down"],
  "as a text beside the response": [
    failed({ error: "The engine stopped" }),
    502,
    "The upstream failed: The engine stopped",
  ],
  "beside a response that is said to be complete": [{ ...completed(), error: SLOW }, 429, "Please slow down"],
};
for (const [place, [event, status, message]] of Object.entries(FAILURES)) {
  testEach("B9", `a failure keeps its words and its kind (${place})`, { modes: ["streamed"] }, async (client) => {
    const body = bodyFor(client, { stream: true }, "responses");
    const view = await ask(client, body, [() => streamed(events(CREATED, event))]);
    assertEquals([view.status, view.error?.message], [status, message]);
  });
}
