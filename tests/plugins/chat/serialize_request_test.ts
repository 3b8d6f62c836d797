import { assertEquals } from "@std/assert";
import { chatDriver } from "../../../plugins/chat/mod.ts";
import { serializeRequest } from "../../../plugins/chat/serialize_request.ts";
import type { JsonObject } from "../../../src/canonical/json.ts";
import { prepareFor } from "../../support/prepare.ts";
import { newContext, newWireRequest } from "../../support/context.ts";
import { CHAT, MESSAGES, TARGET } from "../../support/wires.ts";

function send(body: JsonObject, target = TARGET): { messages: JsonObject[]; notes: string[] } {
  const context = newContext(MESSAGES.name);
  const input = MESSAGES.parseRequest(newWireRequest({ model: "m", max_tokens: 9, ...body }), context);
  return {
    messages: serializeRequest(prepareFor(chatDriver, input, target, context), target, context)
      .messages as JsonObject[],
    notes: context.notes,
  };
}

const thought = [
  { role: "user", content: "a" },
  {
    role: "assistant",
    content: [{ type: "thinking", thinking: "hm", signature: "c2ln" }, { type: "text", text: "b" }],
  },
  { role: "user", content: "c" },
];

Deno.test("a client of another wire has the model's thoughts sent back to it", () => {
  const { messages, notes } = send({ messages: thought });
  assertEquals(messages[1], { role: "assistant", content: "b", reasoning_content: "hm" });
  assertEquals(notes, ["dropped reasoning that only its vendor can read"]);
});

Deno.test("a family whose hosts refuse earlier reasoning does not get it", () => {
  const { messages, notes } = send({ messages: thought }, { ...TARGET, model: "google/gemma-4-31B-it" });
  assertEquals(messages[1], { role: "assistant", content: "b" });
  assertEquals(notes, ["dropped reasoning that only its vendor can read", "dropped reasoning of earlier turns"]);
});

Deno.test("nor does it from a client of this wire, whose whole conversation would be refused", () => {
  const context = newContext(CHAT.name);
  const messages = [{ role: "user", content: "a" }, { role: "assistant", content: "b", reasoning_content: "hm" }];
  const input = CHAT.parseRequest(newWireRequest({ model: "m", messages }), context);
  const sent = serializeRequest(input, { ...TARGET, model: "gemma4:26b" }, context);
  assertEquals((sent.messages as JsonObject[])[1], { role: "assistant", content: "b" });
  assertEquals(context.notes, ["dropped reasoning of earlier turns"]);
});

Deno.test("an upstream that takes instructions anywhere gets them in place", () => {
  const messages = [{ role: "user", content: "a" }, { role: "system", content: "b" }, {
    role: "assistant",
    content: "c",
  }];
  assertEquals(send({ messages }, { ...TARGET, systemMessages: "anywhere" }), { messages, notes: [] });
});
