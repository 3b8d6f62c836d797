import type { ConversationAnswer, ConversationRequest, StoredItem, WantedItem } from "../canonical/conversation.ts";
import type { RequestContext } from "../context/request_context.ts";
import { GatewayError } from "../errors.ts";
import { type Incoming, openExchange } from "../inference/incoming.ts";
import { stepsIn } from "../transforms/approvals.ts";

/** Reads or changes a conversation that the gateway keeps. */
export async function conversation(incoming: Incoming<"conversation">): Promise<Response> {
  const { protocol, input, context } = incoming;
  const exchange = openExchange(incoming, input);
  return protocol.serialize(await answer(input, exchange.id, context), exchange);
}

function isWanted({ index, message }: StoredItem, wanted: WantedItem): boolean {
  if ("index" in wanted) return index === wanted.index;
  return stepsIn([message]).some(({ id, awaitsApproval = false }) =>
    id === wanted.step && awaitsApproval === wanted.awaitsApproval
  );
}

async function answer(
  asked: ConversationRequest,
  newId: string,
  { gateway: { state: { conversations } }, caller: { owner } }: RequestContext,
): Promise<ConversationAnswer> {
  switch (asked.action) {
    case "create": {
      const made = await conversations.create(newId, asked.metadata, asked.messages, owner);
      return { conversation: made, items: made.items };
    }
    case "get": {
      const found = await conversations.get(asked.id, owner);
      return { conversation: found, items: found.items };
    }
    case "delete":
      return { conversation: await conversations.delete(asked.id, owner), items: [] };
    case "update":
      return { conversation: await conversations.change(asked.id, owner, { metadata: asked.metadata }), items: [] };
    case "add": {
      const { messages } = asked;
      const changed = await conversations.change(asked.id, owner, { messages });
      return { conversation: changed, items: messages.length > 0 ? changed.items.slice(-messages.length) : [] };
    }
    case "getItem":
    case "deleteItem": {
      const found = await conversations.get(asked.id, owner);
      const items = found.items.filter((item) => isWanted(item, asked.item));
      const [first] = items;
      if (!first) {
        throw new GatewayError("not_found", "The conversation has no item with this id", { param: "item_id" });
      }
      if (asked.action === "getItem") return { conversation: found, items };
      const removed = items.length === 1 ? first.index : items.map(({ index }) => index);
      return { conversation: await conversations.change(asked.id, owner, { removed }), items: [] };
    }
    default:
      return asked satisfies never;
  }
}
