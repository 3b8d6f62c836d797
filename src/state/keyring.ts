// deno-lint-ignore-file house/file-length -- one form of records, and all that is done with them
/**
 * Keys that are created, listed and revoked while gateways run. Only a hash of each key is kept. Each key is a record of its
 * own under that hash, so that their number costs a request nothing.
 */
import { builtin } from "../util/builtin.ts";
import type { KeyFacts } from "../config/schema.ts";
import { digestOf } from "../util/digest.ts";
import type { Store, StoreEntry, StoreKey } from "./store.ts";

/** Everything about a key except the key itself. */
export interface StoredKey extends KeyFacts {
  /** SHA-256 of the key, in hexadecimal digits. */
  digest: string;
  /** ISO 8601. */
  created: string;
}

export interface Keyring {
  /** Returns the key, which cannot be read again. Absent if the name is taken. */
  create(facts: Omit<StoredKey, "digest" | "created">): Promise<string | undefined>;
  find(digest: string): Promise<StoredKey | undefined>;
  /** Whether there is a key with this name. */
  has(name: string): Promise<boolean>;
  /** A page of keys in the order of their creation: at most `limit`, after the key named `after`. */
  list(page: KeyPage): Promise<StoredKey[]>;
  /** A page of keys from the position `from` on. Positions stay valid when keys are revoked. `next`: where the next page begins. */
  listFrom(page: { limit: number; from?: number }): Promise<{ keys: StoredKey[]; next?: number }>;
  /**
   * Gives the key with this name another secret, and returns it. The former one is admitted until `until`, in milliseconds since
   * the epoch, and the one before that no longer. Absent if there is no key with this name, or an earlier version created it.
   */
  rotate(name: string, until: number): Promise<string | undefined>;
  /** Replaces what a key may do by `facts`. Returns whether there was a key with this name. */
  limit(facts: Omit<StoredKey, "digest" | "created">): Promise<boolean>;
  /** Returns whether there was a key with this name. */
  revoke(name: string): Promise<boolean>;
  /** A text that changes whenever any process may have revoked or limited a key. */
  version(): Promise<string>;
}

export interface KeyPage {
  limit: number;
  /** The name of a key. If it is absent or unknown, the page begins at the first key. */
  after?: string;
}

/** A prefix by which a scanner for secrets can find a leaked key. */
const PREFIX = "laneway_";
const SECRET_BYTES = 32;
/** The version of the record format. A reader ignores fields that it does not know. */
const VERSION = 1;
const SLOTS_PER_READ = 500;

/** All store keys begin with the same two texts, so that they are on one node of a cluster. */
const inRing = (...texts: (string | number)[]): StoreKey => ["keyring", "all", ...texts];
const recordOf = (digest: string) => inRing("digest", digest);
const nameOf = (name: string) => inRing("name", name);
const slotOf = (slot: number) => inRing("slots", slot);
const NEXT = inRing("next");
const REVOKED = inRing("revoked");
/** The one value that held all keys in an earlier version. Keys that were created then are still there. */
const OLD = ["keys"];

/** A key as it is stored. */
interface KeyRecord extends StoredKey {
  version: number;
  /** When a secret that was replaced is no longer admitted, in milliseconds since the epoch, whatever the key's own expiry. */
  ends?: number;
}

/** The location of a key, stored under the key's name. */
interface KeyLocation {
  digest: string;
  slot: number;
  /** The digest of the secret that it had before it was rotated. */
  former?: string;
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
    const secret = newSecret();
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
    // Old keys have no fixed position, so all of them come with the first page. No more of them are created.
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

  async rotate(name: string, until: number): Promise<string | undefined> {
    const place = await this.#store.get(nameOf(name)) as KeyLocation | undefined;
    const key = place && await this.#store.get(recordOf(place.digest)) as KeyRecord | undefined;
    if (!place || !key) return undefined;
    const secret = newSecret();
    const own = { digest: digestOf(secret), created: new Date(this.#now()).toISOString() };
    const first = { ...key, ...own };
    await this.#store.add([[recordOf(own.digest), first]], Infinity);
    const isOurs = await this.#change(nameOf(name), (value: KeyLocation) => {
      return value.digest === place.digest ? { ...value, digest: own.digest, former: place.digest } : undefined;
    });
    if (!isOurs) {
      await this.#store.delete(recordOf(own.digest));
      throw new Error("The key has been revoked or rotated in the meantime");
    }
    await this.#change(slotOf(place.slot), (slot: object) => ({ ...slot, digest: own.digest }));
    let former = key;
    await this.#change(recordOf(place.digest), (value: KeyRecord) => ({ ...(former = value), ends: until }));
    // Another process may have limited the key before the name led to the new record.
    const isFirst = (value: KeyRecord) => JSON.stringify(value) === JSON.stringify(first);
    await this.#change(recordOf(own.digest), (value: KeyRecord) => isFirst(value) ? { ...former, ...own } : value);
    if (place.former !== undefined) await this.#store.delete(recordOf(place.former));
    await this.#countChange();
    return secret;
  }

  async limit(facts: Omit<StoredKey, "digest" | "created">): Promise<boolean> {
    const place = await this.#store.get(nameOf(facts.name)) as KeyLocation | undefined;
    const limited = ({ digest, created, ends }: KeyRecord) => ({
      version: VERSION,
      ...facts,
      digest,
      created,
      ...ends !== undefined && { ends },
    });
    const isDone = place ? await this.#change(recordOf(place.digest), limited) : await this.#limitOld(facts);
    if (place?.former !== undefined) await this.#change(recordOf(place.former), limited);
    await this.#countChange();
    return isDone;
  }

  async revoke(name: string): Promise<boolean> {
    const place = await this.#store.get(nameOf(name)) as KeyLocation | undefined;
    const isDone = place
      ? await this.#store.delete(nameOf(name), ...secretsOf(place).map(recordOf), slotOf(place.slot))
      : await this.#revokeOld(name);
    await this.#countChange();
    return isDone;
  }

  async version(): Promise<string> {
    const [revoked, old] = await Promise.all([this.#store.get(REVOKED), this.#old()]);
    // An earlier version of this program does not count the keys that it revokes.
    return JSON.stringify([countIn(revoked), old.map(({ digest }) => digest)]);
  }

  /** Runs after the change, so that a reader that sees the new version finds the key changed. A failed change may be repeated. */
  async #countChange(): Promise<void> {
    await this.#store.update(REVOKED, (record) => counted(record, countIn(record) + 1));
  }

  /**
   * Replaces a record. Returns whether there was one, and `change` returned another. What is deleted meanwhile stays deleted.
   */
  async #change<R>(record: StoreKey, change: (value: R) => object | undefined): Promise<boolean> {
    let isGone = false;
    const update = (value: unknown) => {
      const changed = value === undefined ? undefined : change(value as R);
      isGone = changed === undefined;
      if (isGone) throw new Error("The key has been revoked in the meantime");
      return changed;
    };
    try {
      await this.#store.update(record, update);
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

  /** Moves the count past taken slots. A gateway that took it for a plain number has begun it anew. */
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

  /** Returns whether there was a key with this name. */
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

/** It is long and random, so that it cannot be guessed from a plain hash. */
function newSecret(): string {
  return PREFIX + builtin("node:crypto").randomBytes(SECRET_BYTES).toString("base64url");
}

function secretsOf({ digest, former }: KeyLocation): string[] {
  return former === undefined ? [digest] : [digest, former];
}

function asKey(record: unknown): StoredKey {
  const { version: _, ends, ...key } = record as KeyRecord;
  if (ends === undefined) return key;
  return { ...key, expires: new Date(Math.min(ends, Date.parse(key.expires ?? "") || Infinity)).toISOString() };
}

/** The count was a plain number in an earlier version. A gateway of that version may have left something that is not a number. */
function countIn(record: unknown): number {
  return Number((typeof record === "object" ? (record as { count?: unknown } | null)?.count : record) || 0);
}

/** Fields that only a later version knows are kept. */
function counted(record: unknown, count: number): object {
  return { version: VERSION, ...(typeof record === "object" && record), count };
}
