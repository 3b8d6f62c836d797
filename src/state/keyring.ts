/**
 * Keys that are made, listed and revoked while gateways run. Only a hash of each is kept. Each is a record of its own, found by
 * that hash, so that it matters to nobody how many there are.
 */
import { builtin } from "../util/builtin.ts";
import type { KeyFacts } from "../config/schema.ts";
import { digestOf } from "../util/digest.ts";
import type { Store, StoreEntry, StoreKey } from "./store.ts";

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
  find(digest: string): Promise<StoredKey | undefined>;
  /** Whether there is one of the name. */
  has(name: string): Promise<boolean>;
  /** Some of them in the order in which they were made: `limit` at most, from the first after the one that is called `after`. */
  list(page: KeyPage): Promise<StoredKey[]>;
  /** The same from the place `from` on, which stays the same place whatever is revoked. `next`: where more of them begin. */
  listFrom(page: { limit: number; from?: number }): Promise<{ keys: StoredKey[]; next?: number }>;
  /** From now on the key may do what `facts` say, and nothing else. Whether there was one of the name. */
  limit(facts: Omit<StoredKey, "digest" | "created">): Promise<boolean>;
  /** Whether there was one of the name. */
  revoke(name: string): Promise<boolean>;
  /** What is another text whenever a key may have been revoked or limited, by whichever process. */
  version(): Promise<string>;
}

export interface KeyPage {
  limit: number;
  /** The name of a key; from the first one without it, or where it is of none. */
  after?: string;
}

/** A key says what it is, so that a scanner of secrets can find one that leaked. */
const PREFIX = "laneway_";
const SECRET_BYTES = 32;
/** The form of the records. A reader leaves aside what it does not know of a later one. */
const VERSION = 1;
const SLOTS_PER_READ = 500;

/** All begin with the same two texts, so that they are on one server of a cluster. */
const inRing = (...texts: (string | number)[]): StoreKey => ["keyring", "all", ...texts];
const recordOf = (digest: string) => inRing("digest", digest);
const nameOf = (name: string) => inRing("name", name);
const slotOf = (slot: number) => inRing("slots", slot);
const NEXT = inRing("next");
const REVOKED = inRing("revoked");
/** Where all keys were one value, before each was a record of its own: those that were made then are still there. */
const OLD = ["keys"];

/** Where a key is found by its name. */
interface KeyLocation {
  digest: string;
  slot: number;
}

/** `now`: milliseconds since the epoch. */
export function createKeyring(store: Store, now: () => number): Keyring {
  return new StoredKeyring(store, now);
}

class StoredKeyring implements Keyring {
  readonly #store: Store;
  readonly #now: () => number;

  constructor(store: Store, now: () => number) {
    this.#store = store;
    this.#now = now;
  }

  async create(facts: Omit<StoredKey, "digest" | "created">): Promise<string | undefined> {
    const { name } = facts;
    if (await this.has(name)) return undefined;
    // It is long and random, so that a plain hash of it cannot be guessed back.
    const secret = PREFIX + builtin("node:crypto").randomBytes(SECRET_BYTES).toString("base64url");
    const digest = digestOf(secret);
    const key = { version: VERSION, ...facts, digest, created: new Date(this.#now()).toISOString() };
    for (;;) {
      const slot = await this.#takeSlot();
      const entries: StoreEntry[] = [
        [nameOf(name), { version: VERSION, digest, slot }],
        [recordOf(digest), key],
        [slotOf(slot), { version: VERSION, digest }],
      ];
      if (await this.#store.add(entries, Infinity)) return secret;
      if (await this.#store.get(nameOf(name)) !== undefined) return undefined;
      await this.#passTaken(slot);
    }
  }

  async find(digest: string): Promise<StoredKey | undefined> {
    const [record, old] = await Promise.all([this.#store.get(recordOf(digest)), this.#old()]);
    return record === undefined ? old.find((key) => key.digest === digest) : asKey(record);
  }

  async has(name: string): Promise<boolean> {
    const [place, old] = await Promise.all([this.#store.get(nameOf(name)), this.#old()]);
    return place !== undefined || old.some((key) => key.name === name);
  }

  async list({ limit, after }: KeyPage): Promise<StoredKey[]> {
    const [old, place] = await Promise.all([
      this.#old(),
      after === undefined ? undefined : this.#store.get(nameOf(after)) as Promise<KeyLocation | undefined>,
    ]);
    const keys = place ? [] : old.slice(old.findIndex(({ name }) => name === after) + 1, limit);
    const more = await this.#inSlots(place ? place.slot + 1 : 0, limit - keys.length);
    return [...keys, ...more.map(({ key }) => key)];
  }

  async listFrom({ limit, from }: { limit: number; from?: number }): Promise<{ keys: StoredKey[]; next?: number }> {
    // They have no place that stays: all come at once, and no more are made.
    const old = from === undefined ? await this.#old() : [];
    const room = Math.max(0, limit - old.length);
    const found = await this.#inSlots(from ?? 0, room + 1);
    const keys = [...old, ...found.slice(0, room).map(({ key }) => key)];
    return { keys, ...(found.length > room && { next: found[room]!.slot }) };
  }

  /** The first `limit` keys from a slot on. */
  async #inSlots(from: number, limit: number): Promise<{ slot: number; key: StoredKey }[]> {
    const end = countIn(await this.#store.get(NEXT));
    const keys: { slot: number; key: StoredKey }[] = [];
    for (let first = from; keys.length < limit && first < end;) {
      const last = Math.min(first + SLOTS_PER_READ, end) - 1;
      const taken = await this.#store.getRange(inRing("slots"), first, last) as (KeyLocation | undefined)[];
      const found = await Promise.all(taken.map((one) => one && this.#store.get(recordOf(one.digest))));
      for (const [index, record] of found.entries()) {
        if (record !== undefined) keys.push({ slot: first + index, key: asKey(record) });
      }
      first = last + 1;
    }
    return keys.slice(0, limit);
  }

  async limit(facts: Omit<StoredKey, "digest" | "created">): Promise<boolean> {
    const place = await this.#store.get(nameOf(facts.name)) as KeyLocation | undefined;
    const isDone = place ? await this.#limitRecord(recordOf(place.digest), facts) : await this.#limitOld(facts);
    await this.#countChange();
    return isDone;
  }

  async revoke(name: string): Promise<boolean> {
    const place = await this.#store.get(nameOf(name)) as KeyLocation | undefined;
    const isDone = place
      ? await this.#store.delete(nameOf(name), recordOf(place.digest), slotOf(place.slot))
      : await this.#revokeOld(name);
    await this.#countChange();
    return isDone;
  }

  async version(): Promise<string> {
    const [revoked, old] = await Promise.all([this.#store.get(REVOKED), this.#old()]);
    // An earlier version of this program counts no keys that it revokes.
    return JSON.stringify([countIn(revoked), old.map(({ digest }) => digest)]);
  }

  /** After the change, so that whoever reads a key again because of this finds it changed. A failed one may be tried again. */
  async #countChange(): Promise<void> {
    await this.#store.update(REVOKED, (record) => counted(record, countIn(record) + 1));
  }

  /** One that is revoked meanwhile stays so. */
  async #limitRecord(record: StoreKey, facts: Omit<StoredKey, "digest" | "created">): Promise<boolean> {
    let isGone = false;
    const change = (value: unknown) => {
      isGone = value === undefined;
      if (isGone) throw new Error("The key has been revoked in the meantime");
      const { digest, created } = value as StoredKey;
      return { version: VERSION, ...facts, digest, created };
    };
    try {
      await this.#store.update(record, change);
      return true;
    } catch (error) {
      if (isGone) return false;
      throw error;
    }
  }

  async #takeSlot(): Promise<number> {
    let slot = 0;
    await this.#store.update(NEXT, (next) => counted(next, (slot = countIn(next)) + 1));
    return slot;
  }

  /** Gateways from before the count said its form have begun it anew: the next slot is after all that are taken from here on. */
  async #passTaken(slot: number): Promise<void> {
    let next = slot + 1;
    for (let from = next;; from += SLOTS_PER_READ) {
      const read = await this.#store.getRange(inRing("slots"), from, from + SLOTS_PER_READ - 1);
      const last = read.findLastIndex((place) => place !== undefined);
      if (last < 0) break;
      next = from + last + 1;
    }
    await this.#store.update(NEXT, (count) => counted(count, Math.max(countIn(count), next)));
  }

  async #old(): Promise<StoredKey[]> {
    return (await this.#store.get(OLD) ?? []) as StoredKey[];
  }

  async #limitOld(facts: Omit<StoredKey, "digest" | "created">): Promise<boolean> {
    return await this.#changeOld(
      (keys) =>
        keys.map((key) => key.name === facts.name ? { ...facts, digest: key.digest, created: key.created } : key),
      facts.name,
    );
  }

  async #revokeOld(name: string): Promise<boolean> {
    return await this.#changeOld((keys) => keys.filter((key) => key.name !== name), name);
  }

  /** Whether there was one of the name. */
  async #changeOld(change: (keys: StoredKey[]) => StoredKey[], name: string): Promise<boolean> {
    if (!(await this.#old()).some((key) => key.name === name)) return false;
    let found = false;
    await this.#store.update(OLD, (value) => {
      const keys = (value ?? []) as StoredKey[];
      found = keys.some((key) => key.name === name);
      return change(keys);
    });
    return found;
  }
}

function asKey(record: unknown): StoredKey {
  const { version: _, ...key } = record as StoredKey & { version: number };
  return key;
}

/** It was a plain number before it said its form, and whoever took it for one then has left none. */
function countIn(record: unknown): number {
  return Number((typeof record === "object" ? (record as { count?: unknown } | null)?.count : record) || 0);
}

/** Whoever adds to one of a later form leaves in it what it does not know. */
function counted(record: unknown, count: number): object {
  return { version: VERSION, ...(typeof record === "object" && record), count };
}
