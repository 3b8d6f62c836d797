/** How an answer ended: streamed and whole say the same of every word, and what is said inside counts more than a name. */
import { assertEquals } from "@std/assert";
import { collect } from "../../src/canonical/collect.ts";
import type { GenerateRequest, GenerateResponse } from "../../src/canonical/generate.ts";
import type { JsonObject, JsonValue } from "../../src/canonical/json.ts";
import type { Frame } from "../../src/contract/frame.ts";
import { GatewayError } from "../../src/errors.ts";
import { newContext, newWireRequest } from "../support/context.ts";
import { CHAT, MESSAGES, RESPONSES, type Wire, WIRES } from "../support/wires.ts";

const INPUT: GenerateRequest = { model: "m", messages: [], stream: true };

/** Words of every wire, of engines, of vendors behind a host; of nobody; and none. */
const WORDS: (string | null | undefined)[] = [
  ...["stop", "length", "tool_calls", "function_call", "content_filter"],
  ...["end_turn", "stop_sequence", "max_tokens", "tool_use", "refusal", "pause_turn", "compaction"],
  ...["model_context_window_exceeded", "max_output_tokens", "max_messages", "steered"],
  ...["completed", "incomplete", "failed", "cancelled", "in_progress", "queued", "expired"],
  ...["eos", "eos_token", "model_length", "abort", "error", "network_error", "insufficient_system_resource"],
  ...["STOP", "MAX_TOKENS", "SAFETY", "RECITATION", "sensitive", "COMPLETE", "guardrail_intervened"],
  ...["brand_new_word", "constructor", "__proto__", "toString", " ", ""],
  null,
  undefined,
];

/** How an answer with a word in the place where its wire tells the ending is told in both modes. */
interface Telling {
  wire: Wire;
  whole(word: string | null | undefined): JsonObject;
  stream(word: string | null | undefined): JsonObject[];
}

const ITEM = { type: "message", id: "i", role: "assistant", content: [{ type: "output_text", text: "Hi" }] };
const USAGE = { input_tokens: 5, output_tokens: 2 };
const message = (more: JsonObject) => ({ type: "message", role: "assistant", model: "m", ...more });
const response = (more: JsonObject) => ({ object: "response", model: "m", output: [ITEM], usage: USAGE, ...more });

const TELLINGS: Record<string, Telling> = {
  "chat, finish_reason": {
    wire: CHAT,
    whole: (word) => ({
      model: "m",
      choices: [{ index: 0, message: { role: "assistant", content: "Hi" }, ...given("finish_reason", word) }],
      usage: { prompt_tokens: 5, completion_tokens: 2 },
    }),
    stream: (word) => [
      { model: "m", choices: [{ index: 0, delta: { role: "assistant", content: "Hi" } }] },
      { model: "m", choices: [{ index: 0, delta: {}, ...given("finish_reason", word) }] },
      { model: "m", choices: [], usage: { prompt_tokens: 5, completion_tokens: 2 } },
    ],
  },
  "messages, stop_reason": {
    wire: MESSAGES,
    whole: (word) => message({ content: [{ type: "text", text: "Hi" }], ...given("stop_reason", word), usage: USAGE }),
    stream: (word) => [
      { type: "message_start", message: message({ content: [], usage: USAGE }) },
      { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
      { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "Hi" } },
      { type: "content_block_stop", index: 0 },
      { type: "message_delta", delta: given("stop_reason", word), usage: USAGE },
      { type: "message_stop" },
    ],
  },
  "responses, the reason of what is incomplete": {
    wire: RESPONSES,
    whole: (word) => response({ status: "incomplete", incomplete_details: given("reason", word) }),
    stream: (word) =>
      ending("response.incomplete", response({ status: "incomplete", incomplete_details: given("reason", word) })),
  },
};

function given(key: string, word: string | null | undefined): JsonObject {
  return word === undefined ? {} : { [key]: word };
}

/** A stream whose text comes in increments, and whose last event is this. */
function ending(type: string, inside: JsonObject | undefined): JsonObject[] {
  return [
    { type: "response.created", response: response({ status: "in_progress", output: [] }) },
    { type: "response.output_item.added", output_index: 0, item: { ...ITEM, content: [] } },
    { type: "response.output_text.delta", output_index: 0, item_id: "i", delta: "Hi" },
    { type: "response.output_item.done", output_index: 0, item: ITEM },
    { type, ...(inside && { response: inside }) },
  ];
}

interface Outcome {
  said?: GenerateResponse["content"];
  finish?: GenerateResponse["finish"];
  failed?: string;
  notes: string[];
}

async function outcomeOf(
  client: Wire,
  read: (context: ReturnType<typeof newContext>) => GenerateResponse | Promise<GenerateResponse>,
): Promise<Outcome> {
  const context = newContext(client.name);
  try {
    const { content, finish } = await read(context);
    return { said: content, finish, notes: context.notes };
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    return { failed: `${error.code}: ${error.message}`, notes: context.notes };
  }
}

function whole(wire: Wire, client: Wire, body: JsonObject): Promise<Outcome> {
  return outcomeOf(client, (context) => wire.parseResponse(body, INPUT, context));
}

function streamed(wire: Wire, client: Wire, values: JsonObject[]): Promise<Outcome> {
  const frames: Frame[] = values.map((value) => ({ data: JSON.stringify(value) }));
  if (wire === CHAT) frames.push({ data: "[DONE]" });
  return outcomeOf(client, (context) => collect(wire.readEvents(frames, INPUT, context)));
}

for (const [place, { wire, whole: body, stream }] of Object.entries(TELLINGS)) {
  for (const client of WIRES) {
    Deno.test(`${place}: every word means the same whole and streamed, to a client of ${client.name}`, async () => {
      for (const word of WORDS) {
        const one = await whole(wire, client, body(word));
        assertEquals(await streamed(wire, client, stream(word)), one, String(word));
      }
    });
  }
}

const NAMES = ["completed", "incomplete", "failed", "cancelled", "done", "brand_new"];
const RUNNING = ["in_progress", "queued"];

for (const client of WIRES) {
  Deno.test(`responses: the status inside the last event counts more than its name, to a client of ${client.name}`, async () => {
    for (const name of NAMES) {
      for (const status of WORDS) {
        // What says nothing of the end leaves that to the name.
        const isSilent = !status || RUNNING.includes(status);
        if (isSilent && (name === "done" || name === "brand_new")) continue;
        const inside = response(given("status", status));
        const meant = await whole(RESPONSES, client, response({ status: isSilent ? name : status }));
        assertEquals(
          await streamed(RESPONSES, client, ending(`response.${name}`, inside)),
          meant,
          `${name}: ${status}`,
        );
      }
    }
  });
}

Deno.test("responses: an error inside is a failure, whatever the status", async () => {
  for (const status of ["completed", "incomplete", "failed"]) {
    const inside = response({ status, error: { code: "server_error", message: "It broke" } });
    const { failed } = await whole(RESPONSES, CHAT, inside);
    assertEquals(failed, "upstream_error: The upstream failed: It broke");
    assertEquals((await streamed(RESPONSES, CHAT, ending(`response.${status}`, inside))).failed, failed);
  }
});

/** What a client of each wire reads, by the word: what was cut is never told as finished, and what nobody knows is noted. */
const READ: [place: string, word: string, chat: string, messages: string, responses: string, noted: string][] = [
  ["chat, finish_reason", "length", "length", "max_tokens", "incomplete", ""],
  ["chat, finish_reason", "MAX_TOKENS", "length", "max_tokens", "incomplete", ""],
  ["chat, finish_reason", "SAFETY", "content_filter", "refusal", "incomplete", ""],
  ["chat, finish_reason", "pause_turn", "length", "pause_turn", "incomplete", "chat messages responses"],
  ["chat, finish_reason", "brand_new_word", "stop", "end_turn", "completed", "chat messages responses"],
  ["chat, finish_reason", "", "stop", "end_turn", "completed", ""],
  ["messages, stop_reason", "length", "length", "max_tokens", "incomplete", ""],
  ["messages, stop_reason", "pause_turn", "length", "pause_turn", "incomplete", "chat responses"],
  ["messages, stop_reason", "brand_new_word", "stop", "end_turn", "completed", "chat messages responses"],
  [
    "messages, stop_reason",
    "model_context_window_exceeded",
    "length",
    "model_context_window_exceeded",
    "incomplete",
    "",
  ],
  ["responses, the reason of what is incomplete", "max_output_tokens", "length", "max_tokens", "incomplete", ""],
  ["responses, the reason of what is incomplete", "steered", "length", "max_tokens", "incomplete", "chat messages"],
  [
    "responses, the reason of what is incomplete",
    "brand_new_word",
    "length",
    "max_tokens",
    "incomplete",
    "chat messages responses",
  ],
];

for (const [place, word, chat, messages, responses, noted] of READ) {
  Deno.test(`${place}: "${word}" as clients read it`, async () => {
    const { wire, whole: body } = TELLINGS[place]!;
    const asked = newWireRequest({ model: "m", messages: [{ role: "user", content: "a" }], input: "a", max_tokens: 9 });
    const read: JsonValue[] = [];
    for (const client of WIRES) {
      const exchange = client.newExchange(client.parseRequest(asked, newContext(client.name)), asked);
      const answer = wire.parseResponse(body(word), INPUT, exchange);
      const emitted = await client.serializeResponse(answer, exchange) as JsonObject;
      const [choice] = (emitted.choices ?? []) as JsonObject[];
      read.push(choice?.finish_reason ?? emitted.stop_reason ?? emitted.status ?? null);
      const isNoted = exchange.notes.includes(`replaced the ending ${word}`);
      assertEquals(isNoted, noted.split(" ").includes(client.name), `${client.name}: ${exchange.notes}`);
    }
    assertEquals(read, [chat, messages, responses]);
  });
}
