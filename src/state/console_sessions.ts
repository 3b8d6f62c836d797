/** Operators who have logged in to the console. Their browsers keep a random word; what it stands for is in the store, for all processes on it. */
import { BoundedMap } from "../util/bounded_map.ts";
import { digestOf } from "../util/digest.ts";
import type { Store, StoreKey } from "./store.ts";
import { withStoreTimeout } from "./store_timeout.ts";

/**
 * Who has logged in, who is looked up again with every request: by the digest of a key, or by whom a provider named to one of its
 * clients.
 */
export type SessionHolder = { key: string } | {
  issuer: string;
  clientId: string;
  subject: string;
  groups: readonly string[];
};

export interface ConsoleSessionsOptions {
  store: Store;
  /** Milliseconds since the epoch. */
  now(): number;
}

interface Known {
  holder: SessionHolder;
  /** Milliseconds since the epoch. */
  endsAt: number;
}

const VERSION = 1;
const WORD_BYTES = 32;
/** How many this process knows while the store fails. */
const MOST_KNOWN = 100;
/** How long the store may take: the console is looked at just when something fails, such as the store. */
const PATIENCE_MS = 1_000;

/** Whoever reads the store cannot take a session over: the word itself is not in it. */
const recordOf = (word: string): StoreKey => ["console", "session", digestOf(word)];

export class ConsoleSessions {
  readonly #options: ConsoleSessionsOptions;
  readonly #known = new BoundedMap<string, Known>(MOST_KNOWN);

  constructor(options: ConsoleSessionsOptions) {
    this.#options = options;
  }

  /** Returns the word. Where the store fails, only this process knows it. */
  async begin(holder: SessionHolder, lifeMs: number): Promise<string> {
    const { store, now } = this.#options;
    const word = crypto.getRandomValues(new Uint8Array(WORD_BYTES)).toHex();
    const endsAt = now() + lifeMs;
    this.#known.set(word, { holder, endsAt });
    await withStoreTimeout(PATIENCE_MS, store.add([[recordOf(word), { version: VERSION, holder, endsAt }]], endsAt))
      .catch(
        () => {},
      );
    return word;
  }

  /** Nothing where there is no such session, or it has ended. */
  async find(word: string): Promise<SessionHolder | undefined> {
    const { store, now } = this.#options;
    const known = await withStoreTimeout(PATIENCE_MS, store.get(recordOf(word))).then(
      (record) => record as Known | undefined,
      () => this.#known.get(word),
    );
    if (known && known.endsAt > now()) {
      this.#known.set(word, known);
      return known.holder;
    }
    this.#known.delete(word);
    return undefined;
  }

  /** Throws where the store fails, which still has it then. */
  async end(word: string): Promise<void> {
    this.#known.delete(word);
    await withStoreTimeout(PATIENCE_MS, this.#options.store.delete(recordOf(word)));
  }
}
