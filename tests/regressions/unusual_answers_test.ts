/** Answers and failures in shapes that only some hosts have. */
import { assertEquals } from "@std/assert";
import type { JsonObject, JsonValue } from "../../src/canonical/json.ts";
import { newApp } from "../support/app.ts";
import { bodyOf } from "../support/chunks.ts";
import { fakeUpstream } from "../support/fake_upstream.ts";
import {
  type AnswerRow,
  ask,
  bodyFor,
  chatStream,
  chatWhole,
  CONFIG,
  data,
  delta,
  events,
  type Mode,
  MODES,
  PATH,
  SHORTEST,
  streamed,
  testAnswers,
  testEach,
  TOOLS,
  type View,
  type Wire,
  WIRES,
} from "./support.ts";

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

// Calls of the chat wire with an empty form of the other kind

const FUNCTION = { name: "look", arguments: '{"q":1}' };
const CUSTOM = { name: "patch", input: "the patch" };
const [NO_FUNCTION, NO_CUSTOM] = [{ name: "", arguments: "" }, { name: "", input: "" }];
const CALLS: Record<string, [fragment: JsonObject, call: string, input: JsonValue]> = {
  "function": [{ type: "function", function: FUNCTION, custom: NO_CUSTOM }, "look", { q: 1 }],
  "function with an empty type": [{ type: "", function: FUNCTION, custom: NO_CUSTOM }, "look", { q: 1 }],
  "function with the type custom": [{ type: "custom", function: FUNCTION, custom: NO_CUSTOM }, "look", { q: 1 }],
  "function without a type": [{ function: FUNCTION, custom: { input: "" } }, "look", { q: 1 }],
  "custom": [{ type: "custom", function: NO_FUNCTION, custom: CUSTOM }, "patch", { input: "the patch" }],
  "custom without a type": [{ function: NO_FUNCTION, custom: CUSTOM }, "patch", { input: "the patch" }],
};
testAnswers(
  Object.entries(CALLS).map(([what, [fragment, name, input]]): AnswerRow => {
    const message = { tool_calls: [{ index: 0, id: "call_1", ...fragment }] };
    return {
      id: "B12",
      title: `the form of a call that says something counts (${what})`,
      clients: ["messages"],
      answer: { whole: chatWhole(message, "tool_calls"), frames: chatStream([message], "tool_calls") },
      ask: { tools: TOOLS },
      want: { said: [{ call: name, input }], end: "tool-calls" },
    };
  }),
);

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

// Bytes under another content type

function typed(bytes: string, type: string | undefined, status = 200): Response {
  // A text would bring a type of its own.
  const headers = type === undefined ? undefined : { "content-type": type };
  return new Response(new TextEncoder().encode(bytes), { status, headers });
}

const STREAMS: Record<Wire, string> = {
  chat: chatStream([{ content: "H" }, { content: "i" }]),
  messages: events(
    { type: "message_start", message: { ...SHORTEST.messages, content: [], stop_reason: null } },
    { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
    { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "Hi" } },
    { type: "content_block_stop", index: 0 },
    { type: "message_delta", delta: { stop_reason: "end_turn" }, usage: { output_tokens: 2 } },
    { type: "message_stop" },
  ),
  responses: events(CREATED, { type: "response.completed", response: SHORTEST.responses }),
};
const TYPES = [
  "application/json",
  "text/event-stream",
  "text/plain",
  "text/html",
  "application/octet-stream",
  "application/x-ndjson",
  undefined,
];

async function answered(wire: Wire, mode: Mode, response: () => Response): Promise<View> {
  return await ask("messages", bodyFor("messages", { stream: mode === "streamed" }, wire), [response]);
}

for (const wire of WIRES) {
  const bodies: Record<string, string> = {
    "events": STREAMS[wire],
    "events after a comment": `: busy\n\n${STREAMS[wire]}`,
    "JSON": JSON.stringify(SHORTEST[wire]),
    "JSON in many lines": `\ufeff${JSON.stringify(SHORTEST[wire], null, 2)}\n`,
  };
  for (const type of TYPES) {
    Deno.test(`B9 an answer is known by its bytes, not by its type (${wire}, ${type})`, async () => {
      for (const [what, body] of Object.entries(bodies)) {
        for (const mode of MODES) {
          const { said, end, error } = await answered(wire, mode, () => typed(body, type));
          assertEquals({ said, end, error }, { said: [{ text: "Hi" }], end: "stop", error: undefined }, what + mode);
        }
      }
    });
  }
}

Deno.test("B9 an answer is known by its bytes, wherever they are cut", async () => {
  const bodies = [`\n\n${STREAMS.chat}`, `\ufeff${STREAMS.chat}`, `\n ${JSON.stringify(SHORTEST.chat)}`];
  for (const body of bodies) {
    const bytes = new TextEncoder().encode(body);
    for (let at = 0; at < 12; at++) {
      for (const type of ["application/json", "text/event-stream"]) {
        const cut = () => new Response(bodyOf(piecesAt(bytes, at)), { headers: { "content-type": type } });
        assertEquals((await answered("chat", "streamed", cut)).said, [{ text: "Hi" }], `${at} ${type}`);
      }
    }
  }
});

/** The first bytes one by one, then the others. */
function piecesAt(bytes: Uint8Array<ArrayBuffer>, at: number): Uint8Array<ArrayBuffer>[] {
  return [...Array.from({ length: at }, (_, index) => bytes.slice(index, index + 1)), bytes.slice(at)];
}

Deno.test("B9 events under another type are passed on as they come", async () => {
  let give: (text: string) => void = () => {};
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      give = (text) => controller.enqueue(new TextEncoder().encode(text));
    },
  });
  const upstream = fakeUpstream(() => new Response(body, { headers: { "content-type": "application/json" } }));
  const app = newApp({ config: CONFIG, fetch: upstream.fetch });
  const asked = app.post(PATH.chat, bodyFor("chat", { stream: true }));
  give(data(delta({ content: "Hello" })));
  const reader = (await asked).body!.pipeThrough(new TextDecoderStream()).getReader();
  let seen = "";
  while (!seen.includes("Hello")) seen += (await reader.read()).value ?? "";
  await reader.cancel();
});

Deno.test("B9 chunks in lines are an answer, under any type", async () => {
  const lines = [delta({ content: "Hi" }), { choices: [{ index: 0, delta: {}, finish_reason: "stop" }] }];
  const body = lines.map((line) => `${JSON.stringify(line)}\n`).join("");
  for (const type of ["text/event-stream", "application/x-ndjson", "text/plain"]) {
    for (const mode of MODES) {
      assertEquals((await answered("chat", mode, () => typed(body, type))).said, [{ text: "Hi" }], type + mode);
    }
  }
});

/** Failures with another status than they say, or in lines that are no events. */
const BOOM = { code: 429, message: "Please slow down", type: "unavailable_error" };
const LINES: Record<string, [body: string, message: string, status: number]> = {
  "an error: line": [`error: ${JSON.stringify(BOOM)}\n\n`, "Please slow down", 429],
  "an error: line with an error inside": [`error: ${JSON.stringify({ error: BOOM })}\n\n`, "Please slow down", 429],
  "an error: line of words": ["error: The engine stopped\n\n", "The upstream failed: The engine stopped", 502],
  "JSON": [JSON.stringify({ error: BOOM }), "Please slow down", 429],
  "JSON in many lines": [JSON.stringify({ error: BOOM }, null, 2), "Please slow down", 429],
  "an event": [`event: error\ndata: ${JSON.stringify({ error: BOOM })}\n\n`, "Please slow down", 429],
};
for (const [what, [body, message, status]] of Object.entries(LINES)) {
  for (const wire of WIRES) {
    Deno.test(`B9 a failure is heard, whatever its type (${what}, ${wire})`, async () => {
      for (const type of ["application/json", "text/event-stream", undefined]) {
        for (const mode of MODES) {
          const { error, ...view } = await answered(wire, mode, () => typed(body, type));
          assertEquals([view.status, error?.message], [status, message], `${type} ${mode}`);
        }
      }
    });
  }
}

for (const [what, line] of Object.entries({ "an error: line": "error: ", "a line of JSON": "" })) {
  testEach("B9", `a failure amid a stream is heard (${what})`, {}, async (client, mode) => {
    const frames = `${data(delta({ content: "H" }))}${line}${JSON.stringify({ error: BOOM })}\n\n`;
    const body = bodyFor(client, { stream: mode === "streamed" });
    assertEquals((await ask(client, body, [() => streamed(frames)])).error?.message, "Please slow down");
  });
}

testEach("B9", "an error status with an event as its body keeps its words", {}, async (client, mode) => {
  const frames = `event: error\ndata: ${JSON.stringify({ error: BOOM })}\n\n`;
  const body = bodyFor(client, { stream: mode === "streamed" });
  const { status, error } = await ask(client, body, [() => typed(frames, "text/event-stream", 429)]);
  assertEquals([status, error?.message], [429, "Please slow down"]);
});

// When to try again

const NOW = Date.parse("2027-01-15T08:00:00Z");
const CLOCK = { date: new Date(NOW).toUTCString() };
const LATER = new Date(NOW + 90_000);
const WAITS: [headers: Record<string, string>, seconds: string | null][] = [
  [{ "retry-after": "7" }, "7"],
  [{ "retry-after": "0.5" }, "0.5"],
  [{ "retry-after-ms": "1500" }, "1.5"],
  [{ "retry-after-ms": "1500", "retry-after": "2" }, "1.5"],
  [{ "retry-after": "20s" }, "20"],
  [{ "retry-after": "250ms" }, "0.25"],
  [{ "retry-after": LATER.toUTCString(), ...CLOCK }, "90"],
  [{ "retry-after": LATER.toUTCString() }, LATER.toUTCString()],
  [{ "retry-after": LATER.toISOString(), ...CLOCK }, "90"],
  [{ "retry-after": String(LATER.getTime() / 1000), ...CLOCK }, "90"],
  [{ "retry-after": String(LATER.getTime() / 1000) }, LATER.toUTCString()],
  [{ "retry-after": String(LATER.getTime()), ...CLOCK }, "90"],
  [{ "retry-after": new Date(NOW - 5_000).toUTCString(), ...CLOCK }, "0"],
  [{ "retry-after": "soon" }, null],
  [{ "retry-after": "-3" }, null],
  [{ "retry-after": "Fri, 99 Jan 2027 99:00:00 GMT" }, null],
  [{ "retry-after": "9".repeat(40) }, null],
];
for (const [headers, seconds] of WAITS) {
  testEach("B9", `how long to wait is understood: ${JSON.stringify(headers)}`, { modes: ["whole"] }, async (client) => {
    const limited = () => Response.json({ error: { message: "Slow" } }, { status: 429, headers });
    const view = await ask(client, bodyFor(client), [limited]);
    assertEquals([view.status, view.headers.get("retry-after")], [429, seconds]);
  });
}

for (const status of [498, 503, 529]) {
  testEach("B9", `a host without room is told as overloaded (${status})`, {}, async (client, mode) => {
    // The platform makes no response with such a status itself, but its `fetch` gives one.
    const full = () => Object.defineProperties(Response.json({}), { status: { value: status }, ok: { value: false } });
    const view = await ask(client, bodyFor(client, { stream: mode === "streamed" }), [full]);
    const wanted = client === "messages" ? [529, "overloaded_error"] : [503, "unavailable"];
    assertEquals([view.status, view.error?.word], wanted);
  });
}
