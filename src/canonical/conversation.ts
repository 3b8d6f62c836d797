/** Conversations that the gateway keeps under an id of their own, item by item. */
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
  /** Its number, which stays its own whatever is removed. */
  index: number;
  message: Message;
}

/** What is to be done with one. */
export type ConversationRequest =
  | { action: "create"; metadata: JsonObject; messages: Message[] }
  | { action: "get" | "delete"; id: string }
  | { action: "update"; id: string; metadata: JsonObject }
  | { action: "add"; id: string; messages: Message[] }
  | { action: "getItem" | "deleteItem"; id: string; item: WantedItem };

/** An item by its number; a step of a hosted tool by its own id, of which there may be the call and its result. */
export type WantedItem = { index: number } | { step: string; awaitsApproval: boolean };

export interface ConversationAnswer {
  /** As it is then; of one that was deleted, as it was. */
  conversation: StoredConversation;
  /** The items that were added or asked for. */
  items: StoredItem[];
}
