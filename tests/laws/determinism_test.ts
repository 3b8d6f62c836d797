import { assertEquals } from "@std/assert";
import { isJsonObject, type JsonObject } from "../../src/canonical/json.ts";
import { GatewayError } from "../../src/errors.ts";
import { chatRequest } from "../support/chat_arbitraries.ts";
import { newContext, newWireRequest } from "../support/context.ts";
import { law } from "../support/law.ts";
import { LAW_INPUTS } from "../support/law_inputs.ts";
import { CHAT, type Wire } from "../support/wires.ts";

/** The bytes that an upstream of the wire `to` gets. */
function bytesFor(body: JsonObject, from: Wire = CHAT, to: Wire = from): string {
  const context = newContext(from.name);
  const input = from.parseRequest(newWireRequest(body), context);
  try {
    return JSON.stringify(to.serializeRequest(input, context));
  } catch (error) {
    // What another wire cannot do and the client insists on is refused.
    if (from === to || !(error instanceof GatewayError)) throw error;
    return error.message;
  }
}

const FIELDS = [
  "messages",
  "model",
  "system",
  "tools",
  "tool_choice",
  "thinking",
  "temperature",
  "max_tokens",
  "stop",
  "stream",
  "top_p",
];

for (const { wire, request } of LAW_INPUTS) {
  for (const { wire: to } of LAW_INPUTS) {
    law(`${wire.name} to ${to.name}: the same request gives the same bytes`, request, (body) => {
      // As the parser of JSON makes them: on Node, arbitrary objects may have no prototype.
      const again = () => bytesFor(structuredClone(body), wire, to);
      assertEquals(again(), again());
    });
  }

  law(`${wire.name}: the order of the fields that every request has does not matter`, request, (body) => {
    const { stream_options, ...rest } = body;
    const moved = Object.fromEntries(FIELDS.filter((field) => field in rest).map((field) => [field, rest[field]]));
    const others = Object.entries(rest).filter(([field]) => !FIELDS.includes(field));
    assertEquals(bytesFor({ stream_options, ...Object.fromEntries(others), ...moved }, wire), bytesFor(body, wire));
  });
}

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
