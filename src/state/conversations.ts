/** Conversations under an id: a list of changes each, so that whoever adds to one at the same time loses nothing. */
import type { StoredConversation } from "../canonical/conversation.ts";
import type { Message } from "../canonical/generate.ts";
import type { JsonObject } from "../canonical/json.ts";
import { GatewayError } from "../errors.ts";
import { quotaKey, renewalFor, settled, type StorageQuota } from "./retention.ts";
import type { Store, StoreEntry, StoreKey } from "./store.ts";
import { withStoreTimeout } from "./store_timeout.ts";

export interface Conversations {
  create(id: string, metadata: JsonObject, messages: Message[], owner: string): Promise<StoredConversation>;
  /** Throws `not_found`, as all that follow do. */
  get(id: string, owner: string): Promise<StoredConversation>;
  /** The conversation as it is then. */
  change(id: string, owner: string, change: Change): Promise<StoredConversation>;
  /** Nothing of it is left then. */
  delete(id: string, owner: string): Promise<StoredConversation>;
}

export interface Change {
  messages?: Message[];
  metadata?: JsonObject;
  /** The numbers of items that are removed. A gateway of an earlier version knows one alone. */
  removed?: number | number[];
}

export interface ConversationsOptions {
  store: Store;
  /** Where each owner may keep only so much. */
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
  /** Where the owner's list has it. */
  held?: number;
}

interface Creation extends Change {
  /** Seconds since the epoch. */
  created: number;
}

/** The form of the records. A reader leaves aside what it does not know of a later one. */
const VERSION = 1;
/** How many changes are read at once, and how many of them a conversation may have. */
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
        // Somebody else may have been first: then this one comes after it.
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

/** The owner is part of every key, so nobody reads what is another's. */
function placeOf(owner: string, id: string): StoreKey {
  return ["conversations", owner, id];
}

/** Whether nobody else was first. `before`: the changes that are there. */
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
  // A conversation does not go by itself: an agent that comes back for it would find half of one.
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
