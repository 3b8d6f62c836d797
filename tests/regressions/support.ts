/**
 * What the tables of the known failures share: one scripted upstream behind the whole app, and what a client of each
 * protocol sees of its answer as the same plain data.
 */
import { assert, assertEquals } from "@std/assert";
import { isJsonObject, type JsonObject, type JsonValue } from "../../src/canonical/json.ts";
import type { Frame } from "../../src/contract/frame.ts";
import { readFrames } from "../support/sources.ts";
import { type ConfigInput, newApp, type TestApp, type TestAppOptions } from "../support/app.ts";
import { bodyOf, toArray } from "../support/chunks.ts";
import { type Asked, type FakeUpstream, fakeUpstream } from "../support/fake_upstream.ts";
import { assertMessagesStream } from "../support/messages_grammar.ts";
import { assertResponsesStream } from "../support/responses_grammar.ts";
import { inChat, inMessages, inResponses, type Script } from "../support/script.ts";

export const WIRES = ["chat", "messages", "responses"] as const;
export type Wire = typeof WIRES[number];
export const MODES = ["whole", "streamed"] as const;
export type Mode = typeof MODES[number];

/** A model for each wire that an upstream may speak, under the wire's name. */
export const CONFIG = {
  upstreams: {
    chat: { driver: "chat", baseUrl: "http://upstream.test/v1", secret: { env: "UPSTREAM_SECRET" } },
    messages: { driver: "messages", baseUrl: "http://upstream.test/v1", secret: { env: "UPSTREAM_SECRET" } },
    responses: { driver: "responses", baseUrl: "http://upstream.test/v1", secret: { env: "UPSTREAM_SECRET" } },
  },
  lanes: {
    oss: {
      models: {
        chat: { task: "chat", targets: [{ upstream: "chat", model: "org/model" }] },
        messages: { task: "chat", targets: [{ upstream: "messages", model: "org/model" }] },
        responses: { task: "chat", targets: [{ upstream: "responses", model: "org/model" }] },
      },
    },
  },
} satisfies ConfigInput;

/** Where each protocol is spoken, in lane `oss`. */
export const PATH: Record<Wire, string> = {
  chat: "/oss/v1/chat/completions",
  messages: "/oss/v1/messages",
  responses: "/oss/v1/responses",
};
/** What the clients of each protocol always send. */
export const HEADERS: Record<Wire, Record<string, string>> = {
  chat: {},
  messages: { "anthropic-version": "2023-06-01" },
  responses: {},
};

/** One piece of what the model said, in its order; the input of a call is parsed. */
export type Said =
  | { reasoning: string }
  | { text: string }
  | { refusal: string }
  | { call: string; input: JsonValue; id?: string };

/** What a client sees of an answer, whichever protocol it speaks. */
export interface View {
  status: number;
  said: Said[];
  /** How it ended: the canonical word for what the protocol says; nothing where it failed. */
  end?: string;
  /** Totals, as the protocol means them; the messages protocol counts cached tokens apart. */
  usage?: { input: number; cached: number; output: number };
  error?: { word: string; message: string };
  id?: string;
  headers: Headers;
  /** A stream's frames. */
  frames: Frame[];
  body: JsonObject;
}

/** Asks for something small; `more` is added to the body as it stands. */
export function bodyFor(client: Wire, overrides: Partial<Script> = {}, model = "chat"): JsonObject {
  const script: Script = {
    system: undefined,
    turns: [{ asked: "Hello", pictures: [], thought: undefined, answered: undefined, calls: [] }],
    tools: [],
    choice: undefined,
    oneByOne: false,
    maxTokens: 1000,
    temperature: undefined,
    stop: undefined,
    effort: undefined,
    stream: false,
    ...overrides,
  };
  const body = JSON.parse(JSON.stringify({ chat: inChat, messages: inMessages, responses: inResponses }[client](
    script,
    model,
  )));
  if (script.tools.length === 0) delete body.tools;
  if (client === "chat" && script.stream) body.stream_options = { include_usage: true };
  // The last turn is the user's own.
  const list: JsonObject[] = client === "responses" ? body.input : body.messages;
  const last = list.at(-1);
  if (last?.role === "assistant") list.pop();
  return body;
}

/** Tools for answers that call them. */
export const TOOLS: Script["tools"] = ["look", "find"].map((name) => ({
  name,
  description: `To ${name}`,
  schema: { type: "object", properties: {} },
}));

interface Setting extends TestAppOptions {
  headers?: Record<string, string>;
}

export async function post(app: TestApp, client: Wire, body: JsonObject, headers = {}): Promise<View> {
  const response = await app.post(PATH[client], body, { ...HEADERS[client], ...headers });
  return await viewOf(client, response);
}

/** Sends `body` to an app whose upstreams answer with `answers`, one after the other. */
export async function ask(
  client: Wire,
  body: JsonObject,
  answers: ((asked: Asked) => Response | Promise<Response>)[],
  { headers, ...setting }: Setting = {},
): Promise<View & { asked: JsonObject[]; upstream: FakeUpstream; app: TestApp }> {
  const upstream = fakeUpstream(...answers);
  const app = newApp({ config: CONFIG, fetch: upstream.fetch, ...setting });
  const view = await post(app, client, body, headers);
  return { ...view, asked: upstream.asked.map(({ body }) => JSON.parse(body)), upstream, app };
}

// Upstreams

/** What an upstream says, in both modes; what a mode has no answer for is not tested in it. */
export interface Answer {
  /** The text of the stream. */
  frames?: string;
  whole?: JsonObject;
}

export function data(...values: JsonValue[]): string {
  return values.map((value) => `data: ${JSON.stringify(value)}\n\n`).join("");
}

/** Events under their names, as the messages and responses wires send them. */
export function events(...values: JsonObject[]): string {
  return values.map((value) => `event: ${value.type}\ndata: ${JSON.stringify(value)}\n\n`).join("");
}

export const USAGE = { prompt_tokens: 5, completion_tokens: 2, total_tokens: 7 };

export function delta(delta: JsonObject): JsonObject {
  return { model: "org/model", choices: [{ index: 0, delta }] };
}

/** How a stream of the chat wire ends. */
export function chatEnd(finish: string, usage: JsonObject | null = USAGE): string {
  return data(
    { model: "org/model", choices: [{ index: 0, delta: {}, finish_reason: finish }] },
    ...(usage ? [{ model: "org/model", choices: [], usage }] : []),
  ) + "data: [DONE]\n\n";
}

/** A stream of the chat wire. */
export function chatStream(deltas: JsonObject[], finish = "stop", usage: JsonObject | null = USAGE): string {
  return data(...deltas.map(delta)) + chatEnd(finish, usage);
}

/** A whole answer of the chat wire. */
export function chatWhole(message: JsonObject, finish = "stop", usage: JsonObject | null = USAGE): JsonObject {
  return {
    id: "chatcmpl-upstream",
    object: "chat.completion",
    created: 1,
    model: "org/model",
    choices: [{ index: 0, message: { role: "assistant", ...message }, finish_reason: finish }],
    ...(usage && { usage }),
  };
}

/** A text in both modes. */
export const HELLO: Answer = { frames: chatStream([{ content: "Hi" }]), whole: chatWhole({ content: "Hi" }) };

export function call(name: string, args: JsonValue, more: JsonObject = {}): JsonObject {
  return { id: `call_${name}`, type: "function", function: { name, arguments: args }, ...more };
}

export function streamed(text: string, { headers = {}, failure }: { headers?: HeadersInit; failure?: unknown } = {}) {
  const bytes = new TextEncoder().encode(text);
  return new Response(bodyOf(bytes.length > 0 ? [bytes] : [], failure), {
    headers: { "content-type": "text/event-stream", ...headers },
  });
}

export function responseOf({ frames, whole }: Answer, mode: Mode): Response {
  return mode === "streamed" ? streamed(frames ?? "") : Response.json(whole);
}

// Tables

/** One failure that gateways are known for, and what is right. */
export interface AnswerRow {
  id: string;
  /** Says what is right. */
  title: string;
  answer: Answer;
  /** The wire that the upstream speaks; chat where this is absent. */
  upstream?: Wire;
  /** The clients that it concerns; all of them where this is absent. */
  clients?: readonly Wire[];
  config?: ConfigInput;
  ask?: Partial<Script>;
  want: Partial<Pick<View, "said" | "end" | "usage" | "status">>;
  /** What else is right. */
  check?(view: View, client: Wire, mode: Mode): void;
}

/** A test of each row for each client and in each mode. */
export function testAnswers(rows: readonly AnswerRow[]): void {
  for (const { id, title, answer, upstream = "chat", clients = WIRES, config, ask: request, want, check } of rows) {
    for (const client of clients) {
      for (const mode of MODES) {
        if (mode === "streamed" ? answer.frames === undefined : answer.whole === undefined) continue;
        Deno.test(`${id} ${title} · ${client} · ${mode}`, async () => {
          const body = bodyFor(client, { ...request, stream: mode === "streamed" }, upstream);
          const view = await ask(client, body, [() => responseOf(answer, mode)], config && { config });
          assertView(view, { status: 200, ...want });
          check?.(view, client, mode);
        });
      }
    }
  }
}

/** Compares what is wanted; the ids of calls where they are. */
function assertView(view: View, want: AnswerRow["want"]): void {
  const { said, ...rest } = want;
  for (const [key, value] of Object.entries(rest)) assertEquals(view[key as keyof View], value, key);
  if (!said) return;
  const shown = view.said.map((one, at) => {
    const wanted = said[at];
    if (!("call" in one) || (wanted && "call" in wanted && wanted.id !== undefined)) return one;
    const { id: _, ...rest } = one;
    return rest;
  });
  assertEquals(shown, said);
}

/** A test for each client and in each mode; all of them where that is not said. */
export function testEach(
  id: string,
  title: string,
  { clients = WIRES, modes = MODES }: { clients?: readonly Wire[]; modes?: readonly Mode[] },
  run: (client: Wire, mode: Mode) => Promise<void>,
): void {
  for (const client of clients) {
    for (const mode of modes) Deno.test(`${id} ${title} · ${client} · ${mode}`, () => run(client, mode));
  }
}

/** What a request becomes upstream, and nothing of its answer. */
export interface RequestRow {
  id: string;
  title: string;
  /** The body of each client that the case concerns. */
  bodies: Partial<Record<Wire, JsonObject>>;
  upstream?: Wire;
  config?: ConfigInput;
  headers?: Record<string, string>;
  check(asked: JsonObject, view: View, call: Asked, client: Wire): void;
}

/** A short whole answer of each wire. */
export const SHORTEST: Record<Wire, JsonObject> = {
  chat: chatWhole({ content: "Hi" }),
  messages: {
    id: "msg_upstream",
    type: "message",
    role: "assistant",
    model: "org/model",
    content: [{ type: "text", text: "Hi" }],
    stop_reason: "end_turn",
    stop_sequence: null,
    usage: { input_tokens: 5, output_tokens: 2 },
  },
  responses: {
    id: "resp_upstream",
    object: "response",
    status: "completed",
    model: "org/model",
    output: [{
      type: "message",
      id: "msg_1",
      role: "assistant",
      status: "completed",
      content: [{ type: "output_text", text: "Hi", annotations: [] }],
    }],
    usage: { input_tokens: 5, output_tokens: 2, total_tokens: 7 },
  },
};

/** A short whole answer of a wire. */
export function shortAnswer(wire: Wire): Response {
  return Response.json(SHORTEST[wire]);
}

/** A test of each row for each of its clients. Whether an answer is streamed changes nothing else in a request. */
export function testRequests(rows: readonly RequestRow[]): void {
  for (const { id, title, bodies, upstream = "chat", config, headers, check } of rows) {
    for (const client of WIRES) {
      const body = bodies[client];
      if (!body) continue;
      Deno.test(`${id} ${title} · ${client}`, async () => {
        const setting = { headers, ...(config && { config }) };
        const answers = [() => shortAnswer(upstream)];
        const view = await ask(client, { model: upstream, ...DEFAULTS[client], ...body }, answers, setting);
        assertEquals([view.status, view.error], [200, undefined]);
        check(view.asked[0]!, view, view.upstream.asked[0]!, client);
      });
    }
  }
}

const DEFAULTS: Record<Wire, JsonObject> = {
  chat: { messages: [{ role: "user", content: "Hello" }] },
  messages: { max_tokens: 1000, messages: [{ role: "user", content: "Hello" }] },
  responses: { input: "Hello" },
};

// Clients

async function viewOf(client: Wire, response: Response): Promise<View> {
  const { status, headers } = response;
  const isStream = headers.get("content-type")?.startsWith("text/event-stream") ?? false;
  const frames = isStream ? (await toArray(readFrames(response.body!))).map(bare) : [];
  const body: JsonObject = isStream ? {} : await response.json();
  const seen = { status, headers, frames, body };
  if (!isStream && status >= 400) return { ...seen, said: [], error: errorIn(client, body) };
  const spoken = frames.filter(({ data }) => data !== undefined);
  return { ...seen, ...(isStream ? STREAM[client](spoken) : WHOLE[client](body)) };
}

/** The frame, with what it has. */
function bare({ event, data, comment }: Frame): Frame {
  return {
    ...(event !== undefined && { event }),
    ...(data !== undefined && { data }),
    ...(comment !== undefined && { comment }),
  };
}

type Shown = Pick<View, "said" | "end" | "usage" | "error" | "id">;

const ENDS: Record<string, string> = {
  end_turn: "stop",
  stop_sequence: "stop",
  tool_use: "tool-calls",
  tool_calls: "tool-calls",
  max_tokens: "length",
  max_output_tokens: "length",
  refusal: "content-filter",
  content_filter: "content-filter",
};

function endOf(word: JsonValue | undefined): string {
  return ENDS[String(word)] ?? String(word);
}

function errorIn(client: Wire, body: JsonObject): View["error"] {
  const error = objectOf(body.error);
  const word = client === "messages" ? error.type : error.code ?? error.type;
  return { word: String(word), message: String(error.message) };
}

const STREAM: Record<Wire, (frames: Frame[]) => Shown> = {
  chat(frames) {
    const values = frames.filter(({ data }) => data !== "[DONE]").map(({ data }) => objectOf(JSON.parse(data!)));
    const failed = values.find(({ error }) => error);
    const said: Said[] = [];
    const inputs: string[] = [];
    const at = new Map<number, number>();
    let end: string | undefined;
    let usage: JsonObject | undefined;
    const append = (key: "reasoning" | "text" | "refusal", text: JsonValue | undefined) => {
      if (typeof text !== "string" || text === "") return;
      const last = said.at(-1) as Record<string, string> | undefined;
      if (last?.[key] !== undefined) last[key] += text;
      else said.push({ [key]: text } as Said);
    };
    for (const value of values) {
      if (value.usage) usage = objectOf(value.usage);
      for (const choice of listOf(value.choices)) {
        assertEquals(choice.index, 0, "There is one choice");
        const delta = objectOf(choice.delta);
        append("reasoning", delta.reasoning_content);
        append("text", delta.content);
        append("refusal", delta.refusal);
        for (const fragment of listOf(delta.tool_calls)) {
          const index = Number(fragment.index);
          const { name, arguments: added = "" } = objectOf(fragment.function);
          if (!at.has(index)) {
            const { id } = fragment;
            if (typeof id !== "string" || typeof name !== "string") {
              throw new Error("A call begins with its id and name");
            }
            at.set(index, said.push({ call: name, input: null, id }) - 1);
          }
          inputs[index] = (inputs[index] ?? "") + added;
        }
        if (choice.finish_reason) {
          assertEquals(end, undefined, "An answer ends once");
          end = endOf(choice.finish_reason);
        }
      }
    }
    for (const [index, place] of at) (said[place] as { input: JsonValue }).input = JSON.parse(inputs[index] ?? "");
    if (failed) {
      return { said, error: errorIn("chat", failed) };
    }
    assertEquals(frames.at(-1)?.data, "[DONE]");
    assert(end !== undefined, "An answer says how it ended");
    return { said, end, ...(usage && { usage: chatUsage(usage) }), id: String(values[0]?.id) };
  },
  messages(frames) {
    assertMessagesStream(frames);
    const values = frames.map(({ data }) => objectOf(JSON.parse(data!)));
    const blocks: JsonObject[] = [];
    const inputs: string[] = [];
    for (const { type, index, content_block, delta: added } of values) {
      const at = Number(index);
      if (type === "content_block_start") blocks[at] = { ...objectOf(content_block) };
      if (type !== "content_block_delta") continue;
      const { text, thinking, partial_json, signature } = objectOf(added);
      const block = blocks[at]!;
      if (typeof text === "string") block.text = `${block.text}${text}`;
      if (typeof thinking === "string") block.thinking = `${block.thinking}${thinking}`;
      if (typeof partial_json === "string") inputs[at] = (inputs[at] ?? "") + partial_json;
      if (typeof signature === "string") block.signature = signature;
    }
    for (const [at, input] of inputs.entries()) if (input !== undefined) blocks[at]!.input = JSON.parse(input);
    const failed = values.find(({ type }) => type === "error");
    if (failed) return { said: messagesSaid(blocks), error: errorIn("messages", failed) };
    const ending = values.find(({ type }) => type === "message_delta")!;
    const { stop_reason, stop_sequence } = objectOf(ending.delta);
    const message = objectOf(values[0]!.message);
    return WHOLE.messages({ ...message, content: blocks, stop_reason, stop_sequence, usage: ending.usage });
  },
  responses(frames) {
    assertResponsesStream(frames);
    const last = objectOf(JSON.parse(frames.at(-2)!.data!));
    return WHOLE.responses(objectOf(last.response));
  },
};

const WHOLE: Record<Wire, (body: JsonObject) => Shown> = {
  chat({ choices, usage, id }) {
    const [choice, ...others] = listOf(choices);
    assertEquals([choice?.index, others], [0, []], "There is one choice");
    const { reasoning_content, content, refusal, tool_calls } = objectOf(choice!.message);
    return {
      said: [
        ...texts("reasoning", reasoning_content),
        ...texts("text", content),
        ...texts("refusal", refusal),
        ...listOf(tool_calls).map((call) => {
          const { name, arguments: args } = objectOf(call.function);
          return { call: String(name), input: JSON.parse(String(args)), id: String(call.id) };
        }),
      ],
      end: endOf(choice!.finish_reason),
      usage: chatUsage(objectOf(usage)),
      id: String(id),
    };
  },
  messages({ content, stop_reason, usage, id }) {
    const { input_tokens, cache_read_input_tokens, cache_creation_input_tokens, output_tokens } = objectOf(usage);
    const cached = Number(cache_read_input_tokens ?? 0);
    return {
      said: messagesSaid(listOf(content)),
      end: endOf(stop_reason),
      usage: {
        input: Number(input_tokens) + cached + Number(cache_creation_input_tokens ?? 0),
        cached,
        output: Number(output_tokens),
      },
      id: String(id),
    };
  },
  responses({ output, status, incomplete_details, error, usage, id }) {
    const said = listOf(output).flatMap((item): Said[] => {
      switch (item.type) {
        case "reasoning":
          return [...listOf(item.summary), ...listOf(item.content)].flatMap(({ text }) => texts("reasoning", text));
        case "function_call":
          return [{
            call: String(item.name),
            input: item.status === "completed" ? JSON.parse(String(item.arguments)) : null,
            id: String(item.call_id),
          }];
        default:
          return listOf(item.content).flatMap(({ text, refusal }) => [
            ...texts("text", text),
            ...texts("refusal", refusal),
          ]);
      }
    });
    if (status === "failed") {
      const { code, message } = objectOf(error);
      return { said, error: { word: String(code), message: String(message) }, id: String(id) };
    }
    const { input_tokens, output_tokens, input_tokens_details } = objectOf(usage);
    const called = said.some((one) => "call" in one);
    const reason = status === "incomplete" ? objectOf(incomplete_details).reason : called ? "tool_calls" : "stop";
    return {
      said,
      end: endOf(reason),
      usage: {
        input: Number(input_tokens),
        cached: Number(objectOf(input_tokens_details).cached_tokens),
        output: Number(output_tokens),
      },
      id: String(id),
    };
  },
};

function chatUsage({ prompt_tokens, completion_tokens, prompt_tokens_details }: JsonObject): View["usage"] {
  const cached = isJsonObject(prompt_tokens_details) ? prompt_tokens_details.cached_tokens : 0;
  return { input: Number(prompt_tokens), cached: Number(cached ?? 0), output: Number(completion_tokens) };
}

function messagesSaid(blocks: readonly JsonObject[]): Said[] {
  return blocks.flatMap((block): Said[] => {
    switch (block.type) {
      case "thinking":
        return texts("reasoning", block.thinking);
      case "tool_use":
        return [{ call: String(block.name), input: block.input ?? null, id: String(block.id) }];
      default:
        return texts("text", block.text);
    }
  });
}

function texts(key: "reasoning" | "text" | "refusal", text: JsonValue | undefined): Said[] {
  return typeof text === "string" && text !== "" ? [{ [key]: text } as Said] : [];
}

export function objectOf(value: JsonValue | undefined): JsonObject {
  if (!isJsonObject(value)) throw new TypeError(`${JSON.stringify(value)} is no object`);
  return value;
}

export function listOf(value: JsonValue | undefined): JsonObject[] {
  return Array.isArray(value) ? value.map(objectOf) : [];
}
