/** The table of what upstreams do that gateways of this kind get wrong: each row for each client. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import type { JsonObject } from "../../src/canonical/json.ts";
import { newApp } from "../support/app.ts";
import { bodyOf, piecesOf } from "../support/chunks.ts";
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
  objectOf,
  PATH,
  streamed,
  testAnswers,
  testEach,
  TOOLS,
  USAGE,
  type Wire,
} from "./support.ts";

const FAILED: Record<Wire, string> = { chat: "upstream_error", messages: "api_error", responses: "server_error" };
const STOP = { choices: [{ index: 0, delta: {}, finish_reason: "stop" }] };
const TWO_WORDS = data(delta({ content: "Hel" }), delta({ content: "lo" }));

const BROKEN: Record<string, () => Response> = {
  "an error after two chunks": () => streamed(TWO_WORDS + data({ error: { message: "Out of memory" } })),
  "an error event after two chunks": () =>
    streamed(`${TWO_WORDS}event: error\ndata: {"error":{"message":"Out of memory"}}\n\n`),
  "a socket that drops": () => streamed(TWO_WORDS, { failure: new TypeError("reset") }),
  "an end without a finish reason": () => streamed(TWO_WORDS),
  "a finish reason that says error": () => streamed(TWO_WORDS + chatEnd("error")),
};

for (const [what, answer] of Object.entries(BROKEN)) {
  testEach("O01", `${what} is a failure`, { modes: ["streamed"] }, async (client) => {
    const { said, end, error } = await ask(client, bodyFor(client, { stream: true }), [answer]);
    assertEquals([said, end, error?.word], [[{ text: "Hello" }], undefined, FAILED[client]]);
  });
}

/** What comes before the connection ends, and whether the answer was complete by then. */
const CUT_EVENTS: Record<string, [text: string, isComplete: boolean]> = {
  "a cut end after the finish": [`${TWO_WORDS + data(STOP)}data: [DO`, true],
  "cut counts after the finish": [`${TWO_WORDS + data(STOP)}data: {"choices":[],"usa`, true],
  "an event that is cut before the finish": [`${TWO_WORDS}data: {"choices":[{"del`, false],
  "a finish that is cut": [TWO_WORDS + data(STOP).trim().slice(0, -9), false],
};

for (const [what, [text, isComplete]] of Object.entries(CUT_EVENTS)) {
  testEach("O01", `${what} ${isComplete ? "takes nothing from the answer" : "is a failure"}`, {
    modes: ["streamed"],
  }, async (client) => {
    const { said, error } = await ask(client, bodyFor(client, { stream: true }), [() => streamed(text)]);
    assertEquals([said, error === undefined], [[{ text: "Hello" }], isComplete]);
  });
}

testEach("O01", "an error in a whole answer of status 200 is a failure", { modes: ["whole"] }, async (client) => {
  const answer = () => Response.json({ error: { message: "Out of memory" } });
  const { status, error } = await ask(client, bodyFor(client), [answer]);
  assertEquals([status, error?.word], [502, client === "messages" ? "api_error" : "upstream_error"]);
});

const SAME_INDEX = [call("look", '{"a":1}', { index: 0 }), call("find", '{"a":2}', { index: 0 })];
const PARALLEL = [call("look", '{"a":1}', { index: 0 }), call("find", '{"a":2}', { index: 1 })];
const BOTH = [{ call: "look", input: { a: 1 } }, { call: "find", input: { a: 2 } }];

function callsOf(calls: JsonObject[], finish = "tool_calls") {
  return {
    frames: chatStream(calls.map((one) => ({ tool_calls: [one] })), finish),
    whole: chatWhole({ content: null, tool_calls: calls }, finish),
  };
}

const THINK = "hm, well";
const THINKING_PART = { type: "thinking", thinking: [{ type: "text", text: THINK }] };

testAnswers([
  {
    id: "O02",
    title: "two calls with index 0 and different ids are two calls",
    answer: callsOf(SAME_INDEX),
    ask: { tools: TOOLS },
    want: { said: BOTH, end: "tool-calls" },
  },
  {
    id: "O03",
    title: "parallel calls end one before the next begins",
    answer: callsOf(PARALLEL),
    ask: { tools: TOOLS },
    want: { said: BOTH, end: "tool-calls" },
    check({ frames }, client, mode) {
      if (client !== "messages" || mode === "whole") return;
      const blocks = frames.map(({ data }) => JSON.parse(data!)).filter(({ type }) => /block_(start|stop)$/.test(type));
      assertEquals(blocks.map(({ type, index }) => [type, index]), [
        ["content_block_start", 0],
        ["content_block_stop", 0],
        ["content_block_start", 1],
        ["content_block_stop", 1],
      ]);
    },
  },
  {
    id: "O04",
    title: "finish reason stop with calls ends for the calls",
    answer: callsOf(PARALLEL, "stop"),
    ask: { tools: TOOLS },
    want: { said: BOTH, end: "tool-calls" },
  },
  {
    id: "O05",
    title: "a call with empty arguments tells an empty object",
    answer: callsOf([call("look", "", { index: 0 })]),
    ask: { tools: TOOLS },
    want: { said: [{ call: "look", input: {}, id: "call_look" }], end: "tool-calls" },
    check({ frames }, client, mode) {
      if (mode === "whole") return;
      const emitted = frames.map(({ data }) => data).filter((data) => /"arguments|partial_json/.test(data ?? ""));
      const last = JSON.parse(emitted.at(client === "responses" ? -3 : -1)!);
      const { delta, choices, arguments: args } = last;
      assertEquals(delta?.partial_json ?? choices?.[0].delta.tool_calls[0].function.arguments ?? args, "{}");
    },
  },
  ...Object.entries<(text: string) => JsonObject>({
    "reasoning": (text) => ({ reasoning: text }),
    "reasoning_content": (text) => ({ reasoning_content: text }),
    "reasoning_details": (text) => ({ reasoning_details: [{ type: "reasoning.text", text, index: 0 }] }),
    "reasoning and reasoning_details at once": (text) => ({
      reasoning: text,
      reasoning_details: [{ type: "reasoning.text", text, index: 0 }],
    }),
  }).map(([what, of]) => ({
    id: "O06",
    title: `reasoning under ${what} is reasoning, once`,
    answer: {
      frames: chatStream([of(THINK.slice(0, 4)), of(THINK.slice(4)), { content: "Hi" }]),
      whole: chatWhole({ ...of(THINK), content: "Hi" }),
    },
    want: { said: [{ reasoning: THINK }, { text: "Hi" }], end: "stop" },
  })),
  {
    id: "O06",
    title: "reasoning in a part of the content is reasoning",
    answer: {
      frames: chatStream([{ content: [THINKING_PART] }, { content: [{ type: "text", text: "Hi" }] }]),
      whole: chatWhole({ content: [THINKING_PART, { type: "text", text: "Hi" }] }),
    },
    want: { said: [{ reasoning: THINK }, { text: "Hi" }], end: "stop" },
  },
  {
    id: "O08 R54",
    title: "finish reason length is an answer that was cut",
    answer: { frames: chatStream([{ content: "Hi" }], "length"), whole: chatWhole({ content: "Hi" }, "length") },
    want: { said: [{ text: "Hi" }], end: "length" },
    check({ frames, body }, client, mode) {
      if (client !== "responses") return;
      const response = mode === "whole" ? body : objectOf(JSON.parse(frames.at(-2)!.data!).response);
      if (mode === "streamed") assertEquals(frames.at(-2)!.event, "response.incomplete");
      assertEquals([response.status, response.incomplete_details], ["incomplete", { reason: "max_output_tokens" }]);
    },
  },
  {
    id: "O09 R54",
    title: "finish reason content_filter is an answer that was filtered",
    answer: {
      frames: chatStream([{ content: "Hi" }], "content_filter"),
      whole: chatWhole({ content: "Hi" }, "content_filter"),
    },
    want: { said: [{ text: "Hi" }], end: "content-filter" },
  },
  {
    id: "O10",
    title: "an empty answer is an answer, with usage",
    answer: { frames: chatStream([{ role: "assistant", content: "" }]), whole: chatWhole({ content: "" }) },
    want: { said: [], end: "stop", usage: { input: USAGE.prompt_tokens, cached: 0, output: USAGE.completion_tokens } },
    check({ frames, body }, client, mode) {
      if (client !== "messages") return;
      const blocks = mode === "whole"
        ? body.content
        : frames.map(({ data }) => JSON.parse(data!).content_block).filter(Boolean);
      assertEquals(blocks, [{ type: "text", text: "" }]);
    },
  },
]);

testEach("O11", "429 and how long to wait reach the client", {}, async (client, mode) => {
  const limited = () => Response.json({ error: { message: "Slow" } }, { status: 429, headers: { "retry-after": "7" } });
  const { status, headers, error } = await ask(client, bodyFor(client, { stream: mode === "streamed" }), [limited]);
  const word = client === "messages" ? "rate_limit_error" : "rate_limit_exceeded";
  assertEquals([status, headers.get("retry-after"), error], [429, "7", { word, message: "Slow" }]);
});

testEach("O12", "a page of HTML with 502 is an error of the protocol, without the page", {}, async (client, mode) => {
  const page = () =>
    new Response("<!DOCTYPE html><html><body><h1>502 Bad Gateway</h1></body></html>", {
      status: 502,
      headers: { "content-type": "text/html" },
    });
  const { status, error, body } = await ask(client, bodyFor(client, { stream: mode === "streamed" }), [page]);
  assertEquals([status, error?.word], [502, client === "messages" ? "api_error" : "upstream_error"]);
  assert(!/<|Bad Gateway/.test(JSON.stringify(body)), JSON.stringify(body));
});

testEach(
  "O13",
  "a conversation that is too long is said to be so in the protocol's words",
  {},
  async (client, mode) => {
    const answer = () =>
      Response.json({
        error: {
          message:
            "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens.",
          type: "invalid_request_error",
          code: "context_length_exceeded",
        },
      }, { status: 400 });
    const { status, error } = await ask(client, bodyFor(client, { stream: mode === "streamed" }), [answer]);
    assertEquals([status, error?.word], [
      400,
      client === "messages" ? "invalid_request_error" : "context_length_exceeded",
    ]);
    if (client === "messages") assertEquals(error?.message, "prompt is too long: 9000 tokens > 8192 maximum");
  },
);

testEach("O14", "the client hears something while the upstream is silent", { modes: ["streamed"] }, async (client) => {
  const spoken = Promise.withResolvers<void>();
  const text = new TextEncoder();
  const upstream = fakeUpstream(() =>
    new Response(
      new ReadableStream({
        async start(controller) {
          controller.enqueue(text.encode(data(delta({ reasoning_content: "hm" }))));
          await spoken.promise;
          controller.enqueue(text.encode(HELLO.frames!));
          controller.close();
        },
      }),
      { headers: { "content-type": "text/event-stream" } },
    )
  );
  const pace = { headAfterMs: 10, keepAliveMs: 10, storeMs: 1000 };
  const app = newApp({ config: CONFIG, fetch: upstream.fetch, pace });
  const response = await app.post(PATH[client], bodyFor(client, { stream: true }));
  const sign = { chat: /^:/m, messages: /^event: ping$/m, responses: /^(:|event: keepalive$)/m }[client];
  let received = "";
  for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) {
    received += chunk;
    if (sign.test(received)) spoken.resolve();
  }
  assertMatch(received, sign);
  assertMatch(received, /Hi/);
});

testEach("O15", "any spelling of a stream is clean text", { modes: ["streamed"] }, async (client) => {
  const words = chatStream([{ content: "Grüße " }, { content: "\u{1f600}" }]).split("data: [DONE]")[0]!;
  const odd = `: hello\r\n\r\n${words.replaceAll("\n", "\r\n").replaceAll("data: ", "data:")}: bye\r\n\r\n`;
  const bytes = new TextEncoder().encode(odd);
  const answer = () => new Response(bodyOf(piecesOf(bytes, 1)), { headers: { "content-type": "text/event-stream" } });
  const { said, end, usage } = await ask(client, bodyFor(client, { stream: true }), [answer]);
  assertEquals([said, end, usage?.input], [[{ text: "Grüße \u{1f600}" }], "stop", USAGE.prompt_tokens]);
});

testEach("O17", "a model that nobody knows is 404 in the protocol's shape", {}, async (client, mode) => {
  const body = { ...bodyFor(client, { stream: mode === "streamed" }), model: "claude-unknown" };
  const { status, error, body: reply } = await ask(client, body, []);
  assertEquals([status, error?.word], [404, client === "messages" ? "not_found_error" : "model_not_found"]);
  assert(!JSON.stringify(reply).includes("upstream.test"));
});
