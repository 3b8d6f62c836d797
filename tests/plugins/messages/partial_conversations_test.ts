/** Requests that hold only a part of a conversation, where none are kept: they are never answered as if they were whole. */
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

/** The fields with which each wire's requests go on from turns that a server keeps, and whether the gateway keeps them there. */
const FIELDS: Record<string, { value: JsonObject | string; kept: readonly string[] }> = {
  previous_response_id: { value: "resp_1", kept: ["responses"] },
  conversation: { value: "conv_1", kept: ["responses"] },
  thread: { value: { type: "create" }, kept: ["messages"] },
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
