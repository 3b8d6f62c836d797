/** Sessions of operators in the console. A browser keeps a random token, and the store keeps the session for all processes on it. */
import { BoundedMap } from "../util/bounded_map.ts";
import { digestOf } from "../util/digest.ts";
import type { Store, StoreKey } from "./store.ts";
import { withStoreTimeout } from "./store_timeout.ts";

/**
 * The operator of a session: a key by its digest, or a user whom an identity provider named to one of its clients. It is looked
 * up again with every request.
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
const TOKEN_BYTES = 32;
/** How many sessions this process remembers, for use while the store fails. */
const MOST_KNOWN = 100;
/** How long the store may take, in milliseconds: the console is used just when something fails, such as the store. */
const PATIENCE_MS = 1_000;

/** The token itself is not in the store, so that a reader of the store cannot take a session over. */
const recordOf = (token: string): StoreKey => ["console", "session", digestOf(token)];

export class ConsoleSessions {
  readonly #options: ConsoleSessionsOptions;
  readonly #known = new BoundedMap<string, Known>(MOST_KNOWN);

  constructor(options: ConsoleSessionsOptions) {
    this.#options = options;
  }

  /** Returns the token. If the store fails, only this process knows the session. */
  async begin(holder: SessionHolder, lifeMs: number): Promise<string> {
    const { store, now } = this.#options;
    const token = crypto.getRandomValues(new Uint8Array(TOKEN_BYTES)).toHex();
    const endsAt = now() + lifeMs;
    this.#known.set(token, { holder, endsAt });
    await withStoreTimeout(PATIENCE_MS, store.add([[recordOf(token), { version: VERSION, holder, endsAt }]], endsAt))
      .catch(
        () => {},
      );
    return token;
  }

  /** Absent if there is no such session, or it has ended. */
  async find(token: string): Promise<SessionHolder | undefined> {
    const { store, now } = this.#options;
    const known = await withStoreTimeout(PATIENCE_MS, store.get(recordOf(token))).then(
      (record) => record as Known | undefined,
      () => this.#known.get(token),
    );
    if (known && known.endsAt > now()) {
      this.#known.set(token, known);
      return known.holder;
    }
    this.#known.delete(token);
    return undefined;
  }

  /** Throws if the store fails, because it still has the session then. */
  async end(token: string): Promise<void> {
    this.#known.delete(token);
    await withStoreTimeout(PATIENCE_MS, this.#options.store.delete(recordOf(token)));
  }
}
