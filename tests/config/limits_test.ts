/** Every limit of the configuration, reached: each is told for what it is, and nothing is asked of an upstream. */
import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { formatLogLine } from "../../src/observe/log.ts";
import { CHAT, chatBody, CONFIG, type ConfigInput, newApp } from "../support/app.ts";
import { ANSWER, answerStream, answerWhole, ENDING, frame, word } from "../support/chat.ts";
import { fakeUpstream } from "../support/fake_upstream.ts";
import { within } from "../support/wait.ts";

const TURN = { role: "user", content: "Hello" };
const MESSAGES = "/oss/v1/messages";
const RESPONSES = "/oss/v1/responses";

type Limits = NonNullable<ConfigInput["limits"]>;

/** What a request that goes beyond a limit is told, in the shape of each protocol. */
const CASES: { limits: Limits; status: number; code: string; message: string; body?: object; init?: RequestInit }[] = [
  {
    limits: { headerBytes: 1_024 },
    init: { headers: { "x-long": "a".repeat(1_024) } },
    status: 431,
    code: "headers_too_large",
    message: "The headers are longer than 1024 bytes",
  },
  {
    limits: { bodyBytes: 1_000 },
    body: { metadata: { a: "a".repeat(1_000) } },
    status: 413,
    code: "request_too_large",
    message: "The body is larger than the limit of 1000 bytes",
  },
  {
    limits: { jsonDepth: 10 },
    body: { metadata: JSON.parse("[".repeat(11) + "]".repeat(11)) },
    status: 400,
    code: "invalid_request_error",
    message: "nested deeper than 10 levels",
  },
  {
    limits: { jsonValues: 100 },
    body: { metadata: { a: new Array(100).fill(null) } },
    status: 400,
    code: "invalid_request_error",
    message: "The body contains more than 100 JSON values",
  },
  {
    limits: { jsonNumbers: 100 },
    body: { metadata: { a: new Array(50).fill(1), b: new Array(51).fill(-1.5e3) } },
    status: 400,
    code: "invalid_request_error",
    message: "The body contains more than 100 numbers",
  },
  {
    limits: { jsonNames: 100 },
    body: { metadata: Object.fromEntries(Array.from({ length: 100 }, (_, at) => [`k${at}`, 1])) },
    status: 400,
    code: "invalid_request_error",
    message: "The body contains more than 100 distinct field names",
  },
];

for (const { limits, status, code, message, body = {}, init } of CASES) {
  const [name] = Object.keys(limits);
  Deno.test(`limits.${name}: beyond it the answer is ${status}, in every protocol`, async () => {
    const upstream = fakeUpstream(() => answerWhole());
    const app = newApp({ config: { ...CONFIG, limits }, fetch: upstream.fetch });
    for (const path of [CHAT, MESSAGES, RESPONSES]) {
      const request = { model: "model", max_tokens: 9, messages: [TURN], input: "Hello", ...body };
      const text = JSON.stringify(request);
      const response = await app.fetch(
        new Request(`http://gateway${path}`, { method: "POST", body: text, ...init }),
      );
      const { error } = await response.json();
      assertEquals(response.status, status, path);
      assertStringIncludes(error.message, message);
      if (path !== MESSAGES) assertEquals(error.code ?? error.type, code);
    }
    assertEquals(upstream.asked, []);
  });
}

Deno.test("limits.bodyBytes: what a body becomes counts too", async () => {
  const app = newApp({ config: { ...CONFIG, limits: { bodyBytes: 1_000 } } });
  const text = JSON.stringify({ ...chatBody(), user: "a".repeat(100_000) });
  const body = new Blob([text]).stream().pipeThrough(new CompressionStream("gzip"));
  const init = { method: "POST", body, headers: { "content-encoding": "gzip" } };
  const response = await app.fetch(new Request(`http://gateway${CHAT}`, init));
  assertEquals(response.status, 413);
  assertStringIncludes((await response.json()).error.message, "decompressed body is larger than the limit");
});

for (
  const [name, limits, words] of [
    ["bodyMs", { bodyMs: 20 }, "it took longer than 0.02 s"],
    ["stallMs", { stallMs: 20 }, "nothing came for 0.02 s"],
  ] as const
) {
  Deno.test(`limits.${name}: a body that does not come is not waited for`, async () => {
    const app = newApp({ config: { ...CONFIG, limits } });
    const body = new ReadableStream({
      start: (controller) => controller.enqueue(new TextEncoder().encode('{"model":')),
    });
    const response = await within(app.fetch(new Request(`http://gateway${CHAT}`, { method: "POST", body })));
    assertEquals([response.status, (await response.json()).error.message], [408, `Cannot read the body: ${words}`]);
  });
}

Deno.test("limits.uploadMs: nor a file", async () => {
  const app = newApp({ config: { ...CONFIG, limits: { uploadMs: 20 } } });
  const body = new ReadableStream({ start: (controller) => controller.enqueue(new TextEncoder().encode("--a\r\n")) });
  const headers = { "content-type": "multipart/form-data; boundary=a" };
  const init = { method: "POST", body, headers };
  const request = new Request("http://gateway/oss/v1/audio/transcriptions", init);
  const response = await within(app.fetch(request));
  assertEquals(response.status, 408);
  await response.body?.cancel();
});

const TEXTS = ["a", "b", "c"].map((text) => ({ type: "text", text }));

for (
  const [name, more] of [
    ["messages", { messages: [TURN, TURN, TURN] }],
    ["parts", { messages: [{ role: "user", content: TEXTS }] }],
    // A result is one, and what it holds two more.
    ["parts", {
      messages: [{ role: "user", content: [{ type: "tool_result", tool_use_id: "a", content: TEXTS.slice(1) }] }],
    }],
    [
      "tools",
      { messages: [TURN], tools: ["a", "b", "c"].map((name) => ({ name, input_schema: { type: "object" } })) },
    ],
  ] as const
) {
  Deno.test(`limits.${name}: one too many is told, with its number`, async () => {
    const upstream = fakeUpstream(() => answerWhole());
    const app = newApp({ config: { ...CONFIG, limits: { [name]: 2 } }, fetch: upstream.fetch });
    const response = await app.post(MESSAGES, { model: "model", max_tokens: 9, ...more });
    const { error } = await response.json();
    assertEquals([response.status, error.message], [400, `Too many ${name}: 3, the limit is 2`]);
    assertEquals(upstream.asked, []);
  });
}

const LONG = "a".repeat(2_000);

Deno.test("limits.answerBytes: an upstream's answer that has no end is its failure", async () => {
  const config = { ...CONFIG, limits: { answerBytes: 2_000 } };
  for (const stream of [false, true]) {
    for (const status of [200, 400]) {
      const upstream = fakeUpstream(() => Response.json({ message: LONG }, { status }));
      const response = await newApp({ config, fetch: upstream.fetch }).post(CHAT, chatBody({ stream }));
      assertEquals(response.status, 502);
      const { error } = await response.json();
      assertEquals(error.message, "The upstream's answer is longer than 2000 bytes");
    }
  }
  const short = newApp({ config, fetch: fakeUpstream(() => answerWhole()).fetch });
  assertEquals((await (await short.post(CHAT, chatBody())).json()).choices[0].message.content, "whole");
});

/** What a model writes, as a delta or a message of the chat wire. */
const WRITTEN: Record<string, (text: string) => object> = {
  text: (content) => ({ content }),
  reasoning: (reasoning_content) => ({ reasoning_content }),
  arguments: (args) => ({ tool_calls: [{ index: 0, id: "call_1", function: { name: "f", arguments: args } }] }),
};

Deno.test("limits.answerText: a model that writes more fails, whole and streamed, in every protocol", async () => {
  const pieces = Array.from({ length: 6 }, () => "a".repeat(50));
  for (const [kind, delta] of Object.entries(WRITTEN)) {
    const message = { role: "assistant", content: null, ...delta(pieces.join("")) };
    const whole = () => Response.json({ ...ANSWER, choices: [{ index: 0, finish_reason: "stop", message }] });
    const streamed = () => answerStream([...pieces.map((piece) => frame({ delta: delta(piece) })), ENDING]);
    for (const path of [CHAT, MESSAGES, RESPONSES]) {
      for (const stream of [false, true]) {
        for (const answer of [whole, streamed]) {
          for (const answerText of [299, 300]) {
            const config = { ...CONFIG, limits: { answerText } };
            const app = newApp({ config, fetch: fakeUpstream(answer).fetch });
            const body = { model: "model", max_tokens: 9, messages: [TURN], input: "Hello", stream };
            const text = await (await app.post(path, body)).text();
            const isRefused = text.includes("The upstream's answer has more than 299 characters of text");
            assertEquals(isRefused, answerText === 299, `${kind}, ${path}, ${stream}, ${answer.name}: ${text}`);
          }
        }
      }
    }
  }
});

Deno.test("limits.json*: an answer of more is the upstream's failure, and is not parsed", async () => {
  const names = Object.fromEntries(Array.from({ length: 100 }, (_, at) => [`k${at}`, 1]));
  const cases = [
    [{ jsonValues: 100 }, { more: new Array(100).fill({}) }, "contains more than 100 JSON values"],
    [{ jsonNumbers: 100 }, { more: new Array(101).fill(1) }, "contains more than 100 numbers"],
    [{ jsonNames: 100 }, { more: names }, "contains more than 100 distinct field names"],
  ] as const;
  for (const [limits, more, excess] of cases) {
    const ask = async (answer: () => Response, stream: boolean) => {
      const upstream = fakeUpstream(answer);
      const app = newApp({ config: { ...CONFIG, limits }, fetch: upstream.fetch });
      const response = await app.post(CHAT, chatBody({ stream }));
      return { status: response.status, text: await response.text(), asked: upstream.asked.length };
    };
    for (const stream of [false, true]) {
      const whole = await ask(() => Response.json({ ...ANSWER, ...more }), stream);
      assertStringIncludes(whole.text, `The upstream's answer ${excess}`);
      assertEquals([whole.status, whole.asked], [502, 1]);
      // The status of an error says enough.
      const refused = await ask(() => Response.json({ error: { message: "no", ...more } }, { status: 400 }), stream);
      assertEquals([refused.status, refused.asked], [400, 1]);
    }
    const event = `data: ${JSON.stringify({ choices: [], ...more })}\n\n`;
    const first = await ask(() => answerStream([event, word("one"), ENDING]), true);
    assertEquals(first.status, 502);
    const later = await ask(() => answerStream([word("one"), event, ENDING]), true);
    for (const { text } of [first, later]) {
      assertStringIncludes(text, `The upstream's stream holds an event that ${excess}`);
      assertEquals(text.includes("[DONE]"), false);
    }
    const collected = await ask(() => answerStream([word("one"), event, ENDING]), false);
    assertStringIncludes(collected.text, `The upstream's stream holds an event that ${excess}`);
    // Each event is counted for itself.
    const many = await ask(() => answerStream([...Array(50).fill(word("one")), ENDING]), true);
    assertStringIncludes(many.text, "[DONE]");
  }
});

Deno.test("limits.jsonNumbers: vectors may hold as many as there is room for", async () => {
  const config = {
    upstreams: CONFIG.upstreams,
    lanes: { oss: { models: { model: { task: "embedding", targets: CONFIG.lanes.oss.models.model.targets } } } },
    limits: { jsonNumbers: 100 },
  } as ConfigInput;
  const embedding = Array.from({ length: 1_000 }, (_, at) => at / 8);
  const upstream = fakeUpstream(() =>
    Response.json({ object: "list", data: [{ object: "embedding", index: 0, embedding }] })
  );
  const app = newApp({ config, fetch: upstream.fetch });
  const response = await app.post("/oss/v1/embeddings", { model: "model", input: "a" });
  assertEquals((await response.json()).data[0].embedding.length, 1_000);
  const refused = await app.post("/oss/v1/embeddings", { model: "model", input: new Array(101).fill(1) });
  assertEquals(refused.status, 400);
  assertStringIncludes(await refused.text(), "more than 100 numbers");
});

/** Each within the limits, and all together not. */
const MANY_CALLS = Array.from({ length: 30 }, (_, at) => ({
  id: `call_${at}`,
  name: "f",
  arguments: JSON.stringify({ list: new Array(40).fill({}) }),
}));
const CHAT_CALLS = MANY_CALLS.map(({ id, ...call }) => ({ id, type: "function", function: call }));

Deno.test("limits.jsonValues: the arguments of all calls are counted together, though each is a text", async () => {
  const history: [path: string, body: object][] = [
    [CHAT, { messages: [TURN, { role: "assistant", tool_calls: CHAT_CALLS }] }],
    [RESPONSES, {
      input: [TURN, ...MANY_CALLS.map(({ id, ...call }) => ({ type: "function_call", call_id: id, ...call }))],
    }],
  ];
  for (const [path, body] of history) {
    for (const [jsonValues, status] of [[1_000, 400], [2_000, 200]]) {
      const upstream = fakeUpstream(() => answerWhole());
      const app = newApp({ config: { ...CONFIG, limits: { jsonValues } }, fetch: upstream.fetch });
      const response = await app.post(path, { model: "model", ...body });
      const text = await response.text();
      assertEquals([response.status, upstream.asked.length], [status, status === 200 ? 1 : 0], text);
      if (status === 400) {
        assertStringIncludes(text, "The JSON of all calls' arguments contains more than 1000 JSON values");
      }
    }
  }
});

Deno.test("limits.jsonValues: so they are in an answer, on every wire", async () => {
  const message = { role: "assistant", content: null, tool_calls: CHAT_CALLS };
  const answer = { ...ANSWER, choices: [{ index: 0, finish_reason: "tool_calls", message }] };
  for (const path of [CHAT, MESSAGES, RESPONSES]) {
    for (const [jsonValues, status] of [[1_000, 502], [2_000, 200]]) {
      const config = { ...CONFIG, limits: { jsonValues } };
      const app = newApp({ config, fetch: fakeUpstream(() => Response.json(answer)).fetch });
      const response = await app.post(path, { model: "model", max_tokens: 9, messages: [TURN], input: "Hello" });
      const text = await response.text();
      assertEquals(response.status, status, text);
      if (status === 502) assertStringIncludes(text, "calls whose arguments' JSON contains more than 1000 JSON values");
    }
  }
});

Deno.test("limits.jsonValues: so is an event of more lines, which has no end", async () => {
  const config = { ...CONFIG, limits: { jsonValues: 1_000 } };
  const upstream = fakeUpstream(() => answerStream([word("one"), "data:\n".repeat(200_000), ENDING]));
  const text = await (await newApp({ config, fetch: upstream.fetch }).post(CHAT, chatBody({ stream: true }))).text();
  assertStringIncludes(text, "a frame that is too long");
});

Deno.test("limits.frameBytes: an event or a line that has no end is the upstream's failure", async () => {
  const config = { ...CONFIG, limits: { frameBytes: 1_000 } };
  const ask = async (frames: string[]) => {
    const app = newApp({ config, fetch: fakeUpstream(() => answerStream(frames)).fetch });
    const response = await app.post(CHAT, chatBody({ stream: true }));
    return await response.text();
  };
  for (const frames of [[`data: ${LONG}`, LONG], [`: ${LONG}`, LONG], [word("one"), `data: ${LONG}`, LONG]]) {
    assertStringIncludes(await ask(frames), "a frame that is too long");
  }
  assertStringIncludes(await ask([...Array(50).fill(word("one")), ENDING]), "[DONE]");
});

Deno.test("limits.streamBytes: a stream that has no end is ended, with one error in each protocol", async () => {
  const config = { ...CONFIG, limits: { streamBytes: 4_000 } };
  const message = "The upstream's stream is longer than 4000 bytes";
  const request = { model: "model", max_tokens: 9, messages: [TURN], input: "Hello", stream: true };
  for (const [path, error] of [[CHAT, '"error":'], [MESSAGES, "event: error"], [RESPONSES, "event: response.failed"]]) {
    const upstream = fakeUpstream(endless);
    const text = await (await newApp({ config, fetch: upstream.fetch }).post(path!, request)).text();
    assertStringIncludes(text, '"one');
    assertEquals([text.split(message).length - 1, text.split(error!).length - 1], [1, 1], path);
    const endings = text.slice(text.indexOf(message)).split("\n\n").filter((frame) => frame !== "data: [DONE]");
    assertEquals([endings.length, text.includes("[DONE]")], [2, path === RESPONSES], path);
    assertEquals(upstream.asked.length, 1);
  }
  const short = newApp({ config, fetch: fakeUpstream(() => answerStream([word("one"), ENDING])).fetch });
  assertStringIncludes(await (await short.post(CHAT, chatBody({ stream: true }))).text(), "[DONE]");

  function endless(): Response {
    const body = new ReadableStream({
      pull: (controller) => controller.enqueue(new TextEncoder().encode(word("one"))),
    });
    return new Response(body, { headers: { "content-type": "text/event-stream" } });
  }
});

Deno.test("limits.streamBytes: so is speech, whose bytes fail and whose events end with an error", async () => {
  const target = { upstream: "fake", model: "org/speech" };
  const lanes = { oss: { models: { speech: { task: "speech" as const, targets: [target] } } } };
  const config = { ...CONFIG, lanes, limits: { streamBytes: 4_000 } };
  let left = 0;
  const endless = () => {
    const body = new ReadableStream({
      pull: (controller) => controller.enqueue(new Uint8Array(500).fill(7)),
      cancel: () => void left++,
    });
    return new Response(body, { headers: { "content-type": "audio/mpeg" } });
  };
  const app = newApp({ config, fetch: fakeUpstream(endless).fetch });
  const speech = { model: "speech", input: "Hello", voice: "alloy", response_format: "mp3" };
  const bytes = await app.post("/oss/v1/audio/speech", speech);
  assertEquals(bytes.status, 200);
  let length = 0;
  await assertRejects(async () => {
    for await (const piece of bytes.body!) length += piece.length;
  });
  assertEquals(length, 4_000);
  assertStringIncludes(formatLogLine(app.logs[0]!), "The upstream's stream is longer than 4000 bytes");
  const events = await (await app.post("/oss/v1/audio/speech", { ...speech, stream_format: "sse" })).text();
  assertEquals(events.split("speech.audio.delta").length > 2, true);
  assertEquals(events.split("The upstream's stream is longer than 4000 bytes").length - 1, 1);
  assert(!events.includes("speech.audio.done"));
  assertEquals(left, 2);
});

Deno.test("limits.tools: beyond it many times over, too, wherever the tools come up in the conversation", async () => {
  const tools = Array.from({ length: 20_000 }, (_, at) => ({ type: "function", name: `tool_${at}` }));
  const app = newApp();
  const response = await app.post(RESPONSES, { model: "model", input: [{ type: "additional_tools", tools }, TURN] });
  const { error } = await response.json();
  assertEquals([response.status, error.param], [400, "tools"]);
});

Deno.test("limits.bodyBytes: a stored conversation grows no longer than one request may be", async () => {
  const app = newApp({
    config: { ...CONFIG, limits: { bodyBytes: 2_000 } },
    fetch: fakeUpstream(() => answerWhole()).fetch,
  });
  const statuses: number[] = [];
  let previous: unknown;
  let text = "";
  for (let turn = 0; turn < 4; turn++) {
    const body = { model: "model", input: "a".repeat(900), store: true, previous_response_id: previous };
    const response = await app.post(RESPONSES, body);
    statuses.push(response.status);
    text = await response.text();
    previous = JSON.parse(text).id ?? previous;
  }
  assertEquals(statuses, [200, 200, 200, 400]);
  assertStringIncludes(text, "The stored conversation is longer than one request may be: start a new one");
});
