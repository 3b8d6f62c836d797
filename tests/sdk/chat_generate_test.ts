import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { newApp, type TestApp } from "../support/app.ts";
import type { FakeUpstream } from "../support/fake_upstream.ts";
import { until, within } from "../support/wait.ts";
import { MAJORS, messageOf, newClient, type OpenAI, recorded, recordedUpstream } from "./chat_clients.ts";

const HELLO: OpenAI.ChatCompletionMessageParam[] = [{ role: "user", content: "Hello" }];

interface Setting {
  client: OpenAI;
  app: TestApp;
  upstream: FakeUpstream;
}

/** One test for each major, in front of the sandbox and of an upstream that answers with these recordings. */
function test(name: string, recordings: string[], act: (setting: Setting) => Promise<void>): void {
  for (const major of MAJORS) {
    Deno.test(`openai ${major.major}: ${name}`, async () => {
      const upstream = recordedUpstream(...recordings);
      const app = newApp({ fetch: upstream.fetch });
      await act({ client: newClient(major, app), app, upstream });
    });
  }
}

const RECORDED_TEXTS = ["chat-default", "chat-unicode", "chat-stop", "chat-long", "chat-json", "chat-system-array"];

test("a whole answer of the sandbox", [], async ({ client }) => {
  const answer = await client.chat.completions.create({ model: "sandbox", messages: HELLO });
  assertEquals([answer.object, answer.model, answer._request_id], ["chat.completion", "sandbox", "req_1"]);
  const { message, finish_reason } = answer.choices[0]!;
  assertStringIncludes(message.content!, 'your last text was "Hello"');
  assertEquals([message.role, message.refusal, finish_reason], ["assistant", null, "stop"]);
  assert(answer.usage!.prompt_tokens > 0 && answer.usage!.completion_tokens > 0);
});

for (const name of RECORDED_TEXTS) {
  test(`a whole answer as recorded: ${name}`, [name], async ({ client }) => {
    const answer = await client.chat.completions.create({ model: "model", messages: HELLO });
    const expected = recorded(name).response.json as unknown as OpenAI.ChatCompletion;
    assertEquals(answer.choices[0]!.message.content, expected.choices[0]!.message.content);
    assertEquals(answer.choices[0]!.finish_reason, expected.choices[0]!.finish_reason);
    assertEquals(answer.usage!.total_tokens, expected.usage!.total_tokens);
    assertEquals(answer.model, "model");
  });
}

/** Reads a stream with the helper, which checks what it is fed. */
async function readWithHelper(client: OpenAI, model: string) {
  const stream = client.chat.completions.stream({
    model,
    messages: HELLO,
    stream_options: { include_usage: true },
  });
  const deltas: string[] = [];
  const snapshots: string[] = [];
  stream.on("content", (delta, snapshot) => {
    deltas.push(delta);
    snapshots.push(snapshot);
  });
  const completion = await stream.finalChatCompletion();
  const content = await stream.finalContent();
  assertEquals([deltas.join(""), snapshots.at(-1)], [content, content]);
  return { completion, deltas };
}

test("the stream helper reads the sandbox, word by word", [], async ({ client }) => {
  const { completion, deltas } = await readWithHelper(client, "sandbox");
  const whole = await client.chat.completions.create({ model: "sandbox", messages: HELLO });
  assert(deltas.length > 10);
  assertEquals(completion.choices[0]!.message.content, whole.choices[0]!.message.content);
  assertEquals(completion.usage, whole.usage);
});

for (const name of RECORDED_TEXTS) {
  test(`the stream helper reads what was recorded: ${name}`, [name], async ({ client }) => {
    const { completion } = await readWithHelper(client, "model");
    const whole = recorded(name).response.json as unknown as OpenAI.ChatCompletion;
    assertEquals(completion.choices[0]!.message.content, whole.choices[0]!.message.content);
    assertEquals(completion.choices[0]!.finish_reason, whole.choices[0]!.finish_reason);
    assertEquals(completion.usage!.completion_tokens, whole.usage!.completion_tokens);
  });
}

for (const [model, recordings] of [["sandbox", []], ["model", ["chat-default"]]] as const) {
  test(`the chunks of a stream: ${model}`, [...recordings], async ({ client }) => {
    const body = { model, messages: HELLO, stream: true } as const;
    const chunks: OpenAI.ChatCompletionChunk[] = [];
    const shown = await client.chat.completions.create({ ...body, stream_options: { include_usage: true } });
    for await (const chunk of shown) chunks.push(chunk);
    assertEquals([...new Set(chunks.map(({ id, object, model }) => `${id} ${object} ${model}`))], [
      `chatcmpl-2 chat.completion.chunk ${model}`,
    ]);
    assertEquals(chunks[0]!.choices[0]!.delta, { role: "assistant", content: "" });
    assertEquals(chunks.at(-2)!.choices[0]!.finish_reason, "stop");
    assertEquals(chunks.at(-1)!.choices, []);
    assert(chunks.at(-1)!.usage!.prompt_tokens > 0);
    assertEquals(chunks.slice(0, -1).every(({ usage, choices }) => usage === null && choices.length === 1), true);

    const plain = await client.chat.completions.create(body);
    for await (const chunk of plain) {
      assertEquals(["usage" in chunk, chunk.choices.length], [false, 1]);
    }
  });
}

// Tools

const PARAMETERS = { type: "object", properties: { location: { type: "string" } }, required: ["location"] };

function weatherTool(asked: string[]) {
  return {
    type: "function" as const,
    function: {
      name: "get_weather",
      description: "Get the weather",
      parameters: PARAMETERS,
      parse: JSON.parse,
      function: ({ location }: { location: string }) => {
        asked.push(location);
        return `Sunny in ${location}`;
      },
    },
  };
}

const ASK_WEATHER: OpenAI.ChatCompletionMessageParam[] = [{ role: "user", content: "Call get_weather for Oslo" }];

for (const stream of [false, true]) {
  const mode = stream ? "streamed" : "whole";
  const loop = (client: OpenAI, model: string, asked: string[]) =>
    stream
      ? client.chat.completions.runTools({ model, messages: ASK_WEATHER, stream, tools: [weatherTool(asked)] })
      : client.chat.completions.runTools({ model, messages: ASK_WEATHER, tools: [weatherTool(asked)] });

  test(`a tool is called, and its result answered, by the sandbox: ${mode}`, [], async ({ client, app }) => {
    const asked: string[] = [];
    const content = await loop(client, "sandbox", asked).finalContent();
    assertEquals(asked.length, 1);
    assertStringIncludes(content!, `the tool "get_weather" answered with "Sunny in ${asked[0]}"`);
    assertEquals(app.logs.map(({ status }) => status), [200, 200]);
  });

  test(`a tool is called, and its result answered, as recorded: ${mode}`, ["chat-tool", "chat-toolresult"], async (
    { client, upstream },
  ) => {
    const asked: string[] = [];
    const content = await loop(client, "model", asked).finalContent();
    assertEquals(asked, ["San Francisco, CA"]);
    assertEquals(content, messageOf("chat-toolresult").content);
    const [, second] = upstream.asked.map(({ body }) => JSON.parse(body));
    const [, call, result] = second.messages;
    assertEquals([call.role, call.tool_calls[0].function.name], ["assistant", "get_weather"]);
    assertEquals(result, {
      role: "tool",
      tool_call_id: call.tool_calls[0].id,
      content: "Sunny in San Francisco, CA",
    });
  });
}

const TOOLS: OpenAI.ChatCompletionTool[] = ["get_weather", "get_time"].map((name) => ({
  type: "function",
  function: { name, parameters: PARAMETERS },
}));

/** The calls of a whole answer and of the same answer streamed, each as its name and its arguments. */
async function callsOf(client: OpenAI, model: string, content: string): Promise<[unknown[], unknown[]]> {
  const body = { model, messages: [{ role: "user" as const, content }], tools: TOOLS };
  const whole = await client.chat.completions.create(body);
  const stream = client.chat.completions.stream(body);
  const done: unknown[] = [];
  stream.on("tool_calls.function.arguments.done", ({ index, name, arguments: text }) => {
    assertEquals(index, done.length);
    done.push([name, JSON.parse(text)]);
  });
  const streamed = await stream.finalChatCompletion();
  assertEquals(streamed.choices[0]!.finish_reason, "tool_calls");
  assertEquals(whole.choices[0]!.finish_reason, "tool_calls");
  const inStream = streamed.choices[0]!.message.tool_calls!;
  assertEquals(new Set(inStream.map(({ id }) => id)).size, inStream.length);
  const calls = whole.choices[0]!.message.tool_calls!.map((call) =>
    call.type === "function" ? [call.function.name, JSON.parse(call.function.arguments)] : []
  );
  return [calls, done];
}

test("parallel tools of the sandbox", [], async ({ client }) => {
  const [whole, streamed] = await callsOf(client, "sandbox", "Use get_weather and get_time");
  assertEquals(whole.map((call) => (call as string[])[0]), ["get_weather", "get_time"]);
  assertEquals(streamed, whole);
});

test("parallel tools as recorded", ["chat-twotools"], async ({ client }) => {
  const [whole, streamed] = await callsOf(client, "model", "#twotools");
  assertEquals(whole, [["get_weather", { location: "Paris" }], ["get_weather", { location: "Tokyo" }]]);
  assertEquals(streamed, whole);
});

// Reasoning

interface Reasoned {
  reasoning_content?: string;
  reasoning?: string;
}

/** The reasoning of a stream, under both names that clients read. */
async function reasoningOf(
  client: OpenAI,
  body: Pick<OpenAI.ChatCompletionCreateParams, "model" | "reasoning_effort">,
) {
  const deltas: Reasoned[] = [];
  let text = "";
  for await (const { choices } of await client.chat.completions.create({ ...body, messages: HELLO, stream: true })) {
    const delta = choices[0]!.delta;
    deltas.push(delta as Reasoned);
    text += delta.content ?? "";
  }
  const join = (name: keyof Reasoned) => deltas.map((delta) => delta[name] ?? "").join("");
  assertEquals(join("reasoning"), join("reasoning_content"));
  return { reasoning: join("reasoning_content"), text };
}

test("reasoning of the sandbox is seen in the deltas and in the whole", [], async ({ client }) => {
  const { reasoning, text } = await reasoningOf(client, { model: "sandbox", reasoning_effort: "high" });
  assertStringIncludes(reasoning, "No tool is to be called");
  const whole = await client.chat.completions.create({ model: "sandbox", messages: HELLO, reasoning_effort: "high" });
  const message = whole.choices[0]!.message as OpenAI.ChatCompletionMessage & Reasoned;
  assertEquals([message.reasoning_content, message.reasoning, message.content], [reasoning, reasoning, text]);
  assert(whole.usage!.completion_tokens_details!.reasoning_tokens! > 0);
});

test("reasoning is seen as it was recorded", ["chat-think"], async ({ client }) => {
  const { reasoning, text } = await reasoningOf(client, { model: "model" });
  const expected = messageOf("chat-think");
  assertEquals([reasoning, text], [expected.reasoning_content, expected.content]);
});

test("reasoning before a tool call", ["chat-thinktool"], async ({ client }) => {
  const stream = client.chat.completions.stream({ model: "model", messages: HELLO, tools: TOOLS });
  const { choices } = await stream.finalChatCompletion();
  assertEquals(choices[0]!.message.tool_calls!.length, 1);
});

// Structured output

const PERSON = {
  type: "json_schema" as const,
  json_schema: {
    name: "person",
    strict: true,
    schema: {
      type: "object",
      properties: { name: { type: "string" }, age: { type: "integer" } },
      required: ["name", "age"],
      additionalProperties: false,
    },
  },
};

test("structured output of the sandbox", [], async ({ client }) => {
  const answer = await client.chat.completions.parse({ model: "sandbox", messages: HELLO, response_format: PERSON });
  const parsed = JSON.parse(answer.choices[0]!.message.content!);
  assertEquals([typeof parsed.name, Number.isInteger(parsed.age)], ["string", true]);
});

test("structured output as recorded", ["chat-jsonschema"], async ({ client, upstream }) => {
  const body = { model: "model", messages: HELLO, response_format: PERSON };
  const whole = await client.chat.completions.parse(body);
  const streamed = await client.chat.completions.stream(body).finalChatCompletion();
  for (const { choices } of [whole, streamed]) {
    assertEquals(JSON.parse(choices[0]!.message.content!), { name: "Ada", age: 36 });
  }
  for (const { body } of upstream.asked) assertEquals(JSON.parse(body).response_format, PERSON);
});

// Abort

/** An upstream that says one word and then nothing, until it is told that nobody listens any more. */
function silentUpstream() {
  const { promise: asked, resolve: ask } = Promise.withResolvers<void>();
  const { promise: stopped, resolve } = Promise.withResolvers<void>();
  const fetch = (_: string, { body, signal }: RequestInit): Promise<Response> => {
    signal!.addEventListener("abort", () => resolve(), { once: true });
    const failed = (reject: (reason: unknown) => void) =>
      signal!.addEventListener("abort", () => reject(signal!.reason), { once: true });
    return new Promise((answer, reject) => {
      (body as Blob).text().then((text) => {
        ask();
        if (!JSON.parse(text).stream) return failed(reject);
        const stream = new ReadableStream({
          start(controller) {
            const word = { choices: [{ index: 0, delta: { role: "assistant", content: "one" } }] };
            controller.enqueue(new TextEncoder().encode(`data: ${JSON.stringify(word)}\n\n`));
            failed((reason) => controller.error(reason));
          },
        });
        answer(new Response(stream, { headers: { "content-type": "text/event-stream" } }));
      });
    });
  };
  return { fetch, asked, stopped };
}

const LEAVE: Record<string, (client: OpenAI, asked: Promise<void>) => Promise<void>> = {
  async "a whole answer is not waited for"(client, asked) {
    const abort = new AbortController();
    const answer = client.chat.completions.create({ model: "model", messages: HELLO }, { signal: abort.signal });
    await asked;
    abort.abort();
    const error = await assertRejects(() => answer);
    assertEquals((error as Error).constructor.name, "APIUserAbortError");
  },
  async "a stream is left by breaking out of the loop"(client) {
    const stream = await client.chat.completions.create({ model: "model", messages: HELLO, stream: true });
    for await (const { choices } of stream) if (choices[0]!.delta.content === "one") break;
  },
  async "a stream is aborted"(client) {
    const stream = client.chat.completions.stream({ model: "model", messages: HELLO });
    stream.on("content", () => stream.abort());
    const error = await assertRejects(() => stream.done());
    assertEquals((error as Error).constructor.name, "APIUserAbortError");
  },
};

for (const major of MAJORS) {
  for (const [name, leave] of Object.entries(LEAVE)) {
    Deno.test(`openai ${major.major}: ${name}, and the upstream is told`, async () => {
      const upstream = silentUpstream();
      const app = newApp({ fetch: upstream.fetch });
      await within(leave(newClient(major, app), upstream.asked));
      await within(upstream.stopped);
      await until(() => app.logs.length > 0);
      assertEquals(app.logs.map(({ status }) => status), [499]);
    });
  }
}
