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

for (
  const call of [
    { id: "", type: "function" },
    { id: "c" },
    { id: "c", function: null },
    { id: "c", type: "function", function: {} },
    { id: "c", type: "custom" },
    { id: "c", function: {}, custom: {} },
  ]
) {
  Deno.test(`chat: a call that calls nothing is left out of the history, and noted: ${JSON.stringify(call)}`, () => {
    const { asked, notes } = sent({ messages: [{ role: "assistant", content: "Done", tool_calls: [call] }] });
    assertEquals(asked.messages, [{ role: "assistant", content: "Done" }]);
    assertEquals(notes, ["dropped a call without a function"]);
  });
}

Deno.test("chat: a call with an empty variant beside its function is the function's", () => {
  const call = { id: "c", type: "function", function: { name: "f", arguments: "{}" }, custom: {} };
  const { asked, notes } = sent({ messages: [{ role: "assistant", content: null, tool_calls: [call] }] });
  assertEquals(asked.messages[0].tool_calls[0].function, { name: "f", arguments: "{}" });
  assertEquals(notes, []);
});

Deno.test("chat: instructions and stop texts under the names of other wires count", () => {
  const messages = [{ role: "user", content: "Hello" }];
  for (const name of ["system", "instructions"]) {
    for (const content of ["Be kind", [{ type: "text", text: "Be kind" }]]) {
      const { asked, notes } = sent({ [name]: content, messages });
      assertEquals(asked.messages, [{ role: "system", content: "Be kind" }, ...messages]);
      assertEquals([asked[name], notes], [undefined, []]);
    }
    for (const none of ["", [], null]) assertEquals(sent({ [name]: none, messages }).asked.messages, messages);
  }
  assertEquals(sent({ stop_sequences: ["X"] }).asked.stop, ["X"]);
  const { asked, notes } = sent({ stop_sequences: ["X"], stop: ["Y"] });
  assertEquals([asked.stop, asked.stop_sequences, notes], [["Y"], undefined, ["dropped stop_sequences"]]);
});

Deno.test("chat: the empty list of annotations of an answer does not go back", () => {
  const { asked } = sent({ messages: [{ role: "assistant", content: "Hi", annotations: [] }] });
  assertEquals(asked.messages, [{ role: "assistant", content: "Hi" }]);
});
