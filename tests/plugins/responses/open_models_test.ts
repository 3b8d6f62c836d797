import { assertEquals } from "@std/assert";
import type { JsonObject } from "../../../src/canonical/json.ts";
import { responsesDriver } from "../../../plugins/responses/mod.ts";
import { parseRequest } from "../../../plugins/responses/parse_request.ts";
import { serializeRequest } from "../../../plugins/responses/serialize_request.ts";
import { prepareFor } from "../../support/prepare.ts";
import { newContext, newWireRequest } from "../../support/context.ts";
import { TARGET } from "../../support/wires.ts";

const patch = {
  type: "custom",
  name: "apply_patch",
  format: { type: "grammar", syntax: "lark", definition: "start: X" },
};
const conversation: JsonObject = {
  model: "m",
  tools: [patch],
  tool_choice: { type: "custom", name: "apply_patch" },
  input: [
    { role: "user", content: "Mend it" },
    { type: "web_search_call", id: "ws_1", status: "completed", action: { type: "search", query: "how" } },
    {
      type: "reasoning",
      id: "rs_1",
      summary: [{ type: "summary_text", text: "A patch, then." }],
      encrypted_content: "e30",
    },
    { type: "custom_tool_call", call_id: "c1", name: "apply_patch", input: "*** Begin" },
    { type: "custom_tool_call_output", call_id: "c1", output: "done" },
    { type: "function_call", call_id: "c2", name: "read", arguments: '{"path' },
    { type: "function_call_output", call_id: "c2", output: "cut" },
    { type: "reasoning", id: "rs_2", summary: [], encrypted_content: "e30" },
    { type: "message", role: "assistant", content: [{ type: "refusal", refusal: "No" }] },
    { role: "user", content: "Why?" },
  ],
};

function send(model: string): { sent: JsonObject; notes: string[] } {
  const context = newContext("responses");
  const input = parseRequest(newWireRequest(conversation), context);
  const target = { ...TARGET, model };
  const prepared = prepareFor(responsesDriver, input, target, context);
  return {
    sent: JSON.parse(JSON.stringify(serializeRequest(prepared, target, context))),
    notes: context.notes,
  };
}

Deno.test("an open model is told in messages, functions and thoughts, which is what its servers know", () => {
  const { sent, notes } = send("org/model");
  assertEquals(sent.input, [
    { type: "message", role: "user", content: "Mend it" },
    { type: "message", role: "assistant", content: '[Called web-search with {"query":"how"}]' },
    { type: "reasoning", id: "rs_1", summary: [], content: [{ type: "reasoning_text", text: "A patch, then." }] },
    { type: "function_call", call_id: "c1", name: "apply_patch", arguments: '{"input":"*** Begin"}' },
    { type: "function_call_output", call_id: "c1", output: "done" },
    { type: "function_call", call_id: "c2", name: "read", arguments: '{"input":"{\\"path"}' },
    { type: "function_call_output", call_id: "c2", output: "cut" },
    { type: "message", role: "assistant", content: "No" },
    { type: "message", role: "user", content: "Why?" },
  ]);
  const [tool] = sent.tools as JsonObject[];
  assertEquals([tool?.type, tool?.name, sent.tool_choice], [
    "function",
    "apply_patch",
    { type: "function", name: "apply_patch" },
  ]);
  assertEquals(notes, [
    "replaced a part of type web_search_call with text",
    // One for each of both thoughts; the text of one is there, too.
    "dropped reasoning that only its vendor can read",
    "dropped reasoning that only its vendor can read",
  ]);
});

Deno.test("the vendor's own model gets every item as it came", () => {
  const { sent, notes } = send("gpt-5.2");
  const types = (sent.input as JsonObject[]).map(({ type }) => type);
  assertEquals(types, (conversation.input as JsonObject[]).map(({ type }) => type ?? "message"));
  assertEquals([(sent.tools as JsonObject[])[0]?.type, sent.store, notes], ["custom", false, []]);
});

Deno.test("encrypted reasoning goes back under the id that its vendor gave it", () => {
  const generate = responsesDriver.operations.generate!;
  if (!("response" in generate)) throw new TypeError("A driver that makes calls was expected");
  const context = newContext("responses");
  const asked = parseRequest(newWireRequest({ model: "m", input: "a" }), context);
  const output = [{ type: "reasoning", id: "rs_vendor", summary: [], encrypted_content: "gAAA" }];
  const body = { status: "completed", output, usage: { input_tokens: 1, output_tokens: 1 } };
  const { content } = generate.response([{ status: 200, headers: new Headers(), body }], asked, TARGET, context);
  const target = { ...TARGET, model: "gpt-5.2" };
  const again = { ...asked, messages: [...asked.messages, { role: "assistant" as const, content }] };
  const [, item] = serializeRequest(again, target, context).input as JsonObject[];
  assertEquals(item, { type: "reasoning", id: "rs_vendor", summary: [], encrypted_content: "gAAA" });
});
