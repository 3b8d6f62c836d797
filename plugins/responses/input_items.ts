import type { Message } from "../../src/canonical/generate.ts";
import type { JsonObject } from "../../src/canonical/json.ts";
import type { StoredAnswer } from "../../src/canonical/stored.ts";
import type { Context } from "../../src/contract/context.ts";
import { GatewayError } from "../../src/errors.ts";
import { stepsIn } from "../../src/transforms/approvals.ts";
import { messageId } from "./item_ids.ts";
import { serializeItems } from "./serialize_items.ts";
import { namespacesOf } from "./namespaces.ts";

const PAGE = 20;
const LARGEST_PAGE = 100;

/** One page of what an answer was asked in its own turn, the newest first unless `order` says otherwise. */
export function serializeInputItems(
  { id, messages, keep }: StoredAnswer,
  query: URLSearchParams,
  context: Context,
): JsonObject {
  return pageOf(listItems(id, messages, keep, context), query);
}

/** A page of items that come in their order. */
export function pageOf(items: JsonObject[], query: URLSearchParams): JsonObject {
  if (readOrder(query) === "desc") items.reverse();
  const after = query.get("after");
  const begin = after === null ? 0 : items.findIndex((item) => item.id === after) + 1;
  if (after !== null && begin === 0) {
    throw new GatewayError("invalid_request", `Cannot find item "${after}" in the list`, { param: "after" });
  }
  const page = items.slice(begin, begin + readLimit(query));
  return {
    object: "list",
    data: page,
    first_id: page.at(0)?.id ?? null,
    last_id: page.at(-1)?.id ?? null,
    has_more: begin + page.length < items.length,
  };
}

/** The messages as items with ids of our own: no two are the same, so that a page can begin after one, and each can be referred to. */
export function listItems(
  answer: string,
  messages: readonly Message[],
  body: JsonObject,
  context: Context,
): JsonObject[] {
  return namedItems(
    messages.map((message, index) => ({ ...message, id: messageId(answer, message, index) })),
    body,
    context,
  );
}

/** Messages that have their ids. */
export function namedItems(named: readonly Message[], body: JsonObject, context: Context): JsonObject[] {
  const speech = {
    context,
    instructor: "developer",
    name: namespacesOf(body).split,
    reader: "client",
  } as const;
  return serializeItems(withWholeSteps(named), speech).map(listed);
}

/** A step's call and its result are one item, which is whole. */
function withWholeSteps(messages: readonly Message[]): readonly Message[] {
  const done = new Set(stepsIn(messages).filter(({ result }) => result).map(({ id }) => id));
  if (done.size === 0) return messages;
  return messages.flatMap((message): Message[] => {
    if (message.role !== "assistant") return [message];
    const content = message.content.filter((part) =>
      part.type !== "hosted" || part.result || part.awaitsApproval || !done.has(part.id)
    );
    return content.length > 0 ? [{ ...message, content }] : [];
  });
}

/** An item as the list shows it: with a status, and text as a list of parts. */
function listed(item: JsonObject): JsonObject {
  const type = item.role === "assistant" ? "output_text" : "input_text";
  const content = item.type === "message" && typeof item.content === "string"
    ? { content: [{ type, text: item.content, ...(type === "output_text" && { annotations: [], logprobs: [] }) }] }
    : {};
  return { ...item, ...content, status: item.status ?? "completed" };
}

function readOrder(query: URLSearchParams): "asc" | "desc" {
  const order = query.get("order") ?? "desc";
  if (order === "asc" || order === "desc") return order;
  throw new GatewayError("invalid_request", 'Expected "asc" or "desc"', { param: "order" });
}

function readLimit(query: URLSearchParams): number {
  const limit = Number(query.get("limit") ?? PAGE);
  if (Number.isInteger(limit) && limit >= 1 && limit <= LARGEST_PAGE) return limit;
  throw new GatewayError("invalid_request", `Expected a number from 1 to ${LARGEST_PAGE}`, { param: "limit" });
}
