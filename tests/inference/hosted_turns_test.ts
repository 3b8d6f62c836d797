/** A conversation with a search goes on at another gateway of the same store, whose model speaks any wire. */
import { assertEquals, assertStringIncludes } from "@std/assert";
import Anthropic from "anthropic-sdk";
import OpenAI from "openai";
import type { JsonObject } from "../../src/canonical/json.ts";
import { createMemoryStore } from "../../src/state/memory_store.ts";
import { type ConfigInput, ENV, newApp, type TestApp } from "../support/app.ts";

const WIRES = ["chat", "messages", "responses"] as const;
type Wire = typeof WIRES[number];

const usage = { input_tokens: 10, output_tokens: 2 };
const INPUT = { query: "weather in Oslo" };

/** A model's call of the search, in each wire. */
const CALL: Record<Wire, JsonObject> = {
  chat: chatAnswer({
    role: "assistant",
    content: null,
    tool_calls: [{ id: "c1", type: "function", function: { name: "web_search", arguments: JSON.stringify(INPUT) } }],
  }, "tool_calls"),
  messages: messagesAnswer({ type: "tool_use", id: "toolu_1", name: "web_search", input: INPUT }, "tool_use"),
  responses: responsesAnswer({
    type: "function_call",
    id: "fc_1",
    call_id: "c1",
    name: "web_search",
    arguments: JSON.stringify(INPUT),
    status: "completed",
  }),
};

const TEXT = "It rains [1].";
const ANSWER: Record<Wire, JsonObject> = {
  chat: chatAnswer({ role: "assistant", content: TEXT }, "stop"),
  messages: messagesAnswer({ type: "text", text: TEXT }, "end_turn"),
  responses: responsesAnswer({
    type: "message",
    id: "msg_1",
    role: "assistant",
    status: "completed",
    content: [{ type: "output_text", text: TEXT, annotations: [] }],
  }),
};

function chatAnswer(message: JsonObject, finish_reason: string): JsonObject {
  const usage = { prompt_tokens: 10, completion_tokens: 2, total_tokens: 12 };
  return { id: "x", object: "chat.completion", model: "m", choices: [{ index: 0, message, finish_reason }], usage };
}

function messagesAnswer(block: JsonObject, stop_reason: string): JsonObject {
  const base = { id: "msg_x", type: "message", role: "assistant", model: "m", stop_sequence: null };
  return { ...base, content: [block], stop_reason, usage };
}

function responsesAnswer(item: JsonObject): JsonObject {
  return { id: "resp_x", object: "response", status: "completed", model: "m", output: [item], usage };
}

interface Rig {
  app: TestApp;
  asked: JsonObject[];
}

/** Gateways of one store, whose models speak these wires. */
function gatewaysFor(wires: readonly Wire[]): Rig[] {
  const store = createMemoryStore({ now: () => 0, limitBytes: 1e8 });
  return wires.map((wire, at) => {
    const asked: JsonObject[] = [];
    let ids = 0;
    const config: ConfigInput = {
      upstreams: { fake: { driver: wire, baseUrl: "http://upstream.test/v1" } },
      lanes: { oss: { models: { model: { task: "chat", targets: [{ upstream: "fake", model: "org/model" }] } } } },
      hostedTools: { webSearch: { backend: "searxng", baseUrl: "http://search.test" } },
    };
    const app = newApp({
      config,
      env: ENV,
      store,
      newId: () => `${at}${++ids}`,
      async fetch(input, init) {
        const request = new Request(input, init);
        if (new URL(request.url).hostname === "search.test") {
          return Response.json({
            results: [{ url: "https://weather.test/", title: "Oslo", content: "Rain, 7 degrees" }],
          });
        }
        asked.push(await request.json());
        return Response.json(at === 0 && asked.length === 1 ? CALL[wire] : ANSWER[wire]);
      },
    });
    return { app, asked };
  });
}

/** A turn by a client of each wire; `before` is what its last turn left it. */
type Client = (rig: Rig, text: string, before?: unknown) => Promise<unknown>;

const fetching = ({ app }: Rig) => (url: string | URL | Request, init?: RequestInit) =>
  app.fetch(new Request(url, init));

const sealedOnMessages: Client = async (rig, text, before) => {
  const client = new Anthropic({ apiKey: "k", baseURL: "http://127.0.0.1/oss", maxRetries: 0, fetch: fetching(rig) });
  const messages = [...before as Anthropic.MessageParam[] ?? [], { role: "user" as const, content: text }];
  const tools = [{ type: "web_search_20250305" as const, name: "web_search" as const }];
  const { content } = await client.messages.create({ model: "model", max_tokens: 500, messages, tools });
  return [...messages, { role: "assistant", content }];
};

const openai = (rig: Rig) =>
  new OpenAI({ apiKey: "k", baseURL: "http://127.0.0.1/oss/v1", maxRetries: 0, fetch: fetching(rig) });
const tools = [{ type: "web_search" as const }];

const sealedOnResponses: Client = async (rig, text, before) => {
  const input = [...before as OpenAI.Responses.ResponseInputItem[] ?? [], { role: "user" as const, content: text }];
  const include = ["reasoning.encrypted_content" as const];
  const body = { model: "model", input, tools, include, store: false };
  const { output } = await openai(rig).responses.create(body);
  return [...input, ...output];
};

const storedOnResponses: Client = async (rig, text, before) => {
  const previous_response_id = before as string | undefined;
  const { id } = await openai(rig).responses.create({ model: "model", input: text, tools, previous_response_id });
  return id;
};

const CLIENTS = { sealedOnMessages, sealedOnResponses, storedOnResponses };

for (const [name, ask] of Object.entries(CLIENTS)) {
  for (const first of WIRES) {
    for (const second of WIRES) {
      Deno.test(`hosted turns: ${name}, ${first} and then ${second} at another gateway`, async () => {
        const [one, other] = gatewaysFor([first, second]) as [Rig, Rig];
        const before = await ask(one, "Weather?");
        assertEquals(one.asked.length, 2);
        const after = await ask(other, "And now?", before);
        assertEquals(other.asked.length, 1);
        const sent = JSON.stringify(other.asked[0]);
        assertStringIncludes(sent, "Rain, 7 degrees");
        assertStringIncludes(sent, "And now?");
        // A third turn, back at the first, has it once and no more.
        await ask(one, "Thanks.", after);
        const results = JSON.stringify(one.asked.at(-1)).match(/"role":"tool"|"tool_result"|"function_call_output"/g);
        assertEquals(results?.length, 1);
      });
    }
  }
}
