/** The endpoint that only compacts a conversation. */
import type { GenerateResponse } from "../../src/canonical/generate.ts";
import { isJsonObject, type JsonObject } from "../../src/canonical/json.ts";
import type { Exchange, WireRequest } from "../../src/contract/context.ts";
import { TRIGGER } from "./compaction.ts";
import { listItems } from "./input_items.ts";
import { serializeUsage } from "./usage.ts";

/** A request of the endpoint that only compacts, as the one that asks for the same among others. */
export function asTriggered(wire: WireRequest): WireRequest {
  const { body } = wire;
  if (!isJsonObject(body)) return wire;
  const { input } = body;
  const items = typeof input === "string" ? [{ role: "user", content: input }] : input ?? [];
  if (!Array.isArray(items) || items.length === 0 && !body.previous_response_id) return wire;
  return { ...wire, body: { ...body, input: [...items, { type: TRIGGER }], store: false, stream: false } };
}

/** The answer of that endpoint: every user message as it was, then the summary. They are the next input. */
export function serializeCompacted(
  exchange: Exchange<"generate">,
  output: GenerateResponse,
): JsonObject {
  const { id, created, input } = exchange;
  const messages = input.messages.filter((message) => message.role === "user" && !message.isSummary);
  const summaries = output.content.flatMap((part) => part.type === "opaque" ? [part.extra.fields] : []);
  return {
    id,
    object: "response.compaction",
    created_at: created,
    output: [...listItems(id, messages, {}, exchange), ...summaries],
    usage: serializeUsage(output.usage),
  };
}
