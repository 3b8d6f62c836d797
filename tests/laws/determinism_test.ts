import { assertEquals } from "@std/assert";
import { isJsonObject, type JsonObject } from "../../src/canonical/json.ts";
import { chatRequest } from "../support/chat_arbitraries.ts";
import { newContext, newWireRequest } from "../support/context.ts";
import { law } from "../support/law.ts";
import { CHAT } from "../support/wires.ts";

/** The bytes that the upstream gets. */
function bytesFor(body: JsonObject): string {
  return JSON.stringify(CHAT.serializeRequest(CHAT.parseRequest(newWireRequest(body), newContext()), newContext()));
}

law("chat: the same request gives the same bytes", chatRequest, (body) => {
  assertEquals(bytesFor(structuredClone(body)), bytesFor(body));
});

const FIELDS = ["messages", "model", "tools", "tool_choice", "temperature", "max_tokens", "stop", "stream", "top_p"];

law("chat: the order of the fields that every request has does not matter", chatRequest, (body) => {
  const { stream_options, ...rest } = body;
  const moved = Object.fromEntries(FIELDS.filter((field) => field in rest).map((field) => [field, rest[field]]));
  const others = Object.entries(rest).filter(([field]) => !FIELDS.includes(field));
  assertEquals(bytesFor({ stream_options, ...Object.fromEntries(others), ...moved }), bytesFor(body));
});

law("chat: a schema keeps the order that its author gave it", chatRequest, (body) => {
  const sent = JSON.parse(bytesFor(body));
  const functions = (tools: unknown) =>
    (Array.isArray(tools) ? tools : []).map((tool) => tool.function ?? (tool.type === "custom" ? undefined : tool))
      .filter((one) => isJsonObject(one) && isJsonObject(one.parameters));
  const schemas = new Map(functions(sent.tools).map(({ name, parameters }) => [name, JSON.stringify(parameters)]));
  for (const { name, parameters } of [...functions(body.tools), ...functions(body.functions)]) {
    // A choice of allowed tools leaves others out.
    if (schemas.has(name)) assertEquals(schemas.get(name), JSON.stringify(parameters));
  }
});
