/** The tables of sampling parameters: each wire reads and writes its own, and lacks the others. */
import { assertEquals } from "@std/assert";
import { parseRequest as parseChat } from "../../../plugins/chat/parse_request.ts";
import { serializeRequest as serializeChat } from "../../../plugins/chat/serialize_request.ts";
import { parseRequest as parseGemini } from "../../../plugins/gemini/parse_request.ts";
import { parseRequest as parseMessages } from "../../../plugins/messages/parse_request.ts";
import { serializeRequest as serializeMessages } from "../../../plugins/messages/serialize_request.ts";
import { parseRequest as parseOllama } from "../../../plugins/ollama/parse_request.ts";
import { parseRequest as parseResponses } from "../../../plugins/responses/parse_request.ts";
import { serializeRequest as serializeResponses } from "../../../plugins/responses/serialize_request.ts";
import { chatDriver } from "../../../plugins/chat/mod.ts";
import { messagesDriver } from "../../../plugins/messages/mod.ts";
import { responsesDriver } from "../../../plugins/responses/mod.ts";
import {
  CHAT_SAMPLING,
  GEMINI_SAMPLING,
  MESSAGES_SAMPLING,
  OLLAMA_SAMPLING,
  RESPONSES_SAMPLING,
  SAMPLING_NAMES,
  type SamplingTable,
} from "../../../plugins/shared/sampling.ts";
import type { GenerateRequest } from "../../../src/canonical/generate.ts";
import type { JsonObject } from "../../../src/canonical/json.ts";
import { SAMPLING_PARAMETERS, type SamplingParameter } from "../../../src/canonical/sampling.ts";
import type { Context } from "../../../src/contract/context.ts";
import type { Target } from "../../../src/contract/driver.ts";

const context: Context = { clientWire: "test", note() {} };
const target: Target = { model: "m", upstream: "up", systemMessages: "anywhere" };
const messages = [{ role: "user", content: "Hello" }];
const wire = (body: JsonObject) => ({
  body,
  headers: new Headers(),
  params: { id: "m" },
  query: new URLSearchParams(),
});

const CLIENTS: [name: string, table: SamplingTable, parse: (sampling: JsonObject) => GenerateRequest][] = [
  ["chat", CHAT_SAMPLING, (sampling) => parseChat(wire({ model: "m", messages, ...sampling }), context)],
  ["messages", MESSAGES_SAMPLING, (sampling) => parseMessages(wire({ model: "m", messages, ...sampling }), context)],
  [
    "responses",
    RESPONSES_SAMPLING,
    (sampling) => parseResponses(wire({ model: "m", input: "Hello", ...sampling }), context),
  ],
  ["ollama", OLLAMA_SAMPLING, (options) => parseOllama(wire({ model: "m", messages, options }))],
  [
    "gemini",
    GEMINI_SAMPLING,
    (generationConfig) => parseGemini(wire({ contents: [{ parts: [{ text: "Hello" }] }], generationConfig }), false),
  ],
];

for (const [name, table, parse] of CLIENTS) {
  Deno.test(`sampling: every parameter of the table is parsed under its canonical name, and null is absent · ${name}`, () => {
    const { parsed, samples } = table;
    const request = parse(samples) as unknown as Record<string, unknown>;
    for (const { from, to } of parsed) assertEquals(request[to], samples[from], from);
    assertEquals(request.extra, undefined);
    const empty = parse(Object.fromEntries(parsed.map(({ from }) => [from, null])));
    for (const { to } of parsed) assertEquals(to in empty, false, to);
  });
}

const UPSTREAMS = [
  ["chat", CHAT_SAMPLING, serializeChat, chatDriver],
  ["messages", MESSAGES_SAMPLING, serializeMessages, messagesDriver],
  ["responses", RESPONSES_SAMPLING, serializeResponses, responsesDriver],
] as const;

for (const [name, { serialized, samples }, serialize, driver] of UPSTREAMS) {
  Deno.test(`sampling: a wire sends what its table has, in its order, and its driver lacks the rest · ${name}`, () => {
    const all = Object.fromEntries(Object.keys(SAMPLING_PARAMETERS).map((name, at) => [name, at + 1]));
    const body = serialize({ model: "m", messages: [], stream: false, ...all }, target, context);
    const sent = Object.keys(body).filter((field) => SAMPLING_NAMES.includes(field));
    assertEquals(sent, Object.keys(samples));
    for (const { from, to } of serialized) assertEquals(body[to], all[from], to);
    const { lacks = {} } = driver.intake!(target);
    const kept = serialized.map(({ from }) => from);
    for (const name of Object.keys(SAMPLING_PARAMETERS) as SamplingParameter[]) {
      assertEquals(lacks[name], kept.includes(name) ? undefined : SAMPLING_PARAMETERS[name], name);
    }
  });
}
