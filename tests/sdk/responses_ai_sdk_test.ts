/** The AI SDK in its last two majors, which many editors and agents are built on, with its provider of the responses wire. */
import * as openai4 from "@ai-sdk/openai";
import type { OpenAILanguageModelResponsesOptions } from "@ai-sdk/openai";
// One table serves both, so the older ones are read with the newer ones' types.
// @ts-types="@ai-sdk/openai"
import * as openai3 from "@ai-sdk/openai-3";
import { assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import * as ai7 from "ai";
import type { generateText, ModelMessage } from "ai";
// @ts-types="ai"
import * as ai6 from "ai-6";
import { z } from "zod";
import { ENV, type TestApp } from "../support/app.ts";
import { answerStream, word } from "../support/chat.ts";
import { type FakeUpstream, fakeUpstream } from "../support/fake_upstream.ts";
import { fetchFrom, messageOf, recordedUpstream } from "./chat_clients.ts";
import { bodiesOf, newResponsesApp, type Said, scriptedUpstream, USAGE } from "./responses_clients.ts";

// It would say on the console that it leaves out thoughts which are not encrypted.
globalThis.AI_SDK_LOG_WARNINGS = false;

type Options = Parameters<typeof generateText>[0];

const MAJORS = [{ major: 7, ai: ai7, provider: openai4 }, { major: 6, ai: ai6, provider: openai3 }] as const;
type Major = (typeof MAJORS)[number];

function modelOf({ provider: { createOpenAI } }: Major, app: TestApp, name = "model", apiKey: string = ENV.TEAM_KEY!) {
  return createOpenAI({ baseURL: "http://gateway/oss/v1", apiKey, fetch: fetchFrom(app) }).responses(name);
}

/** The turns of all steps. The older major has them in its response, where the newer one has those of the last step. */
function turnsOf(
  result: { responseMessages?: ModelMessage[]; response: { messages?: ModelMessage[] } },
): ModelMessage[] {
  return result.responseMessages ?? result.response.messages!;
}

/** What comes of a request, whole and streamed: both have it under the same names. */
const WAYS = {
  whole: async ({ ai }: Major, options: Options) => {
    const result = await ai.generateText(options);
    const { text, reasoningText, finishReason, usage, toolCalls, response, steps } = result;
    return { text, reasoningText, finishReason, usage, toolCalls, response, steps, turns: turnsOf(result) };
  },
  streamed: async ({ ai }: Major, options: Options) => {
    let failure: unknown;
    const result = ai.streamText({ ...options, onError: ({ error }) => void (failure = error) });
    let text = "";
    for await (const piece of result.textStream) text += piece;
    if (failure) throw failure;
    const steps = await result.steps;
    assertEquals(text, steps.map(({ text }) => text).join(""));
    const { reasoningText, finishReason, usage, toolCalls } = steps.at(-1)!;
    const response = await result.response;
    const turns = turnsOf({ responseMessages: await result.responseMessages, response });
    return { text: await result.text, reasoningText, finishReason, usage, toolCalls, response, steps, turns };
  },
};

interface Setting {
  ask(options: Options): ReturnType<typeof WAYS.streamed>;
  major: Major;
  app: TestApp;
  upstream: FakeUpstream;
}

function forEachMajor(name: string, act: (major: Major) => Promise<void>): void {
  for (const major of MAJORS) Deno.test(`AI SDK ${major.major}${name}`, () => act(major));
}

function inBothWays(name: string, newUpstream: () => FakeUpstream, act: (setting: Setting) => Promise<void>): void {
  for (const [way, answerTo] of Object.entries(WAYS)) {
    forEachMajor(`, ${way}: ${name}`, async (major) => {
      const upstream = newUpstream();
      const ask = async (options: Options) => await answerTo(major, options);
      await act({ ask, major, upstream, app: newResponsesApp({ fetch: upstream.fetch }) });
    });
  }
}

function openai(options: OpenAILanguageModelResponsesOptions): Pick<Options, "providerOptions"> {
  return { providerOptions: { openai: { ...options } } };
}

inBothWays("a text", () => recordedUpstream("chat-unicode"), async ({ ask, major, app, upstream }) => {
  const { text, finishReason, response } = await ask({
    model: modelOf(major, app),
    system: "Be brief.",
    prompt: "Hello",
  });
  assertEquals([text, finishReason], [messageOf("chat-unicode").content, "stop"]);
  assertEquals([response.modelId, response.id!.startsWith("resp_")], ["model", true]);
  const [{ messages }] = bodiesOf(upstream);
  assertEquals(messages, [{ role: "system", content: "Be brief." }, { role: "user", content: "Hello" }]);
});

inBothWays("what it cost", () => scriptedUpstream({ text: "Hi" }), async ({ ask, major, app }) => {
  const { usage } = await ask({ model: modelOf(major, app), prompt: "Hello" });
  assertEquals([usage.inputTokens, usage.outputTokens, usage.totalTokens], [
    USAGE.prompt_tokens,
    USAGE.completion_tokens,
    USAGE.total_tokens,
  ]);
  assertEquals(usage.inputTokenDetails.cacheReadTokens, USAGE.prompt_tokens_details.cached_tokens);
  assertEquals(usage.outputTokenDetails.reasoningTokens, USAGE.completion_tokens_details.reasoning_tokens);
});

inBothWays("an answer that is too long", () => recordedUpstream("chat-long"), async ({ ask, major, app }) => {
  const { text, finishReason } = await ask({ model: modelOf(major, app), prompt: "Hello", maxOutputTokens: 64 });
  assertEquals([text, finishReason], [messageOf("chat-long").content, "length"]);
});

inBothWays(
  "reasoning is shown as a summary",
  () => recordedUpstream("chat-think"),
  async ({ ask, major, app, upstream }) => {
    const { text, reasoningText } = await ask({
      model: modelOf(major, app),
      prompt: "Hello",
      ...openai({ forceReasoning: true, reasoningEffort: "low", reasoningSummary: "auto" }),
    });
    const { content, reasoning_content } = messageOf("chat-think");
    assertEquals([text, reasoningText], [content, reasoning_content]);
    assertEquals(bodiesOf(upstream)[0].reasoning_effort, "low");
  },
);

const TURNS: Said[] = [
  {
    thought: "I need the weather.",
    text: "I look.",
    calls: [{ id: "call_1", name: "get_weather", input: '{"city":"Oslo"}' }],
  },
  { text: "One more.", calls: [{ id: "call_2", name: "get_weather", input: '{"city":"Rome"}' }] },
  { text: "Sunny in both." },
];

/** A loop over the tool until the model has its answer, and then one more question about it. */
async function loop({ ask, major, app }: Setting, options: OpenAILanguageModelResponsesOptions): Promise<void> {
  const asked: string[] = [];
  const get_weather = major.ai.tool({
    description: "Get the weather",
    inputSchema: z.object({ city: z.string() }),
    execute({ city }) {
      asked.push(city);
      return `Sunny in ${city}`;
    },
  });
  const settings = {
    model: modelOf(major, app),
    tools: { get_weather },
    stopWhen: major.ai.stepCountIs(5),
    ...openai(options),
  };
  const messages: ModelMessage[] = [{ role: "user", content: "Is it a nice day?" }];
  const { text, steps, turns } = await ask({ ...settings, messages });
  assertEquals([text, steps.length, asked], ["Sunny in both.", 3, ["Oslo", "Rome"]]);
  await ask({ ...settings, messages: [...messages, ...turns, { role: "user", content: "Thanks" }] });
}

const KEPT: Record<string, OpenAILanguageModelResponsesOptions> = {
  "with a memory": { store: true },
  "without a memory": { store: false },
};

for (const [name, options] of Object.entries(KEPT)) {
  inBothWays(`a loop over a tool ${name}`, () => scriptedUpstream(...TURNS), async (setting) => {
    await loop(setting, options);
    const { messages } = bodiesOf(setting.upstream).at(-1);
    assertEquals(
      messages.map(({ role, content, tool_calls: [call] = [] }: ChatMessage) => [role, content, call?.id]),
      [
        ["user", "Is it a nice day?", undefined],
        ["assistant", "I look.", "call_1"],
        ["tool", "Sunny in Oslo", undefined],
        ["assistant", "One more.", "call_2"],
        ["tool", "Sunny in Rome", undefined],
        ["assistant", "Sunny in both.", undefined],
        ["user", "Thanks", undefined],
      ],
    );
  });
}

interface ChatMessage {
  role: string;
  content: string;
  reasoning_content?: string;
  tool_calls?: { id: string }[];
}

// It sends thoughts back by their id only, where the gateway keeps them.
inBothWays("earlier thoughts are referred to", () => scriptedUpstream(...TURNS), async (setting) => {
  await loop(setting, { store: true, forceReasoning: true, reasoningSummary: "auto" });
  const thoughts = bodiesOf(setting.upstream).map(({ messages }) =>
    messages.flatMap(({ reasoning_content }: ChatMessage) => reasoning_content ?? [])
  );
  assertEquals(thoughts, [[], ["I need the weather."], ["I need the weather."], ["I need the weather."]]);
});

inBothWays(
  "a conversation goes on by the id of the answer",
  () => scriptedUpstream({ text: "One" }, { text: "Two" }),
  async ({ ask, major, app, upstream }) => {
    const model = modelOf(major, app);
    const { response } = await ask({ model, prompt: "Hello" });
    const { text } = await ask({ model, prompt: "Again", ...openai({ previousResponseId: response.id }) });
    assertEquals(text, "Two");
    const { messages } = bodiesOf(upstream)[1];
    assertEquals(messages.map(({ content }: ChatMessage) => content), ["Hello", "One", "Again"]);
  },
);

forEachMajor(": structured output", async (major) => {
  const { generateText, Output, streamText } = major.ai;
  const upstream = recordedUpstream("chat-jsonschema");
  const request = {
    model: modelOf(major, newResponsesApp({ fetch: upstream.fetch })),
    prompt: "Hello",
    output: Output.object({ schema: z.object({ name: z.string(), age: z.number() }) }),
  };
  assertEquals((await generateText(request)).output, { name: "Ada", age: 36 });
  assertEquals(await streamText(request).output, { name: "Ada", age: 36 });
  for (const { response_format: { type, json_schema } } of bodiesOf(upstream)) {
    assertEquals([type, json_schema.strict, json_schema.schema.required], ["json_schema", true, ["name", "age"]]);
  }
});

const PIXEL = "iVBORw0KGgo=";

inBothWays("a picture", () => scriptedUpstream({ text: "Red" }), async ({ ask, major, app, upstream }) => {
  const { text } = await ask({
    model: modelOf(major, app),
    messages: [{
      role: "user",
      content: [{ type: "text", text: "Which?" }, { type: "image", image: PIXEL, mediaType: "image/png" }],
    }],
  });
  assertEquals(text, "Red");
  const [{ messages: [{ content }] }] = bodiesOf(upstream);
  assertEquals(content[1].image_url.url, `data:image/png;base64,${PIXEL}`);
});

inBothWays("an error has its status and its words", () => fakeUpstream(), async ({ ask, major, app }) => {
  const error = await assertRejects(
    () => ask({ model: modelOf(major, app, "nothing"), prompt: "Hello", maxRetries: 0 }),
    major.ai.APICallError,
    "nothing",
  );
  assertEquals([error.statusCode, error.isRetryable], [404, false]);
});

forEachMajor(", streamed: a failure in mid-stream is told", async (major) => {
  const failure = 'data: {"error":{"message":"Out of memory","code":500}}\n\n';
  const upstream = fakeUpstream(() => answerStream([word("one"), failure]));
  const app = newResponsesApp({ fetch: upstream.fetch });
  const failures: unknown[] = [];
  const result = major.ai.streamText({
    model: modelOf(major, app),
    prompt: "Hello",
    onError: ({ error }) => void failures.push(error),
  });
  let text = "";
  for await (const piece of result.textStream) text += piece;
  assertEquals([text, await result.finishReason, failures.length], ["one", "error", 1]);
  assertStringIncludes(JSON.stringify(failures[0]) + String(failures[0]), "Out of memory");
});
