/** Keys that are made, listed and revoked while gateways run. Only a hash of each is kept. */
import { builtin } from "../util/builtin.ts";
import type { KeyFacts } from "../config/schema.ts";
import { digestOf } from "../util/digest.ts";
import { GatewayError } from "../errors.ts";
import type { Store } from "./store.ts";
import { within } from "./within.ts";

/** What is known of a key, but the key itself. */
export interface StoredKey extends KeyFacts {
  /** SHA-256 of the key, in hexadecimal digits. */
  digest: string;
  /** ISO 8601. */
  created: string;
}

export interface Keyring {
  /** The key, which cannot be read again. Nothing where the name is taken. */
  create(facts: Omit<StoredKey, "digest" | "created">): Promise<string | undefined>;
  list(): Promise<StoredKey[]>;
  /** Whether there was one of the name. */
  revoke(name: string): Promise<boolean>;
}

/** A key says what it is, so that a scanner of secrets can find one that leaked. */
const PREFIX = "laneway_";
const SECRET_BYTES = 32;
const PLACE = ["keys"];

/** `now`: milliseconds since the epoch. */
export function createKeyring(store: Store, now: () => number): Keyring {
  const read = async () => (await store.get(PLACE) ?? []) as StoredKey[];
  const change = (to: (keys: StoredKey[]) => StoredKey[]) =>
    store.update(PLACE, (keys) => to((keys ?? []) as StoredKey[]));
  return {
    async create(facts) {
      // It is long and random, so that a plain hash of it cannot be guessed back.
      const secret = PREFIX + builtin("node:crypto").randomBytes(SECRET_BYTES).toString("base64url");
      const key = { ...facts, digest: digestOf(secret), created: new Date(now()).toISOString() };
      let isTaken = false;
      await change((keys) => {
        isTaken = keys.some(({ name }) => name === facts.name);
        return isTaken ? keys : [...keys, key];
      });
      return isTaken ? undefined : secret;
    },
    list: read,
    async revoke(name) {
      let found = false;
      await change((keys) => {
        found = keys.some((key) => key.name === name);
        return keys.filter((key) => key.name !== name);
      });
      return found;
    },
  };
}

/** When to come back where no key can be read, in seconds. */
const RETRY_AFTER = "1";

/** How old a list of keys may be that a request is judged by: a revoked key is refused within a second. */
const FRESH_MS = 500;
/** How long a request waits for a newer list where there is one. */
const RENEWAL_MS = 1_000;

export interface KeyReaderOptions {
  /** Milliseconds by a clock that never steps. */
  now(): number;
  /** How long the first list may take, in milliseconds: a client waits for it. */
  patienceMs: number;
}

/**
 * The keys as they are, or were half a second ago. While the store fails, or does not answer, those that were known last are
 * the keys. Throws `unavailable` where none were known yet.
 */
export function createKeyReader(
  { list }: Pick<Keyring, "list">,
  { now, patienceMs }: KeyReaderOptions,
): () => Promise<readonly StoredKey[]> {
  let known: readonly StoredKey[] | undefined;
  let readAt = -Infinity;
  let reading: Promise<readonly StoredKey[]> | undefined;
  const read = async () => {
    try {
      return known = await within(known ? RENEWAL_MS : patienceMs, list());
    } catch (cause) {
      if (known) return known;
      throw new GatewayError("unavailable", "The gateway cannot read its keys: try again later", {
        cause,
        retryAfter: RETRY_AFTER,
      });
    } finally {
      readAt = now();
      reading = undefined;
    }
  };
  return async () => known && now() - readAt < FRESH_MS ? known : await (reading ??= read());
}
