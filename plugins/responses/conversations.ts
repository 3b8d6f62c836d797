/** Conversations that the server keeps, item by item. */
import type {
  ConversationAnswer,
  ConversationRequest,
  StoredConversation,
  StoredItem,
  WantedItem,
} from "../../src/canonical/conversation.ts";
import type { Message } from "../../src/canonical/generate.ts";
import { isJsonObject, isText, type JsonObject } from "../../src/canonical/json.ts";
import type { Context, Exchange, WireRequest } from "../../src/contract/context.ts";
import { PathPattern } from "../../src/contract/path_pattern.ts";
import type { Protocol } from "../../src/contract/protocol.ts";
import { validate } from "../../src/contract/validate.ts";
import { GatewayError } from "../../src/errors.ts";
import { serializeAllowance, serializeError } from "../shared/errors.ts";
import { stepId } from "./hosted.ts";
import { namedItems, pageOf } from "./input_items.ts";
import { messageId } from "./item_ids.ts";
import { namespacesOf } from "./namespaces.ts";
import { parseItems } from "./parse_items.ts";
import { conversationSchema, itemsSchema, metadataSchema, WIRE } from "./wire.ts";

const ROOT = "/:lane/v1/conversations";
const ONE = `${ROOT}/:id`;
const ITEMS = `${ONE}/items`;
const ITEM = `${ITEMS}/:item`;

type Endpoint = Protocol<"conversation">;

function endpoint(
  name: string,
  method: Endpoint["method"],
  pathname: string,
  parse: (wire: WireRequest) => ConversationRequest,
  write: (answer: ConversationAnswer, exchange: Exchange<"conversation">) => JsonObject,
): Endpoint {
  return {
    name: `conversations-${name}`,
    describe: async () => (await import("./description.ts")).conversations[name]!,
    wire: WIRE,
    operation: "conversation",
    method,
    pattern: new PathPattern(pathname),
    body: method === "POST" ? "json" : "none",
    idPrefix: "conv_",
    parse,
    serialize: (answer, exchange) => Response.json(write(answer, exchange)),
    serializeAllowance,
    serializeError,
  };
}

const written = ({ conversation }: ConversationAnswer) => serializeConversation(conversation);
const idIn = ({ params }: WireRequest) => params.id ?? "";

export const conversationProtocols: readonly Endpoint[] = [
  endpoint("create", "POST", ROOT, ({ body }) => {
    const { items, metadata } = validate(conversationSchema, body ?? {});
    return { action: "create", messages: messagesIn(items ?? []), metadata: (metadata ?? {}) as JsonObject };
  }, written),
  endpoint("get", "GET", ONE, (wire) => ({ action: "get", id: idIn(wire) }), written),
  endpoint("update", "POST", ONE, (wire) => {
    const { metadata } = validate(metadataSchema, wire.body);
    return { action: "update", id: idIn(wire), metadata: (metadata ?? {}) as JsonObject };
  }, written),
  endpoint(
    "delete",
    "DELETE",
    ONE,
    (wire) => ({ action: "delete", id: idIn(wire) }),
    ({ conversation: { id } }) => ({ id, object: "conversation.deleted", deleted: true }),
  ),
  endpoint("add-items", "POST", ITEMS, (wire) => {
    const { items } = validate(itemsSchema, wire.body);
    return { action: "add", id: idIn(wire), messages: messagesIn(items) };
  }, (answer, exchange) => {
    const items = itemsOf(answer, exchange);
    return { object: "list", data: items, first_id: items.at(0)?.id, last_id: items.at(-1)?.id, has_more: false };
  }),
  endpoint(
    "list-items",
    "GET",
    ITEMS,
    (wire) => ({ action: "get", id: idIn(wire) }),
    (answer, exchange) => pageOf(itemsOf(answer, exchange), exchange.wire.query),
  ),
  endpoint(
    "get-item",
    "GET",
    ITEM,
    (wire) => ({ action: "getItem", id: idIn(wire), item: itemIn(wire) }),
    (answer, exchange) => itemsOf(answer, exchange)[0] ?? {},
  ),
  endpoint(
    "delete-item",
    "DELETE",
    ITEM,
    (wire) => ({ action: "deleteItem", id: idIn(wire), item: itemIn(wire) }),
    written,
  ),
];

/** The id that a request names its conversation by. */
export function conversationId(value: unknown): string | undefined {
  if (value === undefined || value === null) return undefined;
  const id = isJsonObject(value) ? value.id : value;
  if (isText(id)) return id;
  throw new GatewayError("invalid_request", "Expected the id of a conversation", { param: "conversation" });
}

function messagesIn(items: Parameters<typeof parseItems>[0]): Message[] {
  const { messages, references } = parseItems(items, namespacesOf({}));
  if (references.length === 0) return messages;
  throw new GatewayError("invalid_request", "A conversation keeps no references: send the item itself", {
    param: "items",
  });
}

function serializeConversation({ id, created, metadata }: StoredConversation): JsonObject {
  return { id, object: "conversation", created_at: created, metadata };
}

function itemsOf({ conversation: { id }, items }: ConversationAnswer, context: Context): JsonObject[] {
  return namedItems(items.map((item) => named(id, item)), {}, context);
}

function named(conversation: string, { index, message }: StoredItem): Message {
  return { ...message, id: messageId(conversation.replace(/^conv_/, ""), message, index) };
}

/** Items are numbered at the end of their ids, but for steps of hosted tools, whose ids other items name. */
function itemIn({ params: { item = "" } }: WireRequest): WantedItem {
  const [, index] = /_in(\d+)$/.exec(item) ?? [];
  if (index !== undefined) return { index: Number(index) };
  const { id, awaitsApproval } = stepId(item);
  return { step: id, awaitsApproval };
}
