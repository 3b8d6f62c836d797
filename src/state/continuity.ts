/** What earlier answers were, for requests that build on them. */
import type { AssistantMessage, GenerateRequest, ItemReference, Message } from "../canonical/generate.ts";
import { markReasoning } from "../transforms/reasoning.ts";
import type { StoredAnswer } from "../canonical/stored.ts";
import { GatewayError } from "../errors.ts";
import type { Store } from "./store.ts";
import { within } from "./within.ts";

export interface Continuity {
  /** The request with all that it builds on in place: the turns before it, and items of them that it refers to. */
  recall(input: GenerateRequest, owner: string): Promise<Recalled>;
  /** Keeps an answer; it can be built on once this resolves. `target` is the one that gave it. */
  remember(answer: StoredAnswer, target: string, owner: string): Promise<void>;
  /** The answer, if `owner` has one of this id. */
  find(id: string, owner: string): Promise<StoredAnswer | undefined>;
  /** Whether there was one. Nothing of it is left then. */
  forget(id: string, owner: string): Promise<boolean>;
}

export interface Recalled {
  input: GenerateRequest;
  /** What the client added in this turn: what is to be remembered of the request. */
  messages: Message[];
}

/** The half of an answer that the turns after it need; the other half is for those who ask for the answer itself. */
interface Turn {
  previous?: string;
  messages: Message[];
  said: AssistantMessage["content"];
}

type Rest = Omit<StoredAnswer, keyof Turn | "response"> & { response: Omit<StoredAnswer["response"], "content"> };

export interface ContinuityOptions {
  store: Store;
  /** Milliseconds since the epoch. */
  now(): number;
  /** How long answers are kept, in milliseconds. */
  retentionMs: number;
  /** How long the store may take, in milliseconds: a client waits for it. */
  patienceMs: number;
  /** How long a conversation may be that is put together of stored turns. */
  limits: ConversationLimits;
}

/** Those of a request, which could say the same in one piece. */
export interface ConversationLimits {
  /** Of all its texts. */
  characters: number;
  /** Of JSON, numbers among them. */
  values: number;
}

export function createContinuity(options: ContinuityOptions): Continuity {
  return new StoredAnswers(options);
}

class StoredAnswers implements Continuity {
  readonly #options: ContinuityOptions;

  constructor(options: ContinuityOptions) {
    this.#options = options;
  }

  async recall(input: GenerateRequest, owner: string): Promise<Recalled> {
    const { memory } = input;
    if (!memory) return { input, messages: input.messages };
    const { at, previous, references = [] } = memory;
    const messages = input.messages.slice(at);
    if (previous === undefined && references.length === 0) return { input, messages };
    const [before, found] = await this.#ask(
      "read",
      Promise.all([previous === undefined ? [] : this.#history(previous, owner), this.#lookUp(references, owner)]),
    );
    // From the last to the first, so that the places of the others hold.
    for (const [position, reference] of [...references.entries()].reverse()) {
      messages.splice(reference.at - at, 0, found[position]!);
    }
    return { input: { ...input, messages: [...input.messages.slice(0, at), ...before, ...messages] }, messages };
  }

  async remember(answer: StoredAnswer, target: string, owner: string): Promise<void> {
    const { store, now, retentionMs, patienceMs } = this.#options;
    const { previous, messages, response: { content, ...ending }, ...rest } = answer;
    const expiresAt = now() + retentionMs;
    const turn: Turn = { previous, messages, said: content.map((part) => markReasoning(part, target)) };
    const others: Rest = { ...rest, response: ending };
    // The turn comes last: where it is there, all is there.
    const written = store.set(restKey(owner, rest.id), others, expiresAt)
      .then(() => store.set(turnKey(owner, rest.id), turn, expiresAt));
    try {
      await within(patienceMs, written);
    } catch (error) {
      // The client learns that nothing was stored, so nothing is to be there, late writes included.
      const remove = () => this.#delete(rest.id, owner);
      written.then(remove, remove).catch(() => {});
      throw error;
    }
  }

  async find(id: string, owner: string): Promise<StoredAnswer | undefined> {
    const { store } = this.#options;
    const [turn, rest] = await this.#ask(
      "read",
      Promise.all([this.#readTurn(owner, id), store.get(restKey(owner, id))]),
    );
    if (!turn || !rest) return undefined;
    const { said, ...request } = turn;
    const { response, ...others } = rest as Rest;
    return { ...others, ...request, response: { ...response, content: said } };
  }

  async forget(id: string, owner: string): Promise<boolean> {
    return (await this.#ask("delete", this.#delete(id, owner)))[0];
  }

  #delete(id: string, owner: string): Promise<[turn: boolean, rest: boolean]> {
    const { store } = this.#options;
    return Promise.all([store.delete(turnKey(owner, id)), store.delete(restKey(owner, id))]);
  }

  async #readTurn(owner: string, id: string): Promise<Turn | undefined> {
    return await this.#options.store.get(turnKey(owner, id)) as Turn | undefined;
  }

  /** A store that does not answer is not the client's mistake, and what builds on it is not to be answered as if it were new. */
  async #ask<T>(what: string, work: Promise<T>): Promise<T> {
    try {
      return await within(this.#options.patienceMs, work);
    } catch (cause) {
      if (cause instanceof GatewayError) throw cause;
      throw new GatewayError("unavailable", `The gateway cannot ${what} what it stored: try again later`, { cause });
    }
  }

  /** The turns up to `id`, the oldest first. */
  async #history(id: string, owner: string): Promise<Message[]> {
    const turns: Turn[] = [];
    const left = { ...this.#options.limits };
    for (let at: string | undefined = id; at !== undefined;) {
      const turn: Turn | undefined = await this.#readTurn(owner, at);
      if (!turn) throw notFound(id, at);
      takeFrom(left, turn);
      if (left.characters < 0 || left.values < 0) throw tooLong();
      turns.push(turn);
      at = turn.previous;
    }
    return turns.reverse().flatMap(({ messages, said }): Message[] => [
      ...messages,
      ...(said.length > 0 ? [{ role: "assistant" as const, content: said }] : []),
    ]);
  }

  /** What the references stand for, in their order. */
  async #lookUp(references: readonly ItemReference[], owner: string): Promise<Message[]> {
    // An item stands in a conversation once; without that rule a few bytes could ask for gigabytes.
    if (new Set(references.map(({ id }) => id)).size < references.length) {
      throw new GatewayError("invalid_request", "An item is referred to more than once", { param: "input" });
    }
    const messages: Message[] = [];
    const turns = new Map<string, Turn | undefined>();
    // One after the other, so that a list of what is not there is read no further than to its first item.
    for (const reference of references) {
      const { id, answer } = reference;
      if (!turns.has(answer)) turns.set(answer, await this.#readTurn(owner, answer));
      const turn = turns.get(answer);
      const message = turn && itemOf(turn, reference);
      if (!message) throw new GatewayError("invalid_request", `Item with id '${id}' not found`, { param: "input" });
      messages.push(message);
    }
    return messages;
  }
}

/** Takes what the value holds from what is left. */
function takeFrom(left: ConversationLimits, value: unknown): void {
  left.values--;
  if (typeof value === "string") left.characters -= value.length;
  if (typeof value !== "object" || value === null) return;
  for (const key in value) takeFrom(left, (value as Record<string, unknown>)[key]);
}

function tooLong(): GatewayError {
  const message = "The stored conversation is longer than one request may be: start a new one";
  return new GatewayError("invalid_request", message, { param: "previous_response_id" });
}

/** The owner is part of every key, so nobody reads what is another's. */
function turnKey(owner: string, id: string): string[] {
  return ["answers", owner, id, "turn"];
}

function restKey(owner: string, id: string): string[] {
  return ["answers", owner, id, "rest"];
}

/** What is referred to, of the turn that it is to be in. */
function itemOf({ messages, said }: Turn, { id, item }: ItemReference): Message | undefined {
  if ("message" in item) return messages[item.message];
  const part = said[item.part];
  return part && { role: "assistant", id, content: [part] };
}

/** Clients act on the code: they send the whole conversation then. */
function notFound(asked: string, missing: string): GatewayError {
  const message = asked === missing
    ? `Previous response with id '${asked}' not found.`
    : `Previous response with id '${asked}' not found: it follows '${missing}', which is not stored any more.`;
  return new GatewayError("previous_response_not_found", message, { param: "previous_response_id" });
}
