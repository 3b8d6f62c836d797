import { assert, assertEquals, assertNotEquals } from "@std/assert";
import type { JsonObject } from "../../src/canonical/json.ts";
import { createMemoryStore } from "../../src/state/memory_store.ts";
import { newApp, NOW } from "../support/app.ts";
import { fakeUpstream } from "../support/fake_upstream.ts";
import {
  ask,
  bodyFor,
  call,
  chatEnd,
  chatStream,
  chatWhole,
  CONFIG,
  data,
  delta,
  HELLO,
  listOf,
  objectOf,
  post,
  responseOf,
  shortAnswer,
  streamed,
  testAnswers,
  testEach,
  TOOLS,
  type View,
} from "./support.ts";

/** The events of a stream of the responses wire. */
function eventsOf({ frames }: View): JsonObject[] {
  return frames.filter(({ data }) => data !== "[DONE]").map(({ data }) => objectOf(JSON.parse(data!)));
}

const ALL = {
  frames: chatStream([
    { reasoning_content: "hm" },
    { content: "Let me look" },
    { tool_calls: [{ index: 0, ...call("look", "") }] },
    { tool_calls: [{ index: 0, function: { arguments: '{"a":' } }] },
    { tool_calls: [{ index: 0, function: { arguments: "1}" } }] },
    { tool_calls: [{ index: 1, ...call("find", '{"b":2}') }] },
  ], "tool_calls"),
  whole: chatWhole({
    reasoning_content: "hm",
    content: "Let me look",
    tool_calls: [call("look", '{"a":1}'), call("find", '{"b":2}')],
  }, "tool_calls"),
};

const ORDER = [
  "response.created",
  "response.in_progress",
  "response.output_item.added",
  "response.content_part.added",
  "response.output_text.delta",
  "response.output_text.done",
  "response.content_part.done",
  "response.output_item.done",
  "response.completed",
];

testAnswers([
  {
    id: "R49",
    title: "a stream has its whole life cycle, each event named by its type",
    clients: ["responses"],
    answer: { frames: HELLO.frames },
    want: { said: [{ text: "Hi" }], end: "stop" },
    check(view) {
      assertEquals(eventsOf(view).map(({ type }) => type), ORDER);
      assertEquals(view.frames.slice(0, -1).map(({ event }) => event), ORDER);
      assertEquals(objectOf(eventsOf(view).at(-1)!.response).status, "completed");
    },
  },
  {
    id: "R50",
    title: "items come one after the other, each with one index and one id",
    clients: ["responses"],
    ask: { tools: TOOLS },
    answer: { frames: ALL.frames },
    want: { end: "tool-calls" },
    check(view) {
      const events = eventsOf(view);
      const added = events.filter(({ type }) => type === "response.output_item.added");
      assertEquals(added.map(({ output_index }) => output_index), [0, 1, 2, 3]);
      const ids = added.map(({ item }) => objectOf(item).id);
      assertEquals(new Set(ids).size, 4);
      for (const { item_id, output_index } of events) {
        if (item_id !== undefined) assertEquals(item_id, ids[Number(output_index)]);
      }
      let open: unknown;
      for (const { type, output_index } of events) {
        if (type === "response.output_item.added") {
          assertEquals(open, undefined, "An item ends before the next one begins");
          open = output_index;
        } else if (type === "response.output_item.done") {
          assertEquals(output_index, open);
          open = undefined;
        }
      }
    },
  },
  {
    id: "R51",
    title: "arguments of a call come in increments and at its end",
    clients: ["responses"],
    ask: { tools: TOOLS },
    answer: { frames: ALL.frames },
    want: {
      said: [{ reasoning: "hm" }, { text: "Let me look" }, { call: "look", input: { a: 1 } }, {
        call: "find",
        input: { b: 2 },
      }],
    },
    check(view) {
      const events = eventsOf(view);
      const texts = (type: string, key: string) =>
        events.filter((event) => event.type === `response.function_call_arguments.${type}`).map((event) => event[key]);
      assertEquals(texts("delta", "delta").join(""), '{"a":1}{"b":2}');
      assertEquals(texts("done", "arguments"), ['{"a":1}', '{"b":2}']);
    },
  },
  {
    id: "R54",
    title: "a refusal is told as one",
    clients: ["chat", "responses"],
    answer: {
      frames: chatStream([{ refusal: "I will " }, { refusal: "not" }]),
      whole: chatWhole({ content: null, refusal: "I will not" }),
    },
    want: { said: [{ refusal: "I will not" }] },
  },
  {
    id: "R54",
    title: "a refusal is told as text where there is no other place for it",
    clients: ["messages"],
    answer: {
      frames: chatStream([{ refusal: "I will " }, { refusal: "not" }]),
      whole: chatWhole({ content: null, refusal: "I will not" }),
    },
    want: { said: [{ text: "I will not" }] },
  },
  {
    id: "R57",
    title: "the response is whole from its first event on",
    clients: ["responses"],
    answer: { frames: HELLO.frames },
    want: { said: [{ text: "Hi" }] },
    check(view) {
      const [created, running] = eventsOf(view);
      const response = objectOf(created!.response);
      assertEquals([response.object, response.status, response.model], ["response", "in_progress", "chat"]);
      assertEquals([response.output, response.usage, response.error], [[], null, null]);
      assertEquals(response.created_at, NOW / 1000);
      assertEquals(running!.response, response);
      assertEquals(objectOf(eventsOf(view).at(-1)!.response).id, response.id);
    },
  },
]);

/** An app that remembers, and the bodies that its upstream is sent. */
function remembering(...answers: Parameters<typeof fakeUpstream>) {
  const upstream = fakeUpstream(...answers);
  const store = createMemoryStore({ now: () => NOW, limitBytes: 2 ** 20 });
  const app = newApp({ config: CONFIG, fetch: upstream.fetch, store });
  return { app, asked: () => upstream.asked.map(({ body }) => objectOf(JSON.parse(body))) };
}

testEach("R52", "a conversation goes on from its id at once", { clients: ["responses"] }, async (client, mode) => {
  const { app, asked } = remembering(() => responseOf(ALL, mode), () => responseOf(HELLO, mode));
  const input = [{ role: "user", content: "Hello" }];
  const stream = mode === "streamed";
  const { tools } = bodyFor(client, { tools: TOOLS });
  const first = await post(app, client, { model: "chat", stream, input, tools: tools! });
  const second = await post(app, client, {
    model: "chat",
    stream,
    tools: tools!,
    previous_response_id: first.id!,
    input: ["look", "find"].map((name) => ({
      type: "function_call_output",
      call_id: `call_${name}`,
      output: `what ${name} gave`,
    })),
  });
  assertEquals([second.status, second.said], [200, [{ text: "Hi" }]]);
  const turns = listOf(asked()[1]!.messages);
  assertEquals(turns.map(({ role }) => role), ["user", "assistant", "tool", "tool"]);
  assertEquals(turns.slice(2).map(({ tool_call_id }) => tool_call_id), ["call_look", "call_find"]);
  assertEquals(turns[1]!.reasoning_content, "hm");
  for (const { response } of eventsOf(second).filter(({ response }) => response)) {
    assertEquals(objectOf(response).previous_response_id, first.id);
  }
});

testEach("R52", "the id of a stream is the same from its first event to its last", {
  clients: ["responses"],
  modes: ["streamed"],
}, async (client) => {
  const view = await ask(client, bodyFor(client, { stream: true }), [() => responseOf(HELLO, "streamed")]);
  const ids = eventsOf(view).flatMap(({ response }) => response ? [objectOf(response).id] : []);
  assertEquals(new Set(ids), new Set([view.id]));
});

testEach("R52", "an id that nobody knows is refused", { clients: ["responses"] }, async (client, mode) => {
  const body = { ...bodyFor(client, { stream: mode === "streamed" }), previous_response_id: "resp_unknown" };
  const { status, error, asked } = await ask(client, body, [() => responseOf(HELLO, mode)]);
  assertEquals([status, error?.word, asked], [400, "previous_response_not_found", []]);
});

testEach("R53", "another model of a conversation gets what was visible, and nothing encrypted", {
  clients: ["responses"],
  modes: ["whole"],
}, async (client) => {
  const encrypted: JsonObject = {
    id: "resp_upstream",
    object: "response",
    status: "completed",
    model: "org/model",
    output: [
      { type: "reasoning", id: "rs_1", summary: [], encrypted_content: "gAAAAsecret" },
      {
        type: "message",
        id: "msg_1",
        role: "assistant",
        status: "completed",
        content: [{ type: "output_text", text: "Hi", annotations: [] }],
      },
    ],
    usage: { input_tokens: 5, output_tokens: 2 },
  };
  const { app, asked } = remembering(() => Response.json(encrypted), () => shortAnswer("chat"));
  const first = await post(app, client, { model: "responses", input: "Hello" });
  const second = await post(app, client, { model: "chat", input: "Go on", previous_response_id: first.id! });
  assertEquals(second.status, 200);
  assertEquals(listOf(asked()[1]!.messages).map(({ role, content }) => [role, content]), [
    ["user", "Hello"],
    ["assistant", "Hi"],
    ["user", "Go on"],
  ]);
  assert(!JSON.stringify(asked()[1]).includes("gAAAAsecret"));
});

testEach("R55", "a failure in mid-stream is a response that failed, with its code", {
  clients: ["responses"],
  modes: ["streamed"],
}, async (client) => {
  const frames = data(delta({ content: "Hi" }), { error: { message: "Slow down", code: 429 } });
  const view = await ask(client, bodyFor(client, { stream: true }), [() => streamed(frames)]);
  assertEquals([view.said, view.error?.word], [[{ text: "Hi" }], "rate_limit_exceeded"]);
  const last = eventsOf(view).at(-1)!;
  assertEquals([last.type, objectOf(last.response).status], ["response.failed", "failed"]);
});

testEach(
  "R52",
  "what a client does not want kept cannot be gone on from",
  { clients: ["responses"] },
  async (client, mode) => {
    const { app } = remembering(() => responseOf(HELLO, mode));
    const stream = mode === "streamed";
    const first = await post(app, client, { model: "chat", stream, store: false, input: "Hello" });
    assertNotEquals(first.id, undefined);
    const second = await post(app, client, { model: "chat", stream, previous_response_id: first.id!, input: "Go on" });
    assertEquals([second.status, second.error?.word], [400, "previous_response_not_found"]);
  },
);

testEach("R56", "a whole answer is made of a stream that ends without a mark", { modes: ["whole"] }, async (client) => {
  const [frames] = (data(delta({ content: "Hi" })) + chatEnd("stop")).split("data: [DONE]");
  const { said, status } = await ask(client, bodyFor(client), [() => streamed(frames!)]);
  assertEquals([status, said], [200, [{ text: "Hi" }]]);
});
