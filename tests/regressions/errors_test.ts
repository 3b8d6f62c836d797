import { assert, assertEquals, assertMatch } from "@std/assert";
import { until } from "../support/wait.ts";
import { newApp, TWO_UPSTREAMS } from "../support/app.ts";
import { bodyOf, piecesOf } from "../support/chunks.ts";
import { fakeUpstream } from "../support/fake_upstream.ts";
import {
  ask,
  bodyFor,
  chatEnd,
  chatStream,
  CONFIG,
  data,
  delta,
  HELLO,
  objectOf,
  PATH,
  post,
  responseOf,
  shortAnswer,
  streamed,
  testEach,
  type Wire,
} from "./support.ts";

/** How each protocol names a failure of the upstream, in mid-stream. */
const UPSTREAM_FAILED: Record<Wire, string> = {
  chat: "upstream_error",
  messages: "api_error",
  responses: "server_error",
};

/** `TWO_UPSTREAMS`, with the model's name of these tests. */
const TWO = { ...TWO_UPSTREAMS, lanes: { oss: { models: { chat: TWO_UPSTREAMS.lanes.oss.models.model } } } };

const BREAKS: Record<string, () => Response> = {
  "an error in the stream": () => streamed(data(delta({ content: "Hi" }), { error: { message: "Out of memory" } })),
  "a connection that breaks": () => streamed(data(delta({ content: "Hi" })), { failure: new TypeError("reset") }),
  "an end without a finish reason": () => streamed(data(delta({ content: "Hi" }))),
};

for (const [what, answer] of Object.entries(BREAKS)) {
  testEach("R58", `${what} is a failure and no ending`, { modes: ["streamed"] }, async (client) => {
    const { said, end, error } = await ask(client, bodyFor(client, { stream: true }), [answer]);
    assertEquals([said, end, error?.word], [[{ text: "Hi" }], undefined, UPSTREAM_FAILED[client]]);
  });
}

const BEFORE_CONTENT: Record<string, () => Response> = {
  "an error in place of content": () => streamed(": ping\n\n" + data({ error: { message: "Overloaded", code: 503 } })),
  "an error after a role and nothing else": () =>
    streamed(data(delta({ role: "assistant", content: "" }), { error: { message: "Overloaded", code: 503 } })),
  "an end before any content": () => streamed(": ping\n\n"),
};

for (const [what, answer] of Object.entries(BEFORE_CONTENT)) {
  testEach("R59", `${what} leads to the next upstream`, { modes: ["streamed"] }, async (client) => {
    const setting = { config: TWO };
    const { said, end, upstream } = await ask(client, bodyFor(client, { stream: true }), [
      answer,
      () => responseOf(HELLO, "streamed"),
    ], setting);
    assertEquals([said, end], [[{ text: "Hi" }], "stop"]);
    assertEquals(upstream.asked.map(({ url }) => url.hostname), ["first.test", "second.test"]);
  });
}

testEach(
  "R60",
  "once content is out, a failure is told and nobody else is asked",
  { modes: ["streamed"] },
  async (client) => {
    const { said, error, upstream } = await ask(client, bodyFor(client, { stream: true }), [
      BREAKS["a connection that breaks"]!,
      () => responseOf(HELLO, "streamed"),
    ], { config: TWO });
    assertEquals([said, error?.word, upstream.asked.length], [[{ text: "Hi" }], UPSTREAM_FAILED[client], 1]);
  },
);

testEach(
  "R61",
  "a silent upstream keeps nobody waiting in silence, and not for ever",
  { modes: ["streamed"] },
  async (client) => {
    const config = {
      ...CONFIG,
      upstreams: { ...CONFIG.upstreams, chat: { ...CONFIG.upstreams.chat, timeouts: { idleMs: 300 } } },
    };
    const pace = { headAfterMs: 10, keepAliveMs: 20, storeMs: 1000 };
    const silent = ({ signal }: { signal: AbortSignal }) => {
      const text = new TextEncoder().encode(data(delta({ reasoning_content: "hm" })));
      const body = new ReadableStream({
        start(controller) {
          controller.enqueue(text);
          signal.addEventListener("abort", () => controller.error(signal.reason));
        },
      });
      return new Response(body, { headers: { "content-type": "text/event-stream" } });
    };
    const upstream = fakeUpstream(silent);
    const app = newApp({ config, fetch: upstream.fetch, pace });
    const response = await app.post(PATH[client], bodyFor(client, { stream: true }));
    const text = await response.text();
    const sign = { chat: /^:/gm, messages: /^event: ping$/gm, responses: /^(:|event: keepalive$)/gm }[client];
    assert((text.match(sign) ?? []).length >= 2, text);
    assertMatch(text, /timeout|server_error/);
    assert(!/"finish_reason":"stop"|message_stop|response\.completed/.test(text), text);
  },
);

testEach("R62", "a client that leaves ends the upstream's work", {}, async (client, mode) => {
  const left = new AbortController();
  const upstream = fakeUpstream(({ signal }) =>
    new Promise<Response>((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)))
  );
  const app = newApp({ config: CONFIG, fetch: upstream.fetch });
  const body = JSON.stringify(bodyFor(client, { stream: mode === "streamed" }));
  const request = new Request(`http://gateway${PATH[client]}`, { method: "POST", body, signal: left.signal });
  const response = app.fetch(request);
  await until(() => upstream.asked.length === 1);
  left.abort();
  assert(upstream.asked[0]!.signal.aborted);
  await (await response).body?.cancel();
  assertEquals(app.logs.map(({ status }) => status), [499]);
});

testEach("R63", "how long to wait is passed on", {}, async (client, mode) => {
  const limited = () =>
    Response.json({ error: { message: "Slow down" } }, { status: 429, headers: { "retry-after": "7" } });
  const { status, headers, error } = await ask(client, bodyFor(client, { stream: mode === "streamed" }), [limited]);
  const word = { chat: "rate_limit_exceeded", messages: "rate_limit_error", responses: "rate_limit_exceeded" }[client];
  assertEquals([status, headers.get("retry-after"), error?.word], [429, "7", word]);
});

const FAILURES: Record<string, () => Response> = {
  "no connection": () => {
    throw new TypeError("connection refused");
  },
  ...Object.fromEntries(
    [429, 500, 502, 503, 529].map((status) => [
      `status ${status}`,
      () => Response.json({ error: { message: "No" } }, { status }),
    ]),
  ),
};

for (const [what, answer] of Object.entries(FAILURES)) {
  testEach("R63", `after ${what} the next upstream is asked`, {}, async (client, mode) => {
    const answers = [answer, () => responseOf(HELLO, mode)];
    const { said } = await ask(client, bodyFor(client, { stream: mode === "streamed" }), answers, { config: TWO });
    assertEquals(said, [{ text: "Hi" }]);
  });
}

for (const refused of [400, 413, 422]) {
  testEach("R63", `what the caller did wrong (${refused}) is not asked of anybody else`, {}, async (client, mode) => {
    const { status, upstream } = await ask(client, bodyFor(client, { stream: mode === "streamed" }), [
      () => Response.json({ error: { message: "Your request is wrong" } }, { status: refused }),
      () => responseOf(HELLO, mode),
    ], { config: TWO });
    assertEquals(upstream.asked.length, 1);
    assert(status >= 400 && status < 500, String(status));
  });
}

testEach(
  "R64",
  "a failure says nothing of requests that have nothing to do with it",
  { modes: ["whole"] },
  async (client) => {
    const { app, status } = await ask(client, bodyFor(client), [
      () => Response.json({ error: { message: "No" } }, { status: 500 }),
      () => shortAnswer("messages"),
      () => shortAnswer("chat"),
    ]);
    assertEquals(status, 502);
    assertEquals((await post(app, client, bodyFor(client, {}, "messages"))).said, [{ text: "Hi" }]);
    assertEquals((await post(app, client, bodyFor(client))).said, [{ text: "Hi" }]);
  },
);

const TRACE = 'Traceback (most recent call last):\n  File "/srv/app/engine.py", line 3, in run\nValueError: no';
const PAGES: Record<string, () => Response> = {
  "a page of HTML": () =>
    new Response("<html><head><title>502</title></head><body>nginx /srv/app</body></html>", {
      status: 502,
      headers: { "content-type": "text/html" },
    }),
  "a stack trace": () => Response.json({ error: { message: TRACE } }, { status: 500 }),
  "a connection error with a path": () => {
    throw new TypeError("error sending request for url (http://10.0.0.1/srv/app): secret-1");
  },
};

for (const [what, answer] of Object.entries(PAGES)) {
  testEach("R65", `${what} stays inside`, {}, async (client, mode) => {
    const { status, body, headers } = await ask(client, bodyFor(client, { stream: mode === "streamed" }), [answer]);
    assert([502, 503, 529].includes(status), String(status));
    assert(!/<html|nginx|srv\/app|Traceback|10\.0\.0\.1|secret-1|upstream\.test/.test(JSON.stringify(body)));
    assertMatch(headers.get("x-request-id") ?? "", /^req_/);
    const error = objectOf(body.error);
    assertEquals(
      [body.type, Object.keys(error).includes("code")],
      client === "messages" ? ["error", false] : [undefined, true],
    );
  });
}

testEach("R65", "a model that nobody knows is refused in the protocol's shape", {}, async (client, mode) => {
  const body = { ...bodyFor(client, { stream: mode === "streamed" }), model: "claude-made-up" };
  const { status, error } = await ask(client, body, []);
  assertEquals([status, error?.word], [404, client === "messages" ? "not_found_error" : "model_not_found"]);
});

const OVERFLOWS: [says: string, expected: string | RegExp][] = [
  [
    "This model's maximum context length is 8192 tokens. However, your prompt has 9000 tokens.",
    "prompt is too long: 9000 tokens > 8192 maximum",
  ],
  ["the request exceeds the available context size", /^prompt is too long/],
];

for (const [number, [says, expected]] of OVERFLOWS.entries()) {
  testEach("R66", `an overflow is told in the words that clients know (${number + 1})`, {}, async (client, mode) => {
    const { status, error } = await ask(client, bodyFor(client, { stream: mode === "streamed" }), [
      () => Response.json({ error: { message: says, type: "invalid_request_error" } }, { status: 400 }),
    ]);
    const word = client === "messages" ? "invalid_request_error" : "context_length_exceeded";
    assertEquals([status, error?.word], [400, word]);
    if (client === "messages") assertMatch(error!.message, new RegExp(expected));
  });
}

testEach("R67", "odd names and odd bytes crash nothing", { modes: ["whole"] }, async (client) => {
  const { app } = await ask(client, bodyFor(client), [() => shortAnswer("chat")]);
  for (const body of ["", "null", "[]", '"', '{"model":"模型\\u0000\\ud800"}', "\u0000", '{"model":{}}']) {
    const response = await app.post(PATH[client], body);
    assert(response.status >= 400 && response.status < 500, `${body}: ${response.status}`);
    await response.body?.cancel();
  }
  assertEquals((await post(app, client, bodyFor(client))).status, 200);
});

const TEXT = "Grüße, 世界 \u{1f600}";
const ONE = chatStream([{ reasoning_content: TEXT }, { content: TEXT }]);

const SPELLINGS: Record<string, string> = {
  "one byte at a time": ONE,
  "with CRLF": ONE.replaceAll("\n", "\r\n"),
  "without a space after data:": ONE.replaceAll("data: ", "data:"),
  "with a byte order mark": `\ufeff${ONE}`,
  "with data in several lines": data(delta({ reasoning_content: TEXT })).replace(",", ",\ndata: ") +
    data(delta({ content: TEXT })) + chatEnd("stop"),
  "with comments and no [DONE]": `: hello\n\n${
    ONE.replaceAll("data: {", ": ping\n\ndata: {").split("data: [DONE]")[0]
  }`,
};

for (const [what, text] of Object.entries(SPELLINGS)) {
  testEach("R68", `a stream ${what} is read as it is meant`, { modes: ["streamed"] }, async (client) => {
    const bytes = new TextEncoder().encode(text);
    const answer = () => new Response(bodyOf(piecesOf(bytes, 1)), { headers: { "content-type": "text/event-stream" } });
    const { said, end } = await ask(client, bodyFor(client, { stream: true }), [answer]);
    assertEquals([said, end], [[{ reasoning: TEXT }, { text: TEXT }], "stop"]);
  });
}

testEach("R70", "pings and events that nobody knows are no content", { modes: ["streamed"] }, async (client) => {
  const frames =
    `event: ping\ndata: {"type":"ping"}\n\n: keep-alive\n\nevent: made_up\ndata: {"made":"up"}\n\n${HELLO.frames}`;
  const { said, end } = await ask(client, bodyFor(client, { stream: true }), [() => streamed(frames)]);
  assertEquals([said, end], [[{ text: "Hi" }], "stop"]);
});
