/** Keeps answers, and recalls them for requests that build on them. */
import type { GenerateRequest, ItemReference, Message } from "../canonical/generate.ts";
import { markReasoning } from "../transforms/reasoning.ts";
import type { StoredAnswer } from "../canonical/stored.ts";
import { GatewayError } from "../errors.ts";
import type { StorageQuota } from "./retention.ts";
import type { Store } from "./store.ts";
import { type Conversation, type Size, type Turn, Turns, type TurnSpace, VERSION } from "./turns.ts";
import { withStoreTimeout } from "./store_timeout.ts";

export interface Continuity {
  /** The request with everything in place that it builds on: the turns before it, and the items that it refers to. */
  recall(input: GenerateRequest, owner: string): Promise<Recalled>;
  /**
   * Stores an answer. Requests can build on it once this resolves. `target` gave the answer, `follows` was recalled for it,
   * and `waitedMs` is how long the request has waited for the store already.
   */
  remember(
    answer: StoredAnswer,
    target: string,
    owner: string,
    follows?: Conversation,
    waitedMs?: number,
  ): Promise<void>;
  /** The answer, if `owner` has one of this id. */
  find(id: string, owner: string): Promise<StoredAnswer | undefined>;
  /** Deletes an answer. Returns whether there was one. */
  forget(id: string, owner: string): Promise<boolean>;
}

export interface Recalled {
  input: GenerateRequest;
  added: AddedTurn;
}

/** The part of a request that is stored with its answer. */
export interface AddedTurn {
  /** The messages that the client added in this turn. */
  messages: Message[];
  /** The stored conversation that it continues. */
  follows?: Conversation;
  /** Whether `messages` includes the turns before this one, because they are not stored. */
  begins?: true;
}

/** The half of a stored answer that later turns do not need. It is read when a client asks for the answer itself. */
interface Rest extends Omit<StoredAnswer, keyof Turn | "response"> {
  response: Omit<StoredAnswer["response"], "content">;
}

export interface ContinuityOptions {
  store: Store;
  /** Absent if owners may store any amount. */
  storageQuota?: StorageQuota;
  /** Milliseconds since the epoch. */
  now(): number;
  /** How long answers are kept, in milliseconds. */
  retentionMs: number;
  /** How long the store may take, in milliseconds: a client waits for it. */
  patienceMs: number;
  /** How long storing an answer may take, in milliseconds. After that, the answer goes out without being stored. */
  writeMs: number;
  /** How long a conversation that is assembled from stored turns may be. */
  limits: ConversationLimits;
  /** The space that answers are stored in. Absent: the one of Responses. */
  space?: TurnSpace;
}

/** Equal to the limits of a request, which could send the same conversation in one piece. */
export type ConversationLimits = Size;

export function createContinuity(options: ContinuityOptions): Continuity {
  return new StoredAnswers(options);
}

export class StoredAnswers implements Continuity {
  readonly #options: ContinuityOptions;
  /** The turns alone, without the other halves of their answers. */
  readonly turns: Turns;

  constructor(options: ContinuityOptions) {
    this.#options = options;
    this.turns = new Turns(options.store, options.storageQuota, options.space);
  }

  async recall(input: GenerateRequest, owner: string): Promise<Recalled> {
    const { recall } = input;
    if (!recall) return { input, added: { messages: input.messages } };
    const { at, previous, references = [] } = recall;
    const messages = input.messages.slice(at);
    if (previous === undefined && references.length === 0) return { input, added: { messages } };
    const [before, found] = await this.ask(
      "read",
      Promise.all([
        previous === undefined ? undefined : this.turns.history(owner, previous, this.#options.limits),
        this.#lookUp(references, owner),
      ]),
    );
    // From the last to the first, so that the positions of the others stay valid.
    for (const [position, reference] of [...references.entries()].reverse()) {
      messages.splice(reference.at - at, 0, found[position]!);
    }
    const all = [...input.messages.slice(0, at), ...(before ? messagesOf(before.turns) : []), ...messages];
    const follows = before && { line: before.line, size: before.size, chain: before.chain };
    return { input: { ...input, messages: all }, added: { messages, follows } };
  }

  async remember(
    answer: StoredAnswer,
    target: string,
    owner: string,
    follows?: Conversation,
    waitedMs = 0,
  ): Promise<void> {
    const writeMs = Math.max(0, this.#options.writeMs - waitedMs);
    const written = this.#write(answer, target, owner, follows);
    try {
      await withStoreTimeout(writeMs, written);
    } catch (error) {
      // The client is told that nothing was stored, so a write that succeeds late is removed again.
      const remove = () => this.#delete(answer.id, owner);
      written.then(remove, remove).catch(() => {});
      throw error;
    }
  }

  async #write(answer: StoredAnswer, target: string, owner: string, follows?: Conversation): Promise<void> {
    const { now, retentionMs } = this.#options;
    const { previous, messages, setup, response: { content, ...ending }, ...others } = answer;
    const said = content.map((part) => markReasoning(part, target));
    const turn: Turn = { previous, messages, said, ...(setup && { setup }) };
    const rest = [this.turns.keys.of(owner, answer.id, "rest"), {
      version: VERSION,
      ...others,
      response: ending,
    }] as const;
    const expiresAt = now() + retentionMs;
    const isNew = await this.turns.add(owner, answer.id, turn, { follows, rest, expiresAt, retentionMs });
    if (!isNew) throw new Error(`Cannot store the answer: there is one of its id`);
  }

  async find(id: string, owner: string): Promise<StoredAnswer | undefined> {
    const [turn, rest] = await this.ask(
      "read",
      Promise.all([this.turns.find(owner, id), this.#options.store.get(this.turns.keys.of(owner, id, "rest"))]),
    );
    if (!turn || !rest) return undefined;
    const { said, ...request } = turn;
    const { response, ...others } = rest as Rest;
    return { ...others, ...request, response: { ...response, content: said } };
  }

  async forget(id: string, owner: string): Promise<boolean> {
    return await this.ask("delete", this.#delete(id, owner));
  }

  async #delete(id: string, owner: string): Promise<boolean> {
    const [first, ...others] = await this.turns.keysOf(owner, id);
    return await this.#options.store.delete(first!, ...others);
  }

  /** A failure of the store is not the client's mistake, and the request must not be answered as if it began a conversation. */
  async ask<T>(what: string, work: Promise<T>): Promise<T> {
    try {
      return await withStoreTimeout(this.#options.patienceMs, work);
    } catch (cause) {
      if (cause instanceof GatewayError) throw cause;
      throw new GatewayError("unavailable", `The gateway cannot ${what} what it stored: try again later`, { cause });
    }
  }

  /** The messages that the references stand for, in their order. */
  async #lookUp(references: readonly ItemReference[], owner: string): Promise<Message[]> {
    // An item may occur only once: otherwise a few bytes could ask for gigabytes.
    if (new Set(references.map(({ id }) => id)).size < references.length) {
      throw new GatewayError("invalid_request", "An item is referred to more than once", { param: "input" });
    }
    const turns = await this.#turnsOf([...new Set(references.map(({ answer }) => answer))], owner);
    return references.map((reference) => {
      const turn = turns.get(reference.answer);
      const message = turn && itemOf(turn, reference);
      if (message) return message;
      throw new GatewayError("invalid_request", `Item with id '${reference.id}' not found`, { param: "input" });
    });
  }

  /** The turns of these ids, up to the first that is missing. */
  async #turnsOf(ids: readonly string[], owner: string): Promise<Map<string, Turn>> {
    const turns = new Map<string, Turn>();
    // The batches grow, so that a list of unknown ids costs few reads.
    for (let from = 0, to = 1; from < ids.length; [from, to] = [to, to + Math.min(to, READS_AT_ONCE)]) {
      const some = ids.slice(from, to);
      const found = await Promise.all(some.map((id) => this.turns.find(owner, id)));
      for (const [index, turn] of found.entries()) {
        if (!turn) return turns;
        turns.set(some[index]!, turn);
      }
    }
    return turns;
  }
}

/** The most turns in one batch of reads. */
const READS_AT_ONCE = 32;

/** The messages of turns, as a client would send them. */
export function messagesOf(turns: readonly Turn[]): Message[] {
  return turns.flatMap(({ messages, said }): Message[] => [
    ...messages,
    ...(said.length > 0 ? [{ role: "assistant" as const, content: said }] : []),
  ]);
}

/** The item of a turn that a reference names. */
function itemOf({ messages, said }: Turn, { id, item }: ItemReference): Message | undefined {
  if ("message" in item) return messages[item.message];
  const part = said[item.part];
  return part && { role: "assistant", id, content: [part] };
}
