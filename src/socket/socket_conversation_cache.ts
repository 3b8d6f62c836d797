/** The latest answer of each lane of a WebSocket that is not stored, for the request that continues it. */
import type { GenerateRequest, Message } from "../canonical/generate.ts";
import type { JsonObject } from "../canonical/json.ts";
import { GatewayError } from "../errors.ts";
import type { ConversationCache } from "../inference/incoming.ts";
import type { KeptItem, KeptItems } from "../http/kept_items.ts";
import type { Recalled } from "../state/continuity.ts";
import { markReasoning } from "../transforms/reasoning.ts";
import type { Capacity } from "../util/shares.ts";

interface Entry extends KeptItem {
  lane: string;
  /** The whole conversation, without the instructions that were for one answer only. */
  messages: Message[];
  /** The characters of its requests and answers. */
  characters: number;
  /** The other fields that a warm-up prepared. */
  prepared?: JsonObject;
}

/** The memory of each message and part besides its characters, in bytes. */
const PART_BYTES = 256;
/** Messages of at most this many characters are not counted. */
const SMALL_TEXT = 65_536;

export interface SocketConversationCacheOptions {
  /** The conversations of all callers' sockets. */
  kept: KeptItems;
  capacity: Capacity;
  /** The owner of the socket. */
  owner: string;
  /** The limit for one conversation, in characters. */
  longest: number;
  /** Called when the socket should end, because that alone makes room. */
  onFull(): void;
}

export class SocketConversationCache {
  readonly #entries = new Map<string, Entry>();
  readonly #options: SocketConversationCacheOptions;
  #latest: KeptItem | undefined;

  constructor(options: SocketConversationCacheOptions) {
    this.#options = options;
  }

  clear(): void {
    for (const id of this.#entries.keys()) this.#forget(id);
    this.countText(0);
  }

  /**
   * Counts the text of the latest message, which Deno (2.9.6) holds until the next one comes. `length`: in characters.
   */
  countText(length: number): void {
    const { kept, owner, capacity, onFull } = this.#options;
    if (this.#latest) kept.delete(owner, this.#latest);
    this.#latest = length <= SMALL_TEXT ? undefined : { size: length, forget: onFull };
    if (this.#latest && !kept.keep(owner, this.#latest, capacity)) onFull();
  }

  /** The fields that a warm-up prepared for the request that names it. */
  preparedFor(id: unknown): JsonObject | undefined {
    return typeof id === "string" ? this.#entries.get(id)?.prepared : undefined;
  }

  /** `size`: characters of the request. `prepared`: the request itself, if it is a warm-up. */
  open(lane: string, size: number, prepared?: JsonObject): ConversationCache {
    let kept: Pick<Entry, "messages" | "characters"> = { messages: [], characters: size };
    return {
      recall: async (input, fromStore) => {
        const { at = 0, previous } = input.recall ?? {};
        const entry = previous === undefined ? undefined : this.#entries.get(previous);
        const recalled = entry && !input.recall?.references ? continueFrom(input, entry, at) : await fromStore();
        const messages = recalled.input.messages.slice(at);
        if (previous !== undefined) refuseOrphans(recalled.added.messages, messages);
        kept = { messages, characters: size + (entry?.characters ?? 0) };
        return recalled;
      },
      keep: (id, response, target = "") => {
        const content = (response?.content ?? []).map((part) => markReasoning(part, target));
        const characters = kept.characters + JSON.stringify(content).length;
        for (const [other, entry] of this.#entries) if (entry.lane === lane) this.#forget(other);
        const answer: Message[] = content.length > 0 ? [{ role: "assistant", content }] : [];
        this.#keep(id, { lane, characters, messages: [...kept.messages, ...answer], prepared });
      },
    };
  }

  #keep(id: string, entry: Omit<Entry, "size" | "forget">): void {
    const { kept, owner, capacity, longest } = this.#options;
    if (entry.characters > longest) return;
    const parts = entry.messages.reduce((sum, { content }) => sum + 1 + content.length, 0);
    const item = { ...entry, size: entry.characters + parts * PART_BYTES, forget: () => void this.#entries.delete(id) };
    if (kept.keep(owner, item, capacity)) this.#entries.set(id, item);
  }

  #forget(id: string): void {
    const entry = this.#entries.get(id);
    this.#entries.delete(id);
    if (entry) this.#options.kept.delete(this.#options.owner, entry);
  }

  /** Drops an answer that could not be continued, if it belongs to this lane. */
  evict(lane: string, id: unknown): void {
    if (typeof id === "string" && this.#entries.get(id)?.lane === lane) this.#forget(id);
  }
}

function continueFrom(input: GenerateRequest, { messages }: Entry, at: number): Recalled {
  const all = [...input.messages.slice(0, at), ...messages, ...input.messages.slice(at)];
  // If this turn is stored, the earlier turns are stored with it, because they are not stored yet.
  return { input: { ...input, messages: all }, added: { messages: all.slice(at), begins: true } };
}

/** Throws if a tool result has no call in this conversation. */
function refuseOrphans(added: readonly Message[], all: readonly Message[]): void {
  const calls = new Set(
    all.flatMap(({ role, content }) => role === "assistant" ? content : [])
      .flatMap((part) => part.type === "tool-call" ? [part.id] : []),
  );
  for (const { role, content } of added) {
    if (role !== "tool") continue;
    const orphan = content.find(({ id }) => !calls.has(id));
    if (!orphan) continue;
    const message = `No tool call found for the output with call_id '${orphan.id}'`;
    throw new GatewayError("invalid_request", message, { param: "input" });
  }
}
