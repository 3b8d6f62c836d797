import { assertArrayIncludes, assertEquals } from "@std/assert";
import { isJsonObject, type JsonObject } from "../../src/canonical/json.ts";
import { objectSchema } from "../../src/transforms/tool_schema.ts";
import { chatRequest } from "../support/chat_arbitraries.ts";
import { newContext, newWireRequest } from "../support/context.ts";
import { pairedResponses } from "../support/paired.ts";
import { law } from "../support/law.ts";
import { LAW_INPUTS } from "../support/law_inputs.ts";
import { CHAT, RESPONSES } from "../support/wires.ts";

const copy = (value: unknown) => JSON.parse(JSON.stringify(value));

/** A request in which every call has its result, and every result its call. */
function paired(body: JsonObject): JsonObject {
  return Array.isArray(body.input) ? { ...body, input: pairedResponses(body.input as JsonObject[]) } : body;
}

/** A chat request whose functions have complete schemas, as servers need them. */
function completed(body: JsonObject): JsonObject {
  const { tools, functions } = body;
  const complete = (one: JsonObject) => ({
    ...one,
    parameters: objectSchema((one.parameters ?? undefined) as JsonObject),
  });
  const completeTool = (tool: JsonObject) => {
    if (isJsonObject(tool.function)) return { ...tool, function: complete(tool.function) };
    return tool.type === "function" ? complete(tool) : tool;
  };
  return {
    ...body,
    ...(Array.isArray(tools) && { tools: (tools as JsonObject[]).map(completeTool) }),
    ...(Array.isArray(functions) && { functions: (functions as JsonObject[]).map(complete) }),
  };
}

for (const { wire, request, answer, normalRequest, normalAnswer } of LAW_INPUTS) {
  // Requests of the other wires are made so.
  const whole = wire === RESPONSES ? request.map(paired) : request;
  law(`${wire.name}: a request comes out as it went in, unknown fields with it`, whole, (body) => {
    const context = newContext(wire.name);
    const sent = wire.serializeRequest(wire.parseRequest(newWireRequest(body), context), context);
    const expected = wire === CHAT ? completed(body) : body;
    assertEquals(copy(normalRequest(copy(sent))), copy(normalRequest({ ...expected, model: wire.vendors })));
    assertEquals(context.notes, []);
  });

  law(`${wire.name}: an answer comes out as it went in, unknown fields with it`, answer, async (body) => {
    const asked = newWireRequest({ model: "m", messages: [{ role: "user", content: "a" }], input: "a" });
    const input = wire.parseRequest(asked, newContext(wire.name));
    const exchange = wire.newExchange(input, asked);
    const emitted = await wire.serializeResponse(wire.parseResponse(body, input, exchange), exchange);
    assertEquals(copy(normalAnswer(copy(emitted))), copy(normalAnswer(body)));
    assertEquals(exchange.notes, []);
  });
}

law("chat: an upstream gets the spelling that every server knows", chatRequest, (body) => {
  const sent = copy(CHAT.serializeRequest(CHAT.parseRequest(newWireRequest(body), newContext()), newContext()));
  assertEquals(sent.stream_options?.include_usage, body.stream === true ? true : undefined);
  for (const field of ["max_completion_tokens", "functions", "function_call"]) assertEquals(sent[field], undefined);
  assertEquals(Object.values(sent).includes(null), false);
  for (const { type, function: described } of sent.tools ?? []) {
    assertEquals([type, typeof described], ["function", "object"]);
  }
  for (const { role, content: _, ...rest } of sent.messages) {
    assertArrayIncludes(["system", "user", "assistant", "tool"], [role]);
    assertEquals(Object.values(rest).includes(null), false);
    for (const call of rest.tool_calls ?? []) {
      assertEquals([call.type, typeof call.function.arguments], ["function", "string"]);
    }
  }
});
