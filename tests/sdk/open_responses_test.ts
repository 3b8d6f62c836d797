/**
 * The requests that the compliance suite of the published Open Responses specification makes over HTTP, each whole and streamed,
 * of the sandbox itself and of upstreams of each wire. What it does beyond HTTP is in `open_responses_socket_test.ts`.
 */
import { assert, assertEquals } from "@std/assert";
import { createParser } from "eventsource-parser";
import type { TestApp } from "../support/app.ts";
import { answerStream, word } from "../support/chat.ts";
import { fakeUpstream } from "../support/fake_upstream.ts";
import { newAppBefore, WIRES } from "./open_responses_gateway.ts";
import { type Answer, type Event, event, response } from "./open_responses_schema.ts";
import { newResponsesApp, type Said, scriptedUpstream } from "./responses_clients.ts";

// Asking

async function askWhole(app: TestApp, body: object): Promise<Answer> {
  const answer = await app.post("/oss/v1/responses", body);
  assertEquals([answer.status, mediaTypeOf(answer)], [200, "application/json"]);
  return response.parse(await answer.json());
}

async function askStreamed(app: TestApp, body: object): Promise<Event[]> {
  const answer = await app.post("/oss/v1/responses", { ...body, stream: true });
  assertEquals([answer.status, mediaTypeOf(answer)], [200, "text/event-stream"]);
  const frames: { event?: string; data: string }[] = [];
  createParser({ onEvent: (frame) => void frames.push(frame) }).feed(await answer.text());
  const done = frames.pop();
  assertEquals([done?.event, done?.data], [undefined, "[DONE]"]);
  const events = frames.map(({ data }) => event.parse(JSON.parse(data)));
  assertEquals(frames.map((frame) => frame.event), events.map(({ type }) => type));
  assertEquals(events.map(({ sequence_number }) => sequence_number), events.map((_, at) => at));
  return events;
}

function mediaTypeOf({ headers }: Response): string | undefined {
  return headers.get("content-type")?.split(";")[0];
}

/** The event that ends the stream, with the response in it. */
function lastOf(events: readonly Event[]): Extract<Event, { response: unknown }> {
  for (const event of events.slice(-1)) if ("response" in event) return event;
  throw new TypeError("The stream ends with no response");
}

interface Case {
  body: object;
  /** What the model says in place of the sandbox. */
  said?: Said;
  status?: string;
  /** What more holds of the answer. */
  check?(answer: Answer, events?: Event[]): void;
}

const user = (content: unknown) => ({ type: "message", role: "user", content });
const textOf = ({ output }: Answer): string => JSON.stringify(output.filter(({ type }) => type === "message"));
const WEATHER = {
  type: "function",
  name: "get_weather",
  description: "Get the weather of a place",
  parameters: { type: "object", properties: { location: { type: "string" } }, required: ["location"] },
};

const CASES: Record<string, Case> = {
  "a basic text": { body: { input: [user("Say hello in three words.")] } },
  "a text as the input": { body: { input: "Say hello." } },
  "a system prompt": {
    body: { input: [{ type: "message", role: "system", content: "You are a sailor." }, user("Say hello.")] },
    check: (answer) => assert(textOf(answer).includes("a system prompt of 17 characters")),
  },
  "a tool": {
    body: { input: [user("What is the weather like in Oslo?")], tools: [WEATHER] },
    check({ output, tools: [tool] }, events) {
      const calls = output.filter(({ type }) => type === "function_call");
      assertEquals(calls.map((call) => "name" in call && call.name), ["get_weather"]);
      assertEquals([tool?.name, tool?.parameters], [WEATHER.name, WEATHER.parameters]);
      if (!events) return;
      const types = events.map((event) => "item" in event ? `${event.type} ${event.item.type}` : event.type);
      for (
        const type of [
          "response.output_item.added function_call",
          "response.function_call_arguments.delta",
          "response.function_call_arguments.done",
          "response.output_item.done function_call",
        ]
      ) assert(types.includes(type), type);
    },
  },
  "a tool without a description and without parameters": {
    body: { input: "Call look_up", tools: [{ type: "function", name: "look_up" }], tool_choice: "required" },
  },
  "a tool that must be chosen": {
    body: { input: "Hello", tools: [WEATHER], tool_choice: { type: "function", name: "get_weather" } },
  },
  "tools of which some are allowed": {
    body: {
      input: "Hello",
      tools: [WEATHER, { ...WEATHER, name: "get_time" }],
      tool_choice: { type: "allowed_tools", mode: "required", tools: [{ type: "function", name: "get_time" }] },
    },
    check: ({ output }) => assertEquals(output.map((item) => "name" in item && item.name), ["get_time"]),
  },
  "an image": {
    body: {
      input: [user([
        { type: "input_text", text: "What is in this image?" },
        { type: "input_image", image_url: "data:image/png;base64,iVBORw0KGgo=" },
      ])],
    },
    check: (answer) => assert(textOf(answer).includes("1 file (image/png)")),
  },
  "several turns": {
    body: {
      input: [
        user("My name is Alice."),
        { type: "message", role: "assistant", content: "Hello Alice! How can I help you?" },
        user("What is my name?"),
      ],
    },
    check: (answer) => assert(textOf(answer).includes("3 messages")),
  },
  "the phases of an assistant": {
    body: {
      input: [
        user("Two and two?"),
        { type: "message", role: "assistant", phase: "commentary", content: "I have to add them." },
        { type: "message", role: "assistant", phase: "final_answer", content: "Four." },
        user("Say only the number."),
      ],
    },
    check: (answer) => assert(textOf(answer).includes("Say only the number.")),
  },
  "reasoning": {
    body: { input: "Hello", reasoning: { effort: "high" } },
    check: ({ output }) => assertEquals(output.map(({ type }) => type), ["reasoning", "message"]),
  },
  "a summary of the reasoning": {
    body: { input: "Hello", reasoning: { effort: "high", summary: "auto" } },
    check: ({ output: [item] }) => assert(item?.type === "reasoning" && item.summary.length === 1),
  },
  "structured output": {
    body: {
      input: "Hello",
      text: { format: { type: "json_schema", name: "person", schema: WEATHER.parameters }, verbosity: "low" },
    },
    check: ({ text }) => assertEquals([text.format.type, text.verbosity], ["json_schema", "low"]),
  },
  "every option of a request": {
    body: {
      input: "Hello",
      instructions: "Be brief.",
      metadata: { ticket: "1" },
      temperature: 0.5,
      top_p: 0.5,
      presence_penalty: 0.5,
      frequency_penalty: 0.5,
      top_logprobs: 0,
      max_output_tokens: 1000,
      max_tool_calls: 3,
      parallel_tool_calls: false,
      truncation: "disabled",
      service_tier: "auto",
      store: false,
      safety_identifier: "somebody",
      prompt_cache_key: "key",
    },
    check({ instructions, metadata, temperature, presence_penalty, frequency_penalty, max_tool_calls }) {
      assertEquals([instructions, metadata, temperature], ["Be brief.", { ticket: "1" }, 0.5]);
      assertEquals([presence_penalty, frequency_penalty, max_tool_calls], [0.5, 0.5, 3]);
    },
  },
  "options that are null": {
    body: {
      input: "Hello",
      instructions: null,
      metadata: null,
      temperature: null,
      top_p: null,
      presence_penalty: null,
      frequency_penalty: null,
      top_logprobs: null,
      max_output_tokens: null,
      max_tool_calls: null,
      parallel_tool_calls: null,
      previous_response_id: null,
      reasoning: null,
      text: null,
      tools: null,
      tool_choice: null,
      safety_identifier: null,
      prompt_cache_key: null,
    },
  },
  "an answer that is too long": {
    body: { input: "Hello", max_output_tokens: 16 },
    status: "incomplete",
    check: ({ incomplete_details }) => assertEquals(incomplete_details, { reason: "max_output_tokens" }),
  },
  "a refusal": {
    body: { model: "model", input: "Hello" },
    said: { refusal: "No." },
    check: (answer) => assert(textOf(answer).includes('"refusal":"No."')),
  },
  "an answer without a word": { body: { model: "model", input: "Hello" }, said: { text: "" } },
};

for (const [name, { body, said, status = "completed", check }] of Object.entries(CASES)) {
  const gateways: [string, () => TestApp][] = said
    ? [["", () => newResponsesApp({ fetch: scriptedUpstream(said).fetch })]]
    : [["", newResponsesApp], ...WIRES.map((wire): [string, () => TestApp] => [wire, () => newAppBefore(wire)])];

  for (const [wire, newCase] of gateways) {
    const where = wire && `, before a ${wire} upstream`;

    Deno.test(`Open Responses: ${name}${where}`, async () => {
      const answer = await askWhole(newCase(), { model: "sandbox", ...body });
      assertEquals([answer.status, answer.completed_at === null], [status, status !== "completed"]);
      check?.(answer);
    });

    Deno.test(`Open Responses: ${name}, streamed${where}`, async () => {
      const events = await askStreamed(newCase(), { model: "sandbox", ...body });
      const last = lastOf(events);
      assertEquals([last.type, last.response.status], [`response.${status}`, status]);
      check?.(last.response, events);
      assertEquals(last.response, await askWhole(newCase(), { model: "sandbox", ...body }));
    });
  }
}

Deno.test("Open Responses: a failure in mid-stream", async () => {
  const failure = 'data: {"error":{"message":"Out of memory"}}\n\n';
  const app = newResponsesApp({ fetch: fakeUpstream(() => answerStream([word("one"), failure])).fetch });
  const { type, response } = lastOf(await askStreamed(app, { model: "model", input: "Hello" }));
  assertEquals([type, response.status, response.error?.code], ["response.failed", "failed", "server_error"]);
});
