/**
 * Threads: stored conversations, each answer of which is continued once. They are stored as other answers are, in a space of their
 * own. An answer is continued by whoever claims it first, at any gateway on the store. The request that holds a claim renews it
 * and gives it back when it ends; if that added a turn, the turn itself shows that the answer has been continued.
 */
import type { Message } from "../canonical/generate.ts";
import type { JsonObject } from "../canonical/json.ts";
import { GatewayError } from "../errors.ts";
import { type Continuity, type ContinuityOptions, messagesOf, StoredAnswers } from "./continuity.ts";
import type { StoreEntry, StoreKey } from "./store.ts";
import type { Conversation, TurnSpace } from "./turns.ts";

export interface Threads extends Pick<Continuity, "remember" | "find"> {
  /** The thread up to an answer. `undefined` if `owner` has no answer of this id. Throws if the conversation is too long. */
  open(id: string, owner: string): Promise<StoredThread | undefined>;
  /** Claims an answer for the request that continues it. */
  claim(id: string, owner: string, conversation: Conversation): Promise<Claim>;
}

export interface StoredThread {
  /** The parts of its first request that all turns have in common. */
  setup: JsonObject;
  messages: Message[];
  conversation: Conversation;
  isContinued: boolean;
}

export type Claim = HeldClaim | { state: "continued" | "in flight" };

/** Neither function rejects. */
export interface HeldClaim {
  state: "held";
  /** Called every `RENEW_MS`. Returns whether the claim is held: not if it expired while the store was away, and is another's now. */
  renew(): Promise<boolean>;
  release(): Promise<void>;
}

/** `by`: made for one request. */
interface ClaimRecord {
  by: string;
}

export type ThreadOptions = Omit<ContinuityOptions, "space"> & { newId(): string };

const SPACE: TurnSpace = { answers: "messages", threads: "message threads", isLinear: true };

/**
 * How long a claim is held for a gateway that is gone, in milliseconds. If it is not gone but cannot renew the claim, the answer could
 * be continued once more meanwhile. Only one of both is stored then.
 */
const CLAIM_MS = 60_000;
/** How often a claim is renewed, in milliseconds. */
export const RENEW_MS = 15_000;

const TOO_LONG = "The thread is longer than one request may be: begin a new one";

export function createThreads({ newId, ...options }: ThreadOptions): Threads {
  const { store, now } = options;
  const answers = new StoredAnswers({ ...options, space: SPACE });
  const { turns } = answers;
  const isBy = async (key: StoreKey, { by }: ClaimRecord) =>
    (await answers.ask("read", store.get(key)) as ClaimRecord | undefined)?.by === by;
  const isContinued = (owner: string, { line }: Conversation) => turns.isFollowed(owner, line);
  return {
    remember: (...args) => answers.remember(...args),
    find: (id, owner) => answers.find(id, owner),

    async open(id, owner) {
      try {
        const { turns: all, ...conversation } = await answers.ask("read", turns.history(owner, id, options.limits));
        const [first] = all;
        return {
          setup: first?.setup ?? {},
          messages: messagesOf(all),
          conversation,
          isContinued: await answers.ask("read", isContinued(owner, conversation)),
        };
      } catch (error) {
        if (!(error instanceof GatewayError)) throw error;
        if (error.code === "previous_response_not_found") return undefined;
        // The only other fault of a conversation that was found is its length.
        if (error.code !== "invalid_request") throw error;
        throw new GatewayError(error.code, TOO_LONG, { param: "thread" });
      }
    },

    async claim(id, owner, conversation) {
      const key = turns.keys.of(owner, id, "claim");
      const mine = { by: newId() };
      // A key of its own, so that the claim of another request is never deleted.
      const own: StoreKey = [...key, mine.by];
      const claim = new StoredClaim({ key, own, mine, isBy, answers, store, now });
      const release = () => claim.release();
      const adding = store.add([[key, mine], [own, mine]], now() + CLAIM_MS);
      try {
        // A command that got no reply may have been sent twice.
        const isHeld = await answers.ask("write", adding) || await isBy(key, mine);
        // Another request may have added its turn since the thread was read.
        const isOver = await answers.ask("read", isContinued(owner, conversation));
        if (isHeld && !isOver) return claim;
        if (isHeld) await release();
        return { state: isOver ? "continued" : "in flight" };
      } catch (error) {
        // The request is refused, so its claim is given back, even one that comes late.
        adding.then(release, release);
        throw error;
      }
    },
  };
}

interface ClaimParts extends Pick<ContinuityOptions, "store" | "now"> {
  key: StoreKey;
  own: StoreKey;
  mine: ClaimRecord;
  answers: StoredAnswers;
  isBy(key: StoreKey, claim: ClaimRecord): Promise<boolean>;
}

class StoredClaim implements HeldClaim {
  readonly state = "held";
  readonly #parts: ClaimParts;
  #isOver = false;

  constructor(parts: ClaimParts) {
    this.#parts = parts;
  }

  async renew(): Promise<boolean> {
    const { key, own, mine, answers, store, now, isBy } = this.#parts;
    if (this.#isOver) return false;
    const expiresAt = now() + CLAIM_MS;
    try {
      // An expired claim is added again, unless another request has claimed the answer since.
      const entries: StoreEntry[] = [[key, mine], [own, mine]];
      const isAdded = await answers.ask("write", store.add(entries, expiresAt, { keys: [key, own], expiresAt }));
      if (this.#isOver && isAdded) await this.#delete();
      else if (!isAdded && !await isBy(key, mine)) this.#isOver = true;
      return !this.#isOver;
    } catch {
      // The next renewal may reach the store.
      return !this.#isOver;
    }
  }

  async release(): Promise<void> {
    if (this.#isOver) return;
    this.#isOver = true;
    await this.#delete();
  }

  async #delete(): Promise<void> {
    const { key, own, answers, store } = this.#parts;
    try {
      await answers.ask("delete", store.delete(own, key));
    } catch {
      // It ends by itself.
    }
  }
}
