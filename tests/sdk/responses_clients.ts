/** Clients of the Responses wire in front of an app in this process, and a model that says what a test tells it to. */
import type { JsonValue } from "../../src/canonical/json.ts";
import { newApp, type TestApp, type TestAppOptions } from "../support/app.ts";
import { ANSWER, answerStream, frame } from "../support/chat.ts";
import { type FakeUpstream, fakeUpstream } from "../support/fake_upstream.ts";
import { type Major, MAJORS, newClient, type OpenAI } from "./chat_clients.ts";

export type Response = OpenAI.Responses.Response;
export type Body = Omit<OpenAI.Responses.ResponseCreateParamsNonStreaming, "stream">;
export type Item = OpenAI.Responses.ResponseOutputItem;
export type Event = OpenAI.Responses.ResponseStreamEvent;

/** An app whose ids cannot be mistaken for anything that a model says. */
export function newResponsesApp(options: TestAppOptions = {}): TestApp {
  let ids = 0;
  return newApp({ newId: () => `x${String(++ids).padStart(4, "0")}x`, ...options });
}

/** What a model says in one turn. */
export interface Said {
  thought?: string;
  text?: string;
  refusal?: string;
  calls?: { id: string; name: string; input: string }[];
  /** As the chat wire says it; the usual one where absent. */
  finish?: string;
}

/** What every scripted turn costs. */
export const USAGE = {
  prompt_tokens: 40,
  completion_tokens: 12,
  total_tokens: 52,
  prompt_tokens_details: { cached_tokens: 30 },
  completion_tokens_details: { reasoning_tokens: 5 },
};

/** An upstream of the chat wire that says these turns, one after the other: whole, or streamed where it is asked to. */
export function scriptedUpstream(...turns: Said[]): FakeUpstream {
  return fakeUpstream(
    ...turns.map((said) => ({ body }: { body: string }) =>
      JSON.parse(body).stream ? answerStream(framesOf(said)) : globalThis.Response.json(wholeOf(said))
    ),
  );
}

function finishOf({ calls, finish }: Said): string {
  return finish ?? (calls ? "tool_calls" : "stop");
}

export function wholeOf(said: Said): object {
  const message = {
    role: "assistant",
    content: said.text ?? null,
    reasoning_content: said.thought,
    refusal: said.refusal,
    tool_calls: said.calls?.map(({ id, name, input }) => ({
      id,
      type: "function",
      function: { name, arguments: input },
    })),
  };
  return { ...ANSWER, choices: [{ index: 0, message, finish_reason: finishOf(said) }], usage: USAGE };
}

/** What `said` is as frames, a few characters at a time. */
export function framesOf(said: Said): string[] {
  const { thought = "", text = "", refusal = "", calls = [] } = said;
  const deltas: object[] = [
    ...piecesOf(thought).map((reasoning_content) => ({ reasoning_content })),
    ...piecesOf(text).map((content) => ({ content })),
    ...piecesOf(refusal).map((refusal) => ({ refusal })),
    ...calls.flatMap(({ id, name, input }, index) => [
      { tool_calls: [{ index, id, type: "function", function: { name, arguments: "" } }] },
      ...piecesOf(input).map((text) => ({ tool_calls: [{ index, function: { arguments: text } }] })),
    ]),
  ];
  return [
    ...deltas.map((delta) => frame({ delta })),
    frame({ delta: {}, finish_reason: finishOf(said) }),
    `data: ${JSON.stringify({ choices: [], usage: USAGE })}\n\n`,
    "data: [DONE]\n\n",
  ];
}

function piecesOf(text: string): string[] {
  return text.match(/.{1,4}/gsu) ?? [];
}

/** What one test works with. */
export interface Setting {
  major: Major;
  client: OpenAI;
  app: TestApp;
  upstream: FakeUpstream;
}

/** Registers a test for each major, each with an app and an upstream of its own. */
export function forEachMajor(
  name: string,
  newUpstream: () => FakeUpstream,
  act: (setting: Setting) => Promise<void>,
  majors: readonly Major[] = MAJORS,
): void {
  for (const major of majors) {
    Deno.test(`openai ${major.major}: ${name}`, async () => {
      const upstream = newUpstream();
      const app = newResponsesApp({ fetch: upstream.fetch });
      await act({ major, client: newClient(major, app), app, upstream });
    });
  }
}

/** What the helper made of a stream, and the events that it passed on. */
export async function readWithHelper(client: OpenAI, body: Body): Promise<{ final: Response; events: Event[] }> {
  const stream = client.responses.stream(body);
  const events: Event[] = [];
  stream.on("event", (event) => events.push(structuredClone(event)));
  return { final: await stream.finalResponse(), events };
}

/** The events of a stream as they came. */
export async function readEvents(client: OpenAI, body: Body): Promise<Event[]> {
  const events: Event[] = [];
  for await (const event of await client.responses.create({ ...body, stream: true })) events.push(event);
  return events;
}

/** The response that the stream's last event holds. */
export function lastResponse(events: readonly Event[]): Response {
  const last = events.at(-1);
  if (!last || !("response" in last)) throw new TypeError(`The stream ended with "${last?.type}"`);
  return last.response;
}

const ADDED_BY_THE_SDK = new Set(["output_text", "output_parsed", "parsed", "parsed_arguments"]);

/** A response as the gateway sent it, its id replaced by a star wherever it stands. */
export function asSent(response: Response): JsonValue {
  const text = JSON.stringify(response, (key, value) => ADDED_BY_THE_SDK.has(key) ? undefined : value);
  return JSON.parse(text.replaceAll(response.id.replace(/^resp_/, ""), "*"));
}

/** What the items of an output say, in short. */
export function summaryOf(output: readonly Item[]): unknown[] {
  return output.map((item) => {
    switch (item.type) {
      case "message":
        return [item.role, ...item.content.map((part) => "text" in part ? part.text : { refusal: part.refusal })];
      case "reasoning":
        return ["reasoning", ...[...item.content ?? [], ...item.summary].map(({ text }) => text)];
      case "function_call":
        return ["function_call", item.call_id, item.name, JSON.parse(item.arguments)];
      case "custom_tool_call":
        return ["custom_tool_call", item.call_id, item.name, item.input];
      default:
        return [item.type];
    }
  });
}

/** The items of one type. */
export function itemsOf<T extends Item["type"]>(output: readonly Item[], type: T): Extract<Item, { type: T }>[] {
  return output.filter((item): item is Extract<Item, { type: T }> => item.type === type);
}

/** The bodies that the upstream was sent. */
export function bodiesOf({ asked }: FakeUpstream) {
  return asked.map(({ body }) => JSON.parse(body));
}
