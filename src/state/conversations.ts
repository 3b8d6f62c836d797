/** Conversations with ids. Each is stored as a list of changes, so that concurrent writers lose nothing. */
import type { StoredConversation } from "../canonical/conversation.ts";
import type { Message } from "../canonical/generate.ts";
import type { JsonObject } from "../canonical/json.ts";
import { GatewayError } from "../errors.ts";
import { quotaKey, renewalFor, settled, type StorageQuota } from "./retention.ts";
import type { Store, StoreEntry, StoreKey } from "./store.ts";
import { withStoreTimeout } from "./store_timeout.ts";

export interface Conversations {
  create(id: string, metadata: JsonObject, messages: Message[], owner: string): Promise<StoredConversation>;
  /** Throws `not_found`, as the methods below do. */
  get(id: string, owner: string): Promise<StoredConversation>;
  /** Returns the conversation after the change. */
  change(id: string, owner: string, change: Change): Promise<StoredConversation>;
  /** Returns the conversation that was deleted. */
  delete(id: string, owner: string): Promise<StoredConversation>;
}

export interface Change {
  messages?: Message[];
  metadata?: JsonObject;
  /** The indexes of removed items. A gateway of an earlier version understands a single number only. */
  removed?: number | number[];
}

export interface ConversationsOptions {
  store: Store;
  /** Absent if owners may store any amount. */
  storageQuota?: StorageQuota;
  /** Milliseconds since the epoch. */
  now(): number;
  /** How long a conversation is kept after its last change, in milliseconds. */
  retentionMs: number;
  /** How long the store may take, in milliseconds: a client waits for it. */
  patienceMs: number;
  /** How long a conversation may be, in characters. */
  longest: number;
}

/** A change as it is stored. */
interface Stored extends Change {
  version: number;
  /** When the conversation expires if nothing follows, in milliseconds since the epoch. Earlier changes may stay longer. */
  expires?: number;
  /** Until when the changes before the last one are kept, in milliseconds since the epoch. */
  kept?: number;
  /** Its position in the owner's quota list. */
  held?: number;
}

interface Creation extends Change {
  /** Seconds since the epoch. */
  created: number;
}

/** The version of the record format. A reader ignores fields that it does not know. */
const VERSION = 1;
/** How many changes are read at once, and how many a conversation may have. */
const READ_AT_ONCE = 64;
const MOST_CHANGES = 20_000;

export function createConversations(options: ConversationsOptions): Conversations {
  const { store, now, patienceMs, longest } = options;

  async function ask<T>(work: Promise<T>): Promise<T> {
    try {
      return await withStoreTimeout(patienceMs, work);
    } catch (cause) {
      if (cause instanceof GatewayError) throw cause;
      const message = "The gateway cannot reach what it stored: try again later";
      throw new GatewayError("unavailable", message, { cause });
    }
  }

  async function changesOf(id: string, owner: string, most = longest): Promise<Stored[]> {
    const changes: Stored[] = [];
    for (let length = 0;;) {
      const from = changes.length;
      const some = await ask(store.getRange(placeOf(owner, id), from, from + READ_AT_ONCE - 1));
      const end = some.indexOf(undefined);
      const found = (end < 0 ? some : some.slice(0, end)) as Stored[];
      for (const change of found) changes.push(change);
      length += JSON.stringify(found).length;
      if (length > most) throw tooLong();
      if (changes.length < from + READ_AT_ONCE) break;
    }
    const { expires = Infinity } = changes.at(-1) ?? { expires: 0 };
    if (expires > now()) return changes;
    throw new GatewayError("not_found", `Conversation with id '${id}' not found`, { param: "conversation" });
  }

  return {
    async create(id, metadata, messages, owner) {
      const creation: Creation = { created: Math.floor(now() / 1000), metadata, messages };
      await ask(write(options, id, owner, [], creation));
      return fold(id, [creation]);
    },
    get: async (id, owner) => fold(id, await changesOf(id, owner)),
    async change(id, owner, change) {
      for (;;) {
        const changes = await changesOf(id, owner);
        if (changes.length >= MOST_CHANGES) throw tooLong();
        // If another writer was first, the change is tried again after that one.
        if (await ask(write(options, id, owner, changes, change))) return fold(id, [...changes, change]);
      }
    },
    async delete(id, owner) {
      const changes = await changesOf(id, owner, Infinity);
      for (const [at, { held }] of changes.entries()) await ask(store.delete(...keysAt(owner, id, at, held)));
      return fold(id, changes);
    },
  };
}

/** The owner is part of every key, so that no caller reads another's data. */
function placeOf(owner: string, id: string): StoreKey {
  return ["conversations", owner, id];
}

/** Returns whether the change was written: not if another writer was first. `before`: the changes so far. */
async function write(
  { store, storageQuota, now, retentionMs }: ConversationsOptions,
  id: string,
  owner: string,
  before: readonly Stored[],
  change: Change,
): Promise<boolean> {
  const keys = before.map(({ held }, at) => keysAt(owner, id, at, held));
  const expires = now() + retentionMs;
  const { renewal, kept } = renewalFor({ keys, kept: before.at(-1)?.kept }, expires, retentionMs);
  const slot = await storageQuota?.reserve(owner, change);
  const stored: Stored = {
    version: VERSION,
    ...change,
    expires,
    ...(kept !== undefined && { kept }),
    ...(slot && { held: slot.position }),
  };
  const entry: StoreEntry = [[...placeOf(owner, id), before.length], stored];
  // A conversation is never evicted: an agent that comes back for it would find half of one.
  const entries = slot ? [entry, slot.entryFor({ group: id })] : [entry];
  return await settled(slot, store.add(entries, expires, renewal));
}

function keysAt(owner: string, id: string, position: number, held?: number): StoreKey[] {
  return [[...placeOf(owner, id), position], ...held === undefined ? [] : [quotaKey(owner, held)]];
}

function fold(id: string, changes: readonly Change[]): StoredConversation {
  const { created } = changes[0] as Creation;
  const conversation: StoredConversation = { id, created, metadata: {}, items: [] };
  const gone = new Set<number>();
  let index = 0;
  for (const { messages = [], metadata, removed } of changes) {
    for (const message of messages) conversation.items.push({ index: index++, message });
    if (metadata) conversation.metadata = metadata;
    if (removed !== undefined) { for (const one of [removed].flat()) gone.add(one); }
  }
  if (gone.size > 0) conversation.items = conversation.items.filter((item) => !gone.has(item.index));
  return conversation;
}

function tooLong(): GatewayError {
  const message = "The conversation is longer than one request may be: start a new one";
  return new GatewayError("invalid_request", message, { param: "conversation" });
}
