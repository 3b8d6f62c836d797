import { assertEquals } from "@std/assert";
import type { JsonObject } from "../../src/canonical/json.ts";
import { newContext, newWireRequest } from "../support/context.ts";
import { CHAT } from "../support/wires.ts";

function sent(more: JsonObject) {
  const context = newContext("chat");
  const body = { model: "m", messages: [{ role: "user", content: "Hello" }], ...more };
  const asked = CHAT.serializeRequest(CHAT.parseRequest(newWireRequest(body), context), context);
  return { asked: JSON.parse(JSON.stringify(asked)), notes: context.notes };
}

Deno.test("chat: what an SDK would unpack is unpacked, and headers in the body reach no upstream", () => {
  const { asked, notes } = sent({
    temperature: 1,
    extra_body: { temperature: 0, a: 1 },
    headers: { authorization: "x" },
  });
  assertEquals([asked.extra_body, asked.headers, asked.temperature, asked.a], [undefined, undefined, 0, 1]);
  assertEquals(notes, ["dropped headers"]);
});

Deno.test("chat: a tool in the shape of the messages wire is a function", () => {
  const schema = { type: "object", properties: { p: { type: "string" } } };
  const { asked, notes } = sent({ tools: [{ name: "read", description: "d", input_schema: schema }] });
  assertEquals(asked.tools, [{ type: "function", function: { name: "read", description: "d", parameters: schema } }]);
  assertEquals(notes, []);
});

Deno.test("chat: a call without a function is left out of the history, and noted", () => {
  const calls = [{ id: "", type: "function" }];
  const { asked, notes } = sent({ messages: [{ role: "assistant", content: "Done", tool_calls: calls }] });
  assertEquals(asked.messages, [{ role: "assistant", content: "Done" }]);
  assertEquals(notes, ["dropped a call without a function"]);
});

Deno.test("chat: the empty list of annotations of an answer does not go back", () => {
  const { asked } = sent({ messages: [{ role: "assistant", content: "Hi", annotations: [] }] });
  assertEquals(asked.messages, [{ role: "assistant", content: "Hi" }]);
});
