/** What a WebSocket remembers: the latest answer of each lane that nobody stored, for the request that goes on from it. */
import type { GenerateRequest, GenerateResponse, Message } from "../canonical/generate.ts";
import type { JsonObject } from "../canonical/json.ts";
import { GatewayError } from "../errors.ts";
import type { Recalled } from "../state/continuity.ts";
import { markReasoning } from "../transforms/reasoning.ts";

/** One request's view of it. */
export interface Session {
  /** The request with what it builds on. `fromStore` looks where answers are stored. */
  recall(input: GenerateRequest, fromStore: () => Promise<Recalled>): Promise<Recalled>;
  /** Keeps an answer that is not stored. `target`: who gave it; a warm-up has none. */
  keep(id: string, response?: GenerateResponse, target?: string): void;
}

interface Entry {
  lane: string;
  /** The whole conversation, without what was an instruction for one answer only. */
  messages: Message[];
  /** Characters of what clients sent for it, and of its answers. */
  size: number;
  /** What a warm-up prepared beside the conversation. */
  prepared?: JsonObject;
}

export class SocketMemory {
  readonly #entries = new Map<string, Entry>();
  readonly #longest: number;

  /** `longest`: how long all conversations may be together, in characters. The oldest ones are forgotten first. */
  constructor(longest: number) {
    this.#longest = longest;
  }

  clear(): void {
    this.#entries.clear();
  }

  /** What a warm-up prepared for the request that names it. */
  preparedFor(id: unknown): JsonObject | undefined {
    return typeof id === "string" ? this.#entries.get(id)?.prepared : undefined;
  }

  /** `size`: characters of the request. `prepared`: the request itself, where it is a warm-up. */
  open(lane: string, size: number, prepared?: JsonObject): Session {
    let kept: Omit<Entry, "lane"> = { messages: [], size };
    return {
      recall: async (input, fromStore) => {
        const { at = 0, previous } = input.memory ?? {};
        const entry = previous === undefined ? undefined : this.#entries.get(previous);
        const recalled = entry && !input.memory?.references ? goOn(input, entry, at) : await fromStore();
        const messages = recalled.input.messages.slice(at);
        if (previous !== undefined) refuseOrphans(recalled.added.messages, messages);
        kept = { messages, size: size + (entry?.size ?? 0) };
        return recalled;
      },
      keep: (id, response, target = "") => {
        const content = (response?.content ?? []).map((part) => markReasoning(part, target));
        const answered = kept.size + JSON.stringify(content).length;
        for (const [other, entry] of this.#entries) if (entry.lane === lane) this.#entries.delete(other);
        if (answered > this.#longest) return;
        const said: Message[] = content.length > 0 ? [{ role: "assistant", content }] : [];
        this.#entries.set(id, { lane, messages: [...kept.messages, ...said], size: answered, prepared });
        let all = 0;
        for (const { size } of this.#entries.values()) all += size;
        for (const [oldest, { size }] of this.#entries) {
          if (all <= this.#longest) break;
          this.#entries.delete(oldest);
          all -= size;
        }
      },
    };
  }

  /** An answer from which going on failed, in its own lane, is not gone on from again. */
  evict(lane: string, id: unknown): void {
    if (typeof id === "string" && this.#entries.get(id)?.lane === lane) this.#entries.delete(id);
  }
}

function goOn(input: GenerateRequest, { messages }: Entry, at: number): Recalled {
  const all = [...input.messages.slice(0, at), ...messages, ...input.messages.slice(at)];
  // Where it is stored, it is stored with all that nobody has stored before it.
  return { input: { ...input, messages: all }, added: { messages: all.slice(at), begins: true } };
}

/** A result that no call asked for belongs to a conversation that is not this one. */
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
