import { assert, assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { zodTextFormat } from "openai/helpers/zod";
import { z } from "zod";
import { answerStream, ENDING, word } from "../support/chat.ts";
import { fakeUpstream } from "../support/fake_upstream.ts";
import { until, within } from "../support/wait.ts";
import { completionOf, MAJORS, messageOf, newClient, type OpenAI, recordedUpstream } from "./chat_clients.ts";
import {
  asSent,
  bodiesOf,
  type Body,
  type Event,
  forEachMajor,
  itemsOf,
  lastResponse,
  newResponsesApp,
  readEvents,
  readWithHelper,
  type Response,
  type Said,
  scriptedUpstream,
  summaryOf,
  USAGE,
} from "./responses_clients.ts";

const HELLO: Body = { model: "model", input: "Hello" };

// What every kind of answer is, whole and streamed

interface Case {
  said: Said;
  body?: Partial<Body>;
  output: unknown[];
  text?: string;
  status?: Response["status"];
  reason?: string;
}

const WEATHER = {
  type: "function",
  name: "get_weather",
  description: "Get the weather",
  parameters: { type: "object", properties: { location: { type: "string" } }, required: ["location"] },
  strict: false,
} as const;
const PATCH = {
  type: "custom",
  name: "apply_patch",
  description: "Change files",
  format: { type: "grammar", syntax: "lark", definition: "start: /.+/" },
} as const;

const OSLO = { id: "call_1", name: "get_weather", input: '{"location":"Oslo"}' };
const ROME = { id: "call_2", name: "get_weather", input: '{"location":"Rome"}' };

const CASES: Record<string, Case> = {
  "a text": {
    said: { text: "Grüße, 世界! 🌍🚀" },
    output: [["assistant", "Grüße, 世界! 🌍🚀"]],
    text: "Grüße, 世界! 🌍🚀",
  },
  "reasoning and a text": {
    said: { thought: "Two and two.", text: "Four." },
    output: [["reasoning", "Two and two."], ["assistant", "Four."]],
    text: "Four.",
  },
  "a summary of the reasoning, where one is asked for": {
    said: { thought: "Two and two.", text: "Four." },
    body: { reasoning: { effort: "low", summary: "auto" } },
    output: [["reasoning", "Two and two."], ["assistant", "Four."]],
    text: "Four.",
  },
  "a call": {
    said: { calls: [OSLO] },
    body: { tools: [WEATHER] },
    output: [["function_call", "call_1", "get_weather", { location: "Oslo" }]],
  },
  "a text and two calls side by side": {
    said: { text: "I look it up.", calls: [OSLO, ROME] },
    body: { tools: [WEATHER] },
    output: [
      ["assistant", "I look it up."],
      ["function_call", "call_1", "get_weather", { location: "Oslo" }],
      ["function_call", "call_2", "get_weather", { location: "Rome" }],
    ],
    text: "I look it up.",
  },
  "a call of a tool that takes free text": {
    said: { calls: [{ id: "call_1", name: "apply_patch", input: '{"input":"*** Begin\\n\\"é\\""}' }] },
    body: { tools: [PATCH] },
    output: [["custom_tool_call", "call_1", "apply_patch", '*** Begin\n"é"']],
  },
  "a refusal": { said: { refusal: "I do not do that." }, output: [["assistant", { refusal: "I do not do that." }]] },
  "an answer that is too long": {
    said: { text: "One two", finish: "length" },
    body: { max_output_tokens: 16 },
    output: [["assistant", "One two"]],
    text: "One two",
    status: "incomplete",
    reason: "max_output_tokens",
  },
  "an answer that a filter cut off": {
    said: { text: "One two", finish: "content_filter" },
    output: [["assistant", "One two"]],
    text: "One two",
    status: "incomplete",
    reason: "content_filter",
  },
};

for (const [name, { said, body, text = "", status = "completed", reason, ...expected }] of Object.entries(CASES)) {
  forEachMajor(name, () => scriptedUpstream(said), async ({ major: { major }, client }) => {
    const whole = await client.responses.create({ ...HELLO, ...body });
    assertEquals(summaryOf(whole.output), expected.output);
    assertEquals([whole.status, whole.incomplete_details?.reason, whole.error], [status, reason, null]);
    assertEquals([whole.object, whole.model, whole.output_text], ["response", "model", text]);

    const { final, events } = await readWithHelper(client, { ...HELLO, ...body });
    assertEquals(asSent(lastResponse(events)), asSent(whole));
    // The oldest one takes nothing from the event of an answer that is not complete.
    if (major > 5 || status === "completed") {
      assertEquals(asSent(final), asSent(whole));
      assertEquals(final.output_text ?? text, text);
    } else assertEquals(summaryOf(final.output), expected.output);
  });
}

forEachMajor("what an answer cost", () => scriptedUpstream({ text: "Hi" }), async ({ client }) => {
  const whole = await client.responses.create(HELLO);
  const { final } = await readWithHelper(client, HELLO);
  for (const { usage } of [whole, final]) {
    assertEquals([usage!.input_tokens, usage!.output_tokens, usage!.total_tokens], [
      USAGE.prompt_tokens,
      USAGE.completion_tokens,
      USAGE.total_tokens,
    ]);
    assertEquals(usage!.input_tokens_details.cached_tokens, USAGE.prompt_tokens_details.cached_tokens);
    assertEquals(
      usage!.output_tokens_details.reasoning_tokens,
      USAGE.completion_tokens_details.reasoning_tokens,
    );
  }
});

// A real engine's answers

for (const name of ["default", "unicode", "stop", "long", "json", "system-array", "think"]) {
  forEachMajor(`as recorded: ${name}`, () => recordedUpstream(`chat-${name}`), async ({ client }) => {
    const { content, reasoning_content } = messageOf(`chat-${name}`);
    const whole = await client.responses.create(HELLO);
    const streamed = lastResponse((await readWithHelper(client, HELLO)).events);
    for (const { output, usage } of [whole, streamed]) {
      assertEquals(summaryOf(output), [
        ...(reasoning_content ? [["reasoning", reasoning_content]] : []),
        ["assistant", content],
      ]);
      const cost = completionOf(`chat-${name}`).usage!;
      assertEquals([usage!.input_tokens, usage!.output_tokens], [cost.prompt_tokens, cost.completion_tokens]);
    }
    assertEquals([whole.output_text, streamed.status], [content, whole.status]);
  });
}

for (const name of ["tool", "twotools", "thinktool"]) {
  forEachMajor(`as recorded: ${name}`, () => recordedUpstream(`chat-${name}`), async ({ client }) => {
    const { reasoning_content, tool_calls } = messageOf(`chat-${name}`);
    const body: Body = { ...HELLO, tools: [WEATHER] };
    const { final } = await readWithHelper(client, body);
    for (const { output, status } of [await client.responses.create(body), final]) {
      // The engine makes up an id for each call.
      const said = summaryOf(output).map((item) => (item as string[]).toSpliced(1, 1));
      assertEquals(said, [
        ...(reasoning_content ? [["reasoning"]] : []),
        ...tool_calls!.map((call) =>
          call.type === "function" ? ["function_call", call.function.name, JSON.parse(call.function.arguments)] : []
        ),
      ]);
      assertEquals([status, new Set(output.map(({ id }) => id)).size], ["completed", output.length]);
    }
  });
}

forEachMajor("the sandbox answers word by word", () => fakeUpstream(), async ({ client }) => {
  const body: Body = { model: "sandbox", input: "Hello", reasoning: { effort: "high" } };
  const whole = await client.responses.create(body);
  const { final, events } = await readWithHelper(client, body);
  assertStringIncludes(whole.output_text, 'your last text was "Hello"');
  assert(events.filter(({ type }) => type === "response.output_text.delta").length > 10);
  assertEquals(asSent(final), asSent(whole));
});

// The events of a stream

/** The types of the events, those of the same type in a row once. */
function typesOf(events: readonly Event[]): string[] {
  return events.map(({ type }) => type.replace(/^response\./, "")).filter((type, at, all) => type !== all[at - 1]);
}

const MESSAGE = (kind: string) => [
  "output_item.added",
  "content_part.added",
  `${kind}.delta`,
  `${kind}.done`,
  "content_part.done",
  "output_item.done",
];
const CALL = (kind: string) => ["output_item.added", `${kind}.delta`, `${kind}.done`, "output_item.done"];

const ORDERS: Record<string, { said: Said; body?: Partial<Body>; items: string[] }> = {
  "reasoning, a text and two calls": {
    said: { thought: "Hm, hm.", text: "I look it up.", calls: [OSLO, ROME] },
    body: { tools: [WEATHER] },
    items: [
      ...MESSAGE("reasoning_text"),
      ...MESSAGE("output_text"),
      ...CALL("function_call_arguments"),
      ...CALL("function_call_arguments"),
    ],
  },
  "a summary of the reasoning": {
    said: { thought: "Hm, hm.", text: "Yes" },
    body: { reasoning: { summary: "detailed" } },
    items: [
      "output_item.added",
      "reasoning_summary_part.added",
      "reasoning_summary_text.delta",
      "reasoning_summary_text.done",
      "reasoning_summary_part.done",
      "output_item.done",
      ...MESSAGE("output_text"),
    ],
  },
  "a call with free text": {
    said: { calls: [{ id: "call_1", name: "apply_patch", input: '{"input":"*** Begin"}' }] },
    body: { tools: [PATCH] },
    items: CALL("custom_tool_call_input"),
  },
  "a refusal": { said: { refusal: "I do not do that." }, items: MESSAGE("refusal") },
};

for (const [name, { said, body, items }] of Object.entries(ORDERS)) {
  forEachMajor(`the events of ${name}`, () => scriptedUpstream(said), async ({ client }) => {
    const events = await readEvents(client, { ...HELLO, ...body });
    assertEquals(typesOf(events), ["created", "in_progress", ...items, "completed"]);
    assertEquals(events.map((event) => event.sequence_number), events.map((_, at) => at));
    const { id, output } = lastResponse(events);
    let at = -1;
    let deltas = "";
    for (const event of events) {
      if ("response" in event) assertEquals(event.response.id, id);
      if (!("output_index" in event)) continue;
      if (event.type === "response.output_item.added") at++;
      assertEquals(event.output_index, at);
      if ("item_id" in event) assertEquals(event.item_id, output[at]!.id);
      if (event.type.endsWith(".delta") && "delta" in event) deltas += event.delta;
      else if (event.type.endsWith("_part.done") || event.type.endsWith("_part.added")) continue;
      else if (event.type === "response.output_item.added") {
        assertEquals([event.item.id, event.item.type], [output[at]!.id, output[at]!.type]);
      } else if (event.type === "response.output_item.done") assertEquals(event.item, output[at]);
      else {
        const whole = Object.entries(event).find(([key]) => ["text", "arguments", "input", "refusal"].includes(key));
        assertEquals(deltas, whole?.[1]);
        deltas = "";
      }
    }
    assertEquals(at, output.length - 1);
  });
}

forEachMajor(
  "the helper tells what has come so far",
  () => scriptedUpstream(CASES["a text and two calls side by side"]!.said),
  async ({ client }) => {
    const stream = client.responses.stream({ ...HELLO, tools: [WEATHER] });
    let text = "";
    const args: string[] = [];
    stream.on("response.output_text.delta", ({ delta, snapshot }) => assertEquals(snapshot, text += delta));
    stream.on("response.function_call_arguments.delta", ({ output_index, delta, snapshot }) => {
      args[output_index] = (args[output_index] ?? "") + delta;
      assertEquals(snapshot, args[output_index]);
    });
    await stream.done();
    assertEquals([text, ...args.filter(Boolean)], ["I look it up.", OSLO.input, ROME.input]);
  },
);

// Failures in the middle of a stream

const FAILURES: Record<string, { error: object; code: string }> = {
  "an engine that dies": { error: { message: "Out of memory", code: 500 }, code: "server_error" },
  "a limit": { error: { message: "Slow down", code: 429 }, code: "rate_limit_exceeded" },
  "a context that is full": {
    error: { message: "The prompt exceeds the context size", code: 400 },
    code: "context_length_exceeded",
  },
  "a context that is full, in a word": {
    error: { message: "No room", type: "invalid_request_error", code: "context_length_exceeded" },
    code: "context_length_exceeded",
  },
};

for (const [name, { error, code }] of Object.entries(FAILURES)) {
  const upstream = () =>
    fakeUpstream(() => answerStream([word("one"), `data: ${JSON.stringify({ error })}\n\n`, "data: [DONE]\n\n"]));
  forEachMajor(`in the middle of a stream: ${name}`, upstream, async ({ major: { major }, client }) => {
    const events = await readEvents(client, HELLO);
    assertEquals(events.at(-1)!.type, "response.failed");
    const failed = lastResponse(events);
    assertEquals([failed.status, failed.error!.code as string, failed.completed_at ?? null], ["failed", code, null]);
    assertStringIncludes(failed.error!.message, (error as Error).message);
    assertEquals(itemsOf(failed.output, "message").map(({ status }) => status), ["incomplete"]);

    const { final } = await readWithHelper(client, HELLO);
    // The oldest one leaves an answer that failed as it was.
    if (major > 5) assertEquals([final.status, final.error!.code as string], ["failed", code]);
    else assert(final.status !== "completed");
    assertEquals(summaryOf(final.output), [["assistant", "one"]]);
  });
}

forEachMajor(
  "an upstream that breaks off",
  () => fakeUpstream(() => answerStream([word("one")], new TypeError("connection reset"))),
  async ({ client }) => {
    const failed = lastResponse(await readEvents(client, HELLO));
    assertEquals([failed.status, failed.error!.code as string], ["failed", "server_error"]);
  },
);

// Structured output

const PERSON = z.object({ name: z.string(), age: z.number().int() });

forEachMajor("structured output", () => recordedUpstream("chat-jsonschema"), async ({ client, upstream }) => {
  const body = { ...HELLO, text: { format: zodTextFormat(PERSON, "person") } };
  const whole = await client.responses.parse(body);
  const streamed = await client.responses.stream(body).finalResponse();
  for (const { output_parsed } of [whole, streamed]) assertEquals(output_parsed, { name: "Ada", age: 36 });
  for (const { response_format: { type, json_schema } } of bodiesOf(upstream)) {
    assertEquals([type, json_schema.name, json_schema.strict], ["json_schema", "person", true]);
    assertEquals(json_schema.schema.required, ["name", "age"]);
  }
  assertEquals((whole.text!.format as { name: string }).name, "person");
});

forEachMajor("structured output of the sandbox", () => fakeUpstream(), async ({ client }) => {
  const body = { model: "sandbox", input: "Hello", text: { format: zodTextFormat(PERSON, "person") } };
  const { output_parsed } = await client.responses.parse(body);
  assertEquals([typeof output_parsed!.name, Number.isInteger(output_parsed!.age)], ["string", true]);
});

forEachMajor(
  "the arguments of a strict tool are parsed",
  () => scriptedUpstream({ calls: [OSLO] }),
  async ({ client }) => {
    const tool = { ...WEATHER, strict: true };
    const { output } = await client.responses.parse({ ...HELLO, tools: [tool] });
    const parsed = output.map((item) => item.type === "function_call" && item.parsed_arguments);
    assertEquals(parsed, [{ location: "Oslo" }]);
  },
  // The oldest one puts the whole call there.
  MAJORS.filter(({ major }) => major > 5),
);

// What the upstream is asked

const PIXEL = "data:image/png;base64,iVBORw0KGgo=";

forEachMajor(
  "instructions, a picture and a system message",
  () => scriptedUpstream({ text: "Red" }),
  async ({ client, upstream }) => {
    await client.responses.create({
      model: "model",
      instructions: "Be brief.",
      input: [
        { role: "developer", content: "Say a colour." },
        {
          role: "user",
          content: [
            { type: "input_text", text: "Which?" },
            { type: "input_image", image_url: PIXEL, detail: "low" },
          ],
        },
      ],
    });
    const [{ messages }] = bodiesOf(upstream);
    // This upstream takes instructions in one place only.
    const history = messages.slice(0, -1).map((
      { role, content }: { role: string; content: unknown },
    ) => [role, content]);
    assertEquals(JSON.stringify(history).match(/Be brief\.|Say a colour\./g), ["Be brief.", "Say a colour."]);
    assertEquals([...new Set(history.map(([role]: string[]) => role))], ["system"]);
    assertEquals(messages.at(-1), {
      role: "user",
      content: [
        { type: "text", text: "Which?" },
        { type: "image_url", image_url: { url: PIXEL, detail: "low" } },
      ],
    });
  },
);

forEachMajor(
  "what a request says is seen again in the answer",
  () => scriptedUpstream({ text: "Hi" }),
  async ({ client, upstream }) => {
    const body = {
      ...HELLO,
      instructions: "Be brief.",
      metadata: { ticket: "ABC-1" },
      temperature: 0.5,
      top_p: 0.9,
      max_output_tokens: 100,
      parallel_tool_calls: false,
      tools: [WEATHER],
      tool_choice: { type: "function", name: "get_weather" },
      reasoning: { effort: "low" },
      user: "u-1",
      prompt_cache_key: "k-1",
      safety_identifier: "s-1",
      store: false,
    } satisfies Body;
    const whole = await client.responses.create(body);
    const started = lastResponse((await readEvents(client, body)).slice(0, 1));
    for (const answer of [whole, started]) {
      const shown = new Map(Object.entries(answer));
      for (const [key, value] of Object.entries(body)) {
        if (key !== "input" && key !== "reasoning") assertEquals([key, shown.get(key)], [key, value]);
      }
      assertEquals([answer.reasoning!.effort, answer.reasoning!.summary], ["low", null]);
    }
    assertEquals([started.status, started.output], ["in_progress", []]);
    const [asked] = bodiesOf(upstream);
    assertEquals([asked.temperature, asked.top_p, asked.parallel_tool_calls], [0.5, 0.9, false]);
    assertEquals(asked.max_tokens ?? asked.max_completion_tokens, 100);
    assertEquals(asked.tool_choice, { type: "function", function: { name: "get_weather" } });
    assertEquals(asked.tools, [{
      type: "function",
      function: {
        name: "get_weather",
        description: WEATHER.description,
        parameters: WEATHER.parameters,
        strict: false,
      },
    }]);
  },
);

forEachMajor("what a request leaves open is told", () => scriptedUpstream({ text: "Hi" }), async ({ client }) => {
  const answer = await client.responses.create(HELLO);
  const { temperature, top_p, tool_choice, tools, parallel_tool_calls, truncation, text, metadata } = answer;
  assertEquals([temperature, top_p, tool_choice, tools, parallel_tool_calls, truncation, text!.format, metadata], [
    1,
    1,
    "auto",
    [],
    true,
    "disabled",
    { type: "text" },
    {},
  ]);
  assertEquals([answer.instructions, answer.previous_response_id, answer.max_output_tokens], [null, null, null]);
  assertEquals(["store" in answer && answer.store, answer.background, answer.service_tier], [true, false, "default"]);
});

forEachMajor(
  "the tools of a namespace",
  () => scriptedUpstream({ calls: [{ id: "call_1", name: "weather__lookup", input: "{}" }] }),
  async ({ client, upstream }) => {
    const namespace = {
      type: "namespace",
      name: "weather",
      description: "About the weather",
      tools: [{ type: "function", name: "lookup", description: "Look it up", parameters: { type: "object" } }],
    } satisfies OpenAI.Responses.NamespaceTool;
    const body: Body = { ...HELLO, tools: [namespace] };
    const whole = await client.responses.create(body);
    const { events } = await readWithHelper(client, body);
    for (const { output } of [whole, lastResponse(events)]) {
      const calls = itemsOf(output, "function_call").map((call) => [call.name, call.namespace, call.arguments]);
      assertEquals(calls, [["lookup", "weather", "{}"]]);
    }
    assertEquals(bodiesOf(upstream)[0].tools[0].function.name, "weather__lookup");
  },
);

forEachMajor(
  "a tool that only its own server runs is left out, and said",
  () => scriptedUpstream({ text: "Hi" }),
  async ({ major: { Sdk }, client, upstream }) => {
    const tools = [{ type: "web_search" as const }, WEATHER];
    const { response } = await client.responses.create({ ...HELLO, tools }).withResponse();
    assertStringIncludes(response.headers.get("x-laneway-notes")!, "web_search");
    assertEquals(bodiesOf(upstream)[0].tools.length, 1);
    const forced: Body = { ...HELLO, tools, tool_choice: { type: "web_search_preview" } };
    await assertRejects(() => client.responses.create(forced), Sdk.BadRequestError, "web_search");
  },
);

// Silence

for (const major of MAJORS) {
  Deno.test(`openai ${major.major}: signs of life are counted, and nothing comes before the response is created`, async () => {
    const body = new TransformStream<Uint8Array, Uint8Array>();
    const writer = body.writable.getWriter();
    const say = (frame: string) => void writer.write(new TextEncoder().encode(frame));
    const upstream = fakeUpstream(() =>
      new globalThis.Response(body.readable, { headers: { "content-type": "text/event-stream" } })
    );
    const app = newResponsesApp({ fetch: upstream.fetch, pace: { headAfterMs: 5, keepAliveMs: 10 } });
    const stream = newClient(major, app).responses.stream({ ...HELLO, stream: true });
    const events: Event[] = [];
    // The head goes out before the model has said anything, and a sign of life with it.
    setTimeout(() => say(word("one")), 50);
    await within((async () => {
      for await (const event of stream) {
        events.push(event);
        if (
          (event.type as string) !== "keepalive" || events.filter(({ type }) => type === event.type).length > 1
        ) continue;
        say(ENDING);
        void writer.close();
      }
    })());
    assertEquals(events.map((event) => event.sequence_number), events.map((_, at) => at));
    assertEquals([events[0]!.type, events.at(-1)!.type], ["response.created", "response.completed"]);
    assert(typesOf(events).includes("keepalive"));
    assertEquals((await stream.finalResponse()).output.length, 1);
  });
}

// Leaving

for (const major of MAJORS) {
  Deno.test(`openai ${major.major}: a stream of responses is left, and the upstream is told`, async () => {
    const { promise: stopped, resolve } = Promise.withResolvers<void>();
    const upstream = fakeUpstream(({ signal }) => {
      const stream = new ReadableStream({
        start(controller) {
          controller.enqueue(new TextEncoder().encode(word("one")));
          signal.addEventListener("abort", () => {
            controller.error(signal.reason);
            resolve();
          }, { once: true });
        },
      });
      return new globalThis.Response(stream, { headers: { "content-type": "text/event-stream" } });
    });
    const app = newResponsesApp({ fetch: upstream.fetch });
    const stream = await newClient(major, app).responses.create({ ...HELLO, stream: true });
    await within((async () => {
      for await (const event of stream) if (event.type === "response.output_text.delta") break;
    })());
    await within(stopped);
    await until(() => app.logs.length > 0);
    assertEquals(app.logs.map(({ status }) => status), [499]);
  });
}
