/** What earlier answers were, for requests that build on them. */
import type { AssistantMessage, GenerateRequest, Message } from "../canonical/generate.ts";
import type { JsonObject, JsonValue } from "../canonical/json.ts";
import type { StoredAnswer } from "../canonical/stored.ts";
import { GatewayError } from "../errors.ts";
import type { Store } from "./store.ts";

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
  /** How long the store may take for one call, in milliseconds: a client waits for it with the end of its answer. */
  patienceMs: number;
}

/** `owner` is part of every key, so nobody reads what is another's. */
export function createContinuity({ store, now, retentionMs, patienceMs }: ContinuityOptions): Continuity {
  const turnKey = (owner: string, id: string) => ["answers", owner, id, "turn"];
  const restKey = (owner: string, id: string) => ["answers", owner, id, "rest"];
  const readTurn = async (owner: string, id: string) => fromJson<Turn>(await read(turnKey(owner, id)));

  /** A store that does not answer is not the client's mistake: what it says cannot be answered as if it were new. */
  async function read(key: string[]): Promise<JsonValue | undefined> {
    try {
      return await within(patienceMs, store.get(key));
    } catch (cause) {
      throw new GatewayError("unavailable", "The gateway cannot read what it stored: try again later", { cause });
    }
  }

  /** The turns up to `id`, the oldest first. */
  async function history(id: string, owner: string): Promise<Message[]> {
    const turns: Turn[] = [];
    for (let at: string | undefined = id; at !== undefined;) {
      const turn: Turn | undefined = await readTurn(owner, at);
      if (!turn) throw notFound(id, at);
      turns.push(turn);
      at = turn.previous;
    }
    return turns.reverse().flatMap(({ messages, said }): Message[] => [
      ...messages,
      ...(said.length > 0 ? [{ role: "assistant" as const, content: said }] : []),
    ]);
  }

  return {
    async recall(input, owner) {
      const { memory } = input;
      if (!memory) return { input, messages: input.messages };
      const { at, previous, references = [] } = memory;
      const answers = new Set(references.map(({ answer }) => answer));
      const turns = new Map(
        await Promise.all([...answers].map(async (id) => [id, await readTurn(owner, id)] as const)),
      );
      const found = references.map((reference): Message => {
        const turn = turns.get(reference.answer);
        const { item } = reference;
        const part = turn && "part" in item ? turn.said[item.part] : undefined;
        const message = turn && "message" in item ? turn.messages[item.message] : undefined;
        if (part) return { role: "assistant", id: reference.id, content: [part] };
        if (message) return message;
        throw new GatewayError("invalid_request", `Item with id '${reference.id}' not found`, { param: "input" });
      });
      const messages = input.messages.slice(at);
      // From the last to the first, so that the places of the others hold.
      for (const [position, reference] of [...references.entries()].reverse()) {
        messages.splice(reference.at - at, 0, found[position]!);
      }
      if (previous === undefined && references.length === 0) return { input, messages };
      const before = previous === undefined ? [] : await history(previous, owner);
      return { input: { ...input, messages: [...input.messages.slice(0, at), ...before, ...messages] }, messages };
    },

    async remember({ previous, messages, response, ...rest }, target, owner) {
      const { content, ...ending } = response;
      const expiresAt = now() + retentionMs;
      const turn: Turn = { previous, messages, said: content.map((part) => markOpaque(part, target)) };
      const others: Rest = { ...rest, response: ending };
      // The turn comes last: where it is there, all is there.
      const written = store.set(restKey(owner, rest.id), toJson(others), expiresAt)
        .then(() => store.set(turnKey(owner, rest.id), toJson(turn), expiresAt));
      try {
        await within(patienceMs, written);
      } catch (error) {
        // The client hears that nothing was stored, so nothing is to be there, late writes included.
        const remove = () =>
          Promise.all([store.delete(turnKey(owner, rest.id)), store.delete(restKey(owner, rest.id))]);
        written.then(remove, remove).catch(() => {});
        throw error;
      }
    },

    async find(id, owner) {
      const [turn, rest] = await Promise.all([
        readTurn(owner, id),
        read(restKey(owner, id)).then((value) => fromJson<Rest>(value)),
      ]);
      if (!turn || !rest) return undefined;
      const { previous, messages, said } = turn;
      return {
        ...rest,
        ...(previous !== undefined && { previous }),
        messages,
        response: { ...rest.response, content: said },
      };
    },

    async forget(id, owner) {
      const deleted = Promise.all([store.delete(turnKey(owner, id)), store.delete(restKey(owner, id))]);
      try {
        return (await within(patienceMs, deleted))[0];
      } catch (cause) {
        throw new GatewayError("unavailable", "The gateway cannot delete what it stored: try again later", { cause });
      }
    },
  };
}

/** What `work` brings, unless that takes longer than `ms`. */
async function within<T>(ms: number, work: Promise<T>): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const overdue = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`The store did not answer within ${ms} ms`)), ms);
  });
  // What fails after it was given up is nobody's affair.
  work.catch(() => {});
  try {
    return await Promise.race([work, overdue]);
  } finally {
    clearTimeout(timer);
  }
}

/** What only its vendor can read, no other target is to get. */
function markOpaque(part: Turn["said"][number], target: string): Turn["said"][number] {
  return part.type === "reasoning" && part.opaque ? { ...part, opaque: { ...part.opaque, target } } : part;
}

/** Clients act on the code: they send the whole conversation then. */
function notFound(asked: string, missing: string): GatewayError {
  const message = asked === missing
    ? `Previous response with id '${asked}' not found.`
    : `Previous response with id '${asked}' not found: it follows '${missing}', which is not stored any more.`;
  return new GatewayError("previous_response_not_found", message, { param: "previous_response_id" });
}

/** Canonical data is plain JSON but for fields that are undefined, which JSON leaves out. */
function toJson(value: Turn | Rest): JsonObject {
  return value as object as JsonObject;
}

function fromJson<T extends Turn | Rest>(value: JsonValue | undefined): T | undefined {
  return value as object | undefined as T | undefined;
}
