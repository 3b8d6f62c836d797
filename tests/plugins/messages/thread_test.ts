/** Requests that hold only a part of a conversation: they are refused, never answered as if they were whole. */
import { assertEquals } from "@std/assert";
import type { JsonObject } from "../../../src/canonical/json.ts";
import { type ConfigInput, newApp } from "../../support/app.ts";
import { fakeUpstream } from "../../support/fake_upstream.ts";
import { bodyFor, CONFIG, HEADERS, PATH, WIRES } from "../../regressions/support.ts";

/** Every kind of upstream, that of the vendor's own models and the sandbox among them. */
const TARGETS = {
  chat: { upstream: "chat", model: "org/model" },
  messages: { upstream: "messages", model: "org/model" },
  responses: { upstream: "responses", model: "org/model" },
  vendor: { upstream: "messages", model: "claude-opus-5-5" },
  sandbox: { upstream: "sandbox", model: "sandbox" },
};
const ALL: ConfigInput = {
  upstreams: { ...CONFIG.upstreams, sandbox: { driver: "sandbox" } },
  lanes: {
    oss: {
      models: Object.fromEntries(
        Object.entries(TARGETS).map(([name, target]) => [name, { task: "chat" as const, targets: [target] }]),
      ),
    },
  },
};

async function refusalOf(path: string, body: JsonObject, headers: Record<string, string> = {}) {
  const fake = fakeUpstream(() => new Response());
  const response = await newApp({ config: ALL, fetch: fake.fetch }).post(path, body, headers);
  assertEquals([response.status, fake.asked.length], [400, 0]);
  return (await response.json()).error;
}

const TURN = { role: "user", content: "And then?" };
const CREATE = { type: "create" };
const CONTINUE = { type: "continue", previous_message_id: "msg_1" };
const REQUESTS: Record<string, JsonObject> = {
  "a new thread": { max_tokens: 9, messages: [TURN], thread: CREATE },
  "the next turn": { max_tokens: 9, messages: [TURN], thread: CONTINUE },
  "a thread that goes on without a new turn": { max_tokens: 9, messages: [], thread: CONTINUE },
};

for (const model of Object.keys(TARGETS)) {
  for (const [title, body] of Object.entries(REQUESTS)) {
    Deno.test(`thread: ${title} is refused by the code that clients know (${model})`, async () => {
      for (const path of [PATH.messages, `${PATH.messages}/count_tokens`]) {
        const headers = { ...HEADERS.messages, "anthropic-beta": "message-threads-2026-08-12" };
        const { type, details } = await refusalOf(path, { model, ...body }, headers);
        assertEquals(type, "invalid_request_error");
        assertEquals(details, { error_code: "thread_unsupported_request" });
      }
    });
  }
}

/** The fields with which each wire's requests go on from turns that a server keeps, and whether the gateway keeps them there. */
const FIELDS: Record<string, { value: JsonObject | string; kept: readonly string[] }> = {
  previous_response_id: { value: "resp_1", kept: ["responses"] },
  conversation: { value: "conv_1", kept: ["responses"] },
  thread: { value: CREATE, kept: ["messages"] },
};

for (const [field, { value, kept }] of Object.entries(FIELDS)) {
  for (const client of WIRES.filter((wire) => !kept.includes(wire))) {
    for (const model of Object.keys(TARGETS)) {
      Deno.test(`a request that goes on from kept turns is refused where none are kept (${field}, ${client}, ${model})`, async () => {
        const { message } = await refusalOf(
          PATH[client],
          { ...bodyFor(client, {}, model), [field]: value },
          HEADERS[client],
        );
        assertEquals(message, `This endpoint keeps no conversations: send the whole one instead of "${field}"`);
      });
    }
  }
}
