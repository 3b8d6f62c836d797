/** Conversations that the gateway stores item by item under their own ids. */
import type { Message } from "./generate.ts";
import type { JsonObject } from "./json.ts";

export interface StoredConversation {
  id: string;
  /** Seconds since the epoch. */
  created: number;
  metadata: JsonObject;
  items: StoredItem[];
}

export interface StoredItem {
  /** The item's number, which does not change when other items are removed. */
  index: number;
  message: Message;
}

/** An action on a conversation. */
export type ConversationRequest =
  | { action: "create"; metadata: JsonObject; messages: Message[] }
  | { action: "get" | "delete"; id: string }
  | { action: "update"; id: string; metadata: JsonObject }
  | { action: "add"; id: string; messages: Message[] }
  | { action: "getItem" | "deleteItem"; id: string; item: WantedItem };

/** An item by its number. A step of a hosted tool has an id of its own, which its call and its result may share. */
export type WantedItem = { index: number } | { step: string; awaitsApproval: boolean };

export interface ConversationAnswer {
  /** The state after the action. For a deleted conversation, the state before. */
  conversation: StoredConversation;
  /** The items that were added or requested. */
  items: StoredItem[];
}
