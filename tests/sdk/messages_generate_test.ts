import { assert, assertEquals, assertMatch, assertRejects, assertStringIncludes } from "@std/assert";
import { answerStream, ENDING, frame, word } from "../support/chat.ts";
import { type FakeUpstream, fakeUpstream } from "../support/fake_upstream.ts";
import { recordedUpstream } from "./chat_clients.ts";
import { type Anthropic, forEachMajor } from "./messages_clients.ts";

function textOf({ content }: Anthropic.Message): string {
  return content.map((block) => block.type === "text" ? block.text : "").join("");
}

const HELLO: Anthropic.MessageParam[] = [{ role: "user", content: "Hello" }];
const PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

const WEATHER: Anthropic.Tool = {
  name: "get_weather",
  description: "The weather in a city",
  input_schema: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
};

forEachMajor("a whole message", async ({ client, app }) => {
  const message = await client.messages.create({ model: "sandbox", max_tokens: 500, messages: HELLO });
  assertMatch(message.id, /^msg_/);
  assertMatch(message._request_id ?? "", /^req_/);
  assertEquals([message.type, message.role, message.model], ["message", "assistant", "sandbox"]);
  assertEquals([message.stop_reason, message.stop_sequence], ["end_turn", null]);
  assertEquals(message.content.map(({ type }) => type), ["text"]);
  assertStringIncludes(textOf(message), 'your last text was "Hello"');
  assert(message.usage.input_tokens > 0 && message.usage.output_tokens > 0);
  assertEquals(app.logs.map(({ protocol, status }) => [protocol, status]), [["messages", 200]]);
}, fakeUpstream);

forEachMajor("a stream: events in order, and the same message at its end", async ({ client }) => {
  const body = { model: "sandbox", max_tokens: 500, messages: HELLO };
  const stream = client.messages.stream(body);
  const types: string[] = [];
  let text = "";
  stream.on("streamEvent", ({ type }) => void (types.at(-1) === type || types.push(type)));
  stream.on("text", (delta) => void (text += delta));
  const message = await stream.finalMessage();
  const whole = await client.messages.create(body);
  assertEquals(types, [
    "message_start",
    "content_block_start",
    "content_block_delta",
    "content_block_stop",
    "message_delta",
    "message_stop",
  ]);
  assertEquals([textOf(message), message.content.length], [text, 1]);
  const { input_tokens, output_tokens } = message.usage;
  assertEquals([input_tokens, output_tokens], [whole.usage.input_tokens, whole.usage.output_tokens]);
  assertEquals(await stream.finalText(), textOf(whole));
  assertMatch(stream.request_id ?? "", /^req_/);
}, fakeUpstream);

forEachMajor("the raw events of a stream", async ({ client }) => {
  const events = await client.messages.create({ model: "sandbox", max_tokens: 500, messages: HELLO, stream: true });
  const seen: string[] = [];
  for await (const event of events) {
    seen.push(event.type);
    if (event.type === "message_start") {
      const { content, stop_reason, usage } = event.message;
      assertEquals([content, stop_reason], [[], null]);
      assert(usage.input_tokens > 0);
    }
  }
  assertEquals([seen.at(0), seen.at(-2), seen.at(-1)], ["message_start", "message_delta", "message_stop"]);
}, fakeUpstream);

forEachMajor("the limit and the stop sequences end an answer", async ({ client }) => {
  const limited = await client.messages.create({ model: "sandbox", max_tokens: 3, messages: HELLO });
  assertEquals([limited.stop_reason, limited.usage.output_tokens], ["max_tokens", 3]);
  const body = { model: "sandbox", max_tokens: 500, stop_sequences: ["Laneway"], messages: HELLO };
  const stopped = await client.messages.create(body);
  assertEquals([stopped.stop_reason, stopped.stop_sequence], ["stop_sequence", "Laneway"]);
  const streamed = await client.messages.stream(body).finalMessage();
  assertEquals([streamed.stop_reason, streamed.stop_sequence], ["stop_sequence", "Laneway"]);
  assertEquals<unknown>(streamed.content, [{ type: "text", text: "This is the " }]);
}, fakeUpstream);

forEachMajor("a loop with a tool, whole", async ({ client }) => {
  const messages: Anthropic.MessageParam[] = [{ role: "user", content: "Call get_weather" }];
  const body = { model: "sandbox", max_tokens: 500, tools: [WEATHER] };
  const first = await client.messages.create({ ...body, messages });
  assertEquals(first.stop_reason, "tool_use");
  const calls = first.content.filter((block) => block.type === "tool_use");
  assertEquals(calls.map(({ name }) => name), ["get_weather"]);
  assertEquals(Object.keys(calls[0]!.input as object), ["city"]);
  messages.push({ role: "assistant", content: first.content });
  messages.push({ role: "user", content: [{ type: "tool_result", tool_use_id: calls[0]!.id, content: "Sunny" }] });
  const second = await client.messages.create({ ...body, messages });
  assertEquals(second.stop_reason, "end_turn");
  assertStringIncludes(textOf(second), 'the tool "get_weather" answered with "Sunny"');
}, fakeUpstream);

forEachMajor("the tool runner makes its way to the last answer", async ({ client, calls }, major) => {
  const asked: unknown[] = [];
  const runner = client.beta.messages.toolRunner({
    model: "sandbox",
    max_tokens: 500,
    messages: [{ role: "user", content: "Call get_weather" }],
    tools: [{
      ...WEATHER,
      parse: (input: unknown) => input,
      run(input: unknown) {
        asked.push(input);
        return "Sunny";
      },
    }],
    stream: true,
  });
  const last = await runner.runUntilDone();
  assertEquals(asked, [{ city: "city" }]);
  // The newer client keeps its conversation as a thread.
  const threads = await Promise.all(calls.map(async (call) => "thread" in await call.json()));
  assertEquals(threads, major.major === 1 ? [true, true] : [false, false]);
  assertEquals(last.stop_reason, "end_turn");
}, fakeUpstream);

const TWO_CALLS = { tools: [WEATHER], model: "model", max_tokens: 500, messages: HELLO };

for (const streamed of [false, true]) {
  forEachMajor(`parallel calls, ${streamed ? "streamed" : "whole"}`, async ({ client, upstream }) => {
    const first = streamed
      ? await client.messages.stream(TWO_CALLS).finalMessage()
      : await client.messages.create(TWO_CALLS);
    const calls = first.content.filter((block) => block.type === "tool_use");
    assertEquals(calls.length, 2);
    assert(calls[0]!.id !== calls[1]!.id);
    assertEquals(first.stop_reason, "tool_use");
    for (const { input } of calls) assert(Object.keys(input as object).length > 0);

    await client.messages.create({
      ...TWO_CALLS,
      messages: [
        ...HELLO,
        { role: "assistant", content: first.content },
        {
          role: "user",
          content: [
            { type: "text", text: "Here you are" },
            { type: "tool_result", tool_use_id: calls[0]!.id, content: "Sunny" },
            {
              type: "tool_result",
              tool_use_id: calls[1]!.id,
              content: [{ type: "text", text: "Rain" }],
              is_error: true,
            },
          ],
        },
      ],
    });
    const sent = JSON.parse(upstream.asked[1]!.body);
    assertEquals(sent.messages.slice(2), [
      { role: "tool", tool_call_id: calls[0]!.id, content: "Sunny" },
      { role: "tool", tool_call_id: calls[1]!.id, content: "Error: Rain" },
      { role: "user", content: "Here you are" },
    ]);
  }, () => recordedUpstream("chat-twotools", "chat-default"));
}

const THOUGHTS = [" One, \n", "two\u{1f600}", "and three"];

function unsigned(content: Anthropic.ContentBlock[]): Anthropic.ContentBlock[] {
  return content.map((block) => block.type === "thinking" ? { ...block, signature: "" } : block);
}

forEachMajor("thinking comes first, and goes back as it came", async ({ client }) => {
  const body: Anthropic.MessageCreateParamsNonStreaming = {
    model: "sandbox",
    max_tokens: 2_000,
    thinking: { type: "adaptive" },
    output_config: { effort: "low" },
    messages: HELLO,
  };
  const whole = await client.messages.create(body);
  assertEquals(whole.content.map(({ type }) => type), ["thinking", "text"]);
  const stream = client.messages.stream(body);
  let thinking = "";
  stream.on("thinking", (delta) => void (thinking += delta));
  const streamed = await stream.finalMessage();
  // What is sealed twice is never the same text.
  assertEquals(unsigned(streamed.content), unsigned(whole.content));
  assertEquals(unsigned(whole.content)[0], { type: "thinking", thinking, signature: "" });
  const messages: Anthropic.MessageParam[] = [...HELLO, { role: "assistant", content: whole.content }, ...HELLO];
  const next = await client.messages.create({ ...body, messages });
  assertEquals(next.stop_reason, "end_turn");
}, fakeUpstream);

forEachMajor(
  "what was thought is there three turns later, whether it was shown or not",
  async ({ client, upstream }) => {
    for (const display of ["summarized", "omitted"] as const) {
      upstream.asked.length = 0;
      const messages: Anthropic.MessageParam[] = [...HELLO];
      for (let turn = 1; turn <= 3; turn++) {
        const stream = client.messages.stream({
          model: "model",
          max_tokens: 2_000,
          thinking: { type: "adaptive", display },
          messages,
        });
        const { content } = await stream.finalMessage();
        const [thought] = content;
        assertEquals(
          thought?.type === "thinking" && thought.thinking,
          display === "omitted" ? "" : THOUGHTS[turn - 1]!,
        );
        messages.push({ role: "assistant", content }, ...HELLO);
      }
      const thoughts = upstream.asked.map(({ body }) =>
        JSON.parse(body).messages.flatMap(({ reasoning_content }: { reasoning_content?: string }) =>
          reasoning_content ?? []
        )
      );
      assertEquals(thoughts, [[], THOUGHTS.slice(0, 1), THOUGHTS.slice(0, 2)]);
    }
  },
  () => {
    const answer = (thought: string) => () =>
      answerStream([
        frame({ delta: { reasoning_content: thought.slice(0, 3) } }),
        frame({ delta: { reasoning_content: thought.slice(3) } }),
        word("Yes"),
        ENDING,
      ]);
    return fakeUpstream(...THOUGHTS.map(answer), ...THOUGHTS.map(answer));
  },
);

forEachMajor("images reach a model that sees, wherever they stand", async ({ client, upstream }) => {
  await client.messages.create({
    model: "model",
    max_tokens: 500,
    tools: [WEATHER],
    messages: [
      {
        role: "user",
        content: [
          { type: "image", source: { type: "base64", media_type: "image/png", data: PIXEL } },
          { type: "image", source: { type: "url", url: "https://images.test/cat.png" } },
          { type: "text", text: "What is this?" },
        ],
      },
      {
        role: "assistant",
        content: [{ type: "tool_use", id: "toolu_1", name: "get_weather", input: { city: "Oslo" } }],
      },
      {
        role: "user",
        content: [{
          type: "tool_result",
          tool_use_id: "toolu_1",
          content: [{ type: "image", source: { type: "base64", media_type: "image/png", data: PIXEL } }],
        }],
      },
    ],
  });
  const image = { type: "image_url", image_url: { url: `data:image/png;base64,${PIXEL}` } };
  const [question, , result, after] = JSON.parse(upstream.asked[0]!.body).messages;
  assertEquals(question.content, [
    image,
    { type: "image_url", image_url: { url: "https://images.test/cat.png" } },
    { type: "text", text: "What is this?" },
  ]);
  assertEquals([result.role, result.tool_call_id], ["tool", "toolu_1"]);
  assertEquals(result.content.includes(PIXEL), false);
  assertEquals([after.role, after.content.at(-1)], ["user", image]);
}, () => recordedUpstream("chat-default"));

forEachMajor("an aborted stream stops the upstream", async ({ client, app, upstream }) => {
  const stream = client.messages.stream({ model: "model", max_tokens: 500, messages: HELLO });
  stream.once("text", () => stream.abort());
  const error = await assertRejects(() => stream.done());
  assertEquals((error as Error).message, "Request was aborted.");
  await upstream.stopped;
  assertEquals(app.logs.map(({ status }) => status), [499]);
}, stuck);

/** An upstream that says a word and then nothing, until it is stopped. */
function stuck(): FakeUpstream & { stopped: Promise<void> } {
  const stopped = Promise.withResolvers<void>();
  const answer = (signal: AbortSignal | null | undefined) =>
    new ReadableStream<Uint8Array>({
      start(controller) {
        controller.enqueue(new TextEncoder().encode(word("one")));
        signal?.addEventListener("abort", () => {
          controller.error(signal.reason);
          stopped.resolve();
        });
      },
    });
  return {
    asked: [],
    stopped: stopped.promise,
    fetch: (_input, init) =>
      Promise.resolve(new Response(answer(init?.signal), { headers: { "content-type": "text/event-stream" } })),
  };
}

forEachMajor("both headers for a key are understood", async ({ calls, newClient }, { major }) => {
  const body = { model: "sandbox", max_tokens: 500, messages: HELLO };
  await newClient({ apiKey: "team-key-a1b2c3" }).messages.create(body);
  await newClient({ apiKey: null, authToken: "team-key-a1b2c3" }).messages.create(body);
  const [first, second] = calls.map(({ headers }) => [headers.get("x-api-key"), headers.get("authorization")]);
  assertEquals(first, major === 0 ? ["team-key-a1b2c3", null] : [null, "Bearer team-key-a1b2c3"]);
  assertEquals(second, [null, "Bearer team-key-a1b2c3"]);
}, fakeUpstream);
