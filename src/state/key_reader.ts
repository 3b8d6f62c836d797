/** The keys that requests come with: each is read when it first comes, and again once one may have been revoked. */
import { GatewayError } from "../errors.ts";
import { BoundedMap } from "../util/bounded_map.ts";
import type { Keyring, StoredKey } from "./keyring.ts";
import { withStoreTimeout } from "./store_timeout.ts";

export interface KeyReaderOptions {
  /** Milliseconds by a clock that never steps. */
  now(): number;
  /** How long it may take to read a key that is not known yet, in milliseconds: a client waits for it. */
  patienceMs: number;
}

/** What is done about a revocation that nobody was notified of, because whoever revoked was stopped in the middle. */
const REREAD_MS = 30_000;
/** How often it is looked for revocations while requests come, in milliseconds. */
const LOOK_MS = 400;
/** The age of a look that no request is judged by without a further one: what is revoked is refused within a second. */
const STALE_MS = 800;
/** How long a request waits for what is only to confirm what is known, in milliseconds. */
const CONFIRM_MS = 250;
/** When to come back where no key can be read, in seconds. */
const RETRY_AFTER = "1";
/** How many keys are remembered, and how many texts that are none. */
const MOST_KEYS = 50_000;
const MOST_MISSES = 10_000;

interface Known {
  key: StoredKey;
  /** That of the ring before it was read. */
  version: string;
  readAt: number;
}

/** A look for revocations: the last one that ended, or one that is under way. */
interface Look {
  startedAt: number;
  done: Promise<void>;
}

export type KeyReader = (digest: string) => Promise<StoredKey | undefined>;

/**
 * The key of a digest, if there is one. While the store fails, or does not answer, a key is what it was last. Throws
 * `unavailable` for one that was not known before.
 */
export function createKeyReader(keyring: Pick<Keyring, "find" | "version">, options: KeyReaderOptions): KeyReader {
  const reader = new Reader(keyring, options);
  return (digest) => reader.find(digest);
}

class Reader {
  readonly #keyring: Pick<Keyring, "find" | "version">;
  readonly #options: KeyReaderOptions;
  readonly #known = new BoundedMap<string, Known>(MOST_KEYS);
  readonly #misses = new BoundedMap<string, number>(MOST_MISSES);
  readonly #reading = new Map<string, Promise<StoredKey | undefined>>();
  #version = "";
  /** When the last look that succeeded began. */
  #lookedAt = -Infinity;
  /** When the last look began, where that has failed. */
  #failedAt = -Infinity;
  #look: Look | undefined;

  constructor(keyring: Pick<Keyring, "find" | "version">, options: KeyReaderOptions) {
    this.#keyring = keyring;
    this.#options = options;
  }

  async find(digest: string): Promise<StoredKey | undefined> {
    const looking = this.#lookAgain();
    if (looking) await looking;
    const known = this.#known.get(digest);
    if (known && (this.#isFailing() || this.#isCurrent(known))) return known.key;
    const missedAt = this.#misses.get(digest) ?? -Infinity;
    if (!known && this.#options.now() - missedAt < LOOK_MS) return undefined;
    return await this.#read(digest, known?.key);
  }

  #isFailing(): boolean {
    return this.#options.now() - this.#failedAt < STALE_MS;
  }

  #isCurrent({ version, readAt }: Known): boolean {
    return version === this.#version && this.#options.now() - readAt < REREAD_MS;
  }

  /** Looks for revocations where that was long ago. What is to be awaited, where it was too long ago. */
  #lookAgain(): Promise<void> | undefined {
    const now = this.#options.now();
    const age = now - this.#lookedAt;
    if (age < LOOK_MS) return undefined;
    const restMs = this.#look === undefined ? 0 : LOOK_MS - (now - this.#look.startedAt);
    if (restMs <= 0) this.#look = { startedAt: now, done: this.#lookNow(now) };
    const { startedAt, done } = this.#look!;
    const leftMs = CONFIRM_MS - (now - startedAt);
    // A store that failed, or that others have waited for in vain, holds up nobody.
    if (age < STALE_MS || this.#isFailing() || leftMs <= 0) return undefined;
    return withStoreTimeout(leftMs, done).catch(() => {});
  }

  async #lookNow(startedAt: number): Promise<void> {
    try {
      this.#version = await withStoreTimeout(this.#options.patienceMs, this.#keyring.version());
      this.#lookedAt = Math.max(this.#lookedAt, startedAt);
      this.#failedAt = -Infinity;
    } catch {
      this.#failedAt = startedAt;
    }
  }

  async #read(digest: string, before: StoredKey | undefined): Promise<StoredKey | undefined> {
    let reading = this.#reading.get(digest);
    if (!reading) {
      reading = this.#readNow(digest).finally(() => this.#reading.delete(digest));
      this.#reading.set(digest, reading);
    }
    try {
      return await withStoreTimeout(before ? CONFIRM_MS : this.#options.patienceMs, reading);
    } catch (cause) {
      if (before) return before;
      const message = "The gateway cannot read the keys: try again later";
      throw new GatewayError("unavailable", message, { cause, retryAfter: RETRY_AFTER });
    }
  }

  async #readNow(digest: string): Promise<StoredKey | undefined> {
    const version = this.#version;
    const readAt = this.#options.now();
    const key = await this.#keyring.find(digest);
    if (key) this.#known.set(digest, { key, version, readAt });
    else {
      this.#known.delete(digest);
      this.#misses.set(digest, readAt);
    }
    return key;
  }
}
