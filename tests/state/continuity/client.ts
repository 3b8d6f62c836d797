/** A client of the state behind a gateway: it holds conversations without a gateway around them. */
import { assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import type { GenerateRequest, Message } from "../../../src/canonical/generate.ts";
import { GatewayError } from "../../../src/errors.ts";
import { type Continuity, createContinuity } from "../../../src/state/continuity.ts";
import type { Store } from "../../../src/state/store.ts";
import type { Conversation } from "../../../src/state/turns.ts";

/** A database removes what has expired by its own clock, so this has to be longer than any test takes. */
export const RETENTION_MS = 1_000_000;
const LIMITS = { characters: 1_000_000, values: 1_000_000 };
const USAGE = { inputTokens: 1, outputTokens: 1 };

export function user(text: string): Message {
  return { role: "user", content: [{ type: "text", text }] };
}

export function assistant(text: string): Message {
  return { role: "assistant", content: [{ type: "text", text }] };
}

function request(text: string, previous?: string): GenerateRequest {
  return { model: "m", messages: [user(text)], stream: false, recall: { at: 0, previous, keep: {} } };
}

/** One client of a gateway on the store. */
export class Client {
  readonly continuity: Continuity;
  readonly #owner: string;
  #ids = 0;

  constructor(store: Store, { now = (): number => 0, owner = "ada", limits = LIMITS } = {}) {
    this.continuity = createContinuity({
      store,
      now,
      retentionMs: RETENTION_MS,
      patienceMs: 30_000,
      writeMs: 30_000,
      limits,
    });
    this.#owner = owner;
  }

  /** Asks `text` after the answer `previous`, and keeps an answer. */
  async turn(text: string, previous?: string, id = `${this.#owner}-${++this.#ids}`): Promise<string> {
    const { added } = await this.continuity.recall(request(text, previous), this.#owner);
    await this.#keep(text, id, previous, added.follows);
    return id;
  }

  async #keep(text: string, id: string, previous?: string, follows?: Conversation): Promise<void> {
    const response = {
      model: "m",
      content: [{ type: "text" as const, text: `Re: ${text}` }],
      finish: { reason: "stop" as const },
      usage: USAGE,
    };
    const answer = { id, previous, created: 1, completed: 2, model: "m", messages: [user(text)], response, keep: {} };
    await this.continuity.remember(answer, "t", this.#owner, follows);
  }

  /** Turns one after the other. The ids of their answers. */
  async talk(texts: readonly string[], previous?: string): Promise<string[]> {
    const ids: string[] = [];
    for (const text of texts) ids.push(await this.turn(text, ids.at(-1) ?? previous));
    return ids;
  }

  /** The same without reading what was before each turn: to make a long conversation soon. */
  async talkBlindly(texts: readonly string[]): Promise<string[]> {
    const ids = texts.map((_, index) => `${this.#owner}-blind-${index}`);
    for (const [index, text] of texts.entries()) {
      const follows: Conversation = { line: [[ids[0]!, index]], size: { characters: 0, values: 0 } };
      await this.#keep(text, ids[index]!, ids[index - 1], index === 0 ? undefined : follows);
    }
    return ids;
  }

  /** The messages that an upstream is sent for a question after `previous`, without the question. */
  async before(previous: string): Promise<Message[]> {
    const { input } = await this.continuity.recall(request("?", previous), this.#owner);
    return input.messages.slice(0, -1);
  }

  /** Fails unless the conversation up to `id` cannot go on because `missing` is not there. */
  async assertLacks(id: string, missing = id): Promise<void> {
    const error = await assertRejects(() => this.before(id), GatewayError);
    assertEquals([error.code, error.details.param], ["previous_response_not_found", "previous_response_id"]);
    assertStringIncludes(error.message, `'${id}'`);
    assertEquals(error.message.includes(`it follows '${missing}'`), id !== missing, error.message);
  }

  find(id: string) {
    return this.continuity.find(id, this.#owner);
  }

  forget(id: string): Promise<boolean> {
    return this.continuity.forget(id, this.#owner);
  }
}

export function talkOf(...texts: string[]): Message[] {
  return texts.flatMap((text) => [user(text), assistant(`Re: ${text}`)]);
}

/** As the version before kept an answer: by itself, with the id of the one before it. */
export async function writeOld(store: Store, id: string, text: string, previous?: string): Promise<void> {
  const turn = { previous, messages: [user(text)], said: assistant(`Re: ${text}`).content };
  const rest = {
    id,
    created: 1,
    completed: 2,
    model: "m",
    keep: {},
    response: { model: "m", finish: { reason: "stop" }, usage: USAGE },
  };
  await store.add([[["answers", "ada", id, "turn"], turn], [["answers", "ada", id, "rest"], rest]], RETENTION_MS);
}
