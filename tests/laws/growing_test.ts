/**
 * Upstreams cache by prefix: what a conversation was to them in one request is, byte for byte, how it begins in the next one.
 */
import { assertEquals } from "@std/assert";
import { chatDriver } from "../../plugins/chat/mod.ts";
import type { JsonObject, JsonValue } from "../../src/canonical/json.ts";
import type { Call } from "../../src/contract/call.ts";
import type { UpstreamOperation } from "../../src/contract/driver.ts";
import { prepareFor } from "../support/prepare.ts";
import { newContext, newWireRequest } from "../support/context.ts";
import { law } from "../support/law.ts";
import { inChat, inMessages, inResponses, type Script, script } from "../support/script.ts";
import { TARGET, type Wire, WIRES } from "../support/wires.ts";

const MODEL = "model";

/** Where each wire has its turns, and which of them the model said. */
const TURNS: Record<string, { field: string; isModels(turn: JsonObject): boolean; body(request: Script): JsonObject }> =
  {
    chat: {
      field: "messages",
      isModels: ({ role }) => role === "assistant",
      body: (request) => inChat(request, MODEL),
    },
    messages: {
      field: "messages",
      isModels: ({ role }) => role === "assistant",
      body: (request) => inMessages(request, MODEL),
    },
    responses: {
      field: "input",
      isModels: ({ type, role }) => role === "assistant" || type === "reasoning" || type === "function_call",
      body: (request) => inResponses(request, MODEL),
    },
  };

/** The requests that an agent made on the way to this one: it asked whenever the model was to speak. */
function requestsUpTo(body: JsonObject, wire: Wire): JsonObject[] {
  const { field, isModels } = TURNS[wire.name]!;
  const turns = body[field] as JsonObject[];
  const asked = turns.flatMap((turn, at) => isModels(turn) && !(turns[at - 1] && isModels(turns[at - 1]!)) ? [at] : []);
  return asked.map((at) => ({ ...body, [field]: turns.slice(0, at) }));
}

/** What the upstream gets: the turns, and all else. */
function sentFor(body: JsonObject, from: Wire, to: Wire): { turns: string[]; rest: string } {
  const context = newContext(from.name);
  const input = from.parseRequest(newWireRequest(structuredClone(body)), context);
  const { field } = TURNS[to.name]!;
  const { [field]: turns, ...rest } = to.serializeRequest(input, context) as JsonObject;
  return { turns: (turns as JsonValue[]).map((turn) => JSON.stringify(turn)), rest: JSON.stringify(rest) };
}

function assertGrows(requests: readonly JsonObject[], from: Wire, to: Wire): void {
  const sent = requests.map((body) => sentFor(body, from, to));
  for (const [at, { turns, rest }] of sent.entries()) {
    const next = sent[at + 1];
    if (!next) continue;
    assertEquals(next.turns.slice(0, turns.length), turns);
    assertEquals(next.rest, rest);
  }
}

const HINT = { cache_control: { type: "ephemeral" } };

function text(text: string, more: JsonObject = {}): JsonObject {
  return { type: "text", text, ...more };
}

const NEWS = "A file was changed on disk";
const READ = { name: "Read", description: "Reads", input_schema: { type: "object" } };
const SEARCH = { name: "ToolSearch", description: "Finds tools", input_schema: { type: "object" } };
const FETCH = { name: "WebFetch", description: "Fetches", input_schema: { type: "object" }, defer_loading: true };
const WRITE = { name: "Write", description: "Writes", input_schema: { type: "object" } };

/** Claude Code's requests on the way through a task: its billing line and cache hints change, tools and instructions come up. */
function claudeCode(): JsonObject[] {
  const request = (cch: number, tools: JsonObject[], messages: JsonObject[]): JsonObject => ({
    model: MODEL,
    max_tokens: 1_000,
    stream: true,
    system: [
      text(`x-anthropic-billing-header: cc_version=2.1; cch=${cch};`),
      text("You are an agent", HINT),
      text("Work in /repo", HINT),
    ],
    tools: tools.map((tool, at) => at === tools.length - 1 ? { ...tool, ...HINT } : tool),
    messages,
  });
  const begin = (hints: boolean): JsonObject[] => [
    {
      role: "user",
      content: [
        text("<system-reminder>\nBe careful\n</system-reminder>"),
        text("Mend it", hints ? HINT : {}),
      ],
    },
    { role: "system", content: hints ? [text("Deferred tools: WebFetch", HINT)] : "Deferred tools: WebFetch" },
  ];
  const called: JsonObject = {
    role: "assistant",
    content: [
      { type: "thinking", thinking: "Let me see", signature: "" },
      text("I look"),
      { type: "tool_use", id: "toolu_1", name: "Read", input: { path: "a" } },
      { type: "tool_use", id: "toolu_2", name: "ToolSearch", input: { query: "fetch" } },
    ],
  };
  const results = (hints: boolean): JsonObject => ({
    role: "user",
    content: [
      { type: "tool_result", tool_use_id: "toolu_1", content: "const a = 1", is_error: false },
      {
        type: "tool_result",
        tool_use_id: "toolu_2",
        content: [{ type: "tool_reference", tool_name: "WebFetch" }],
        ...(hints && HINT),
      },
    ],
  });
  const news: JsonObject = { role: "system", content: NEWS };
  const again: JsonObject = {
    role: "assistant",
    content: [{ type: "tool_use", id: "toolu_3", name: "WebFetch", input: { url: "http://a.test" } }],
  };
  const failed = (hints: boolean): JsonObject => ({
    role: "user",
    content: [
      { type: "tool_result", tool_use_id: "toolu_3", content: "no network", is_error: true },
      text("<system-reminder>\nGo on\n</system-reminder>", hints ? HINT : {}),
    ],
  });
  const done: JsonObject = { role: "assistant", content: [text("Done")] };
  const known = [READ, FETCH, SEARCH, WRITE];
  return [
    request(1, [READ, SEARCH, WRITE], begin(true)),
    request(2, known, [...begin(false), called, results(true), news]),
    request(3, known, [...begin(false), called, results(false), news, again, failed(true)]),
    request(4, known, [
      ...begin(false),
      called,
      results(false),
      news,
      again,
      failed(false),
      done,
      { role: "user", content: [text("Thanks", HINT)] },
    ]),
  ];
}

/** A request without its cache hints, and each content as parts: what a server that speaks the wire makes of it. */
function asRead(turn: string): string {
  const { content, ...rest } = JSON.parse(turn, (key, value) => key === "cache_control" ? undefined : value);
  return JSON.stringify({ ...rest, content: typeof content === "string" ? [text(content)] : content });
}

for (const to of WIRES) {
  Deno.test(`growing: Claude Code's conversation keeps its beginning for a ${to.name} upstream`, () => {
    const from = WIRES.find(({ name }) => name === "messages")!;
    const sent = claudeCode().map((body) => sentFor(body, from, to).turns);
    // To its own wire the hints go as they are, and move from turn to turn.
    const read = sent.map((turns) => to === from ? turns.map(asRead) : turns);
    for (const [at, turns] of read.entries()) {
      if (at > 0) assertEquals(turns.slice(0, read[at - 1]!.length), read[at - 1]);
    }
  });
}

Deno.test("growing: it does so too where cache hints are passed on, but for the hints", () => {
  const from = WIRES.find(({ name }) => name === "messages")!;
  const { request } = chatDriver.operations.generate as UpstreamOperation<"generate">;
  const sent = claudeCode().map((body) => {
    const context = newContext(from.name);
    const input = from.parseRequest(newWireRequest(body), context);
    const target = { ...TARGET, cacheControl: "pass" as const };
    const { messages } = (request(prepareFor(chatDriver, input, target, context), target, context) as Call)
      .body as JsonObject;
    return (messages as JsonObject[]).map((turn) => JSON.stringify(turn));
  });
  assertEquals(sent.map((turns) => turns.join().includes("cache_control")), [true, true, true, true]);
  const read = sent.map((turns) => turns.map(asRead));
  for (const [at, turns] of read.entries()) {
    if (at > 0) assertEquals(turns.slice(0, read[at - 1]!.length), read[at - 1]);
  }
});

Deno.test("growing: tools that come up later stand after the others for a chat upstream", () => {
  const [from, to] = ["messages", "chat"].map((name) => WIRES.find((wire) => wire.name === name)!);
  const names = claudeCode().map((body) =>
    (JSON.parse(sentFor(body, from!, to!).rest).tools as { function: { name: string } }[]).map((one) =>
      one.function.name
    )
  );
  const before = ["Read", "ToolSearch", "Write"];
  assertEquals(names, [before, ...new Array(3).fill([...before, "WebFetch"])]);
});

for (const from of WIRES) {
  for (const to of WIRES) {
    law(`${from.name} to ${to.name}: a conversation that grows keeps its beginning`, script, (request) => {
      assertGrows(requestsUpTo(TURNS[from.name]!.body(request), from), from, to);
    });
  }
}
