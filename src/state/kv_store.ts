import { hash } from "node:crypto";
import { parseExactly } from "../canonical/raw_number.ts";
import type { Store, StoreKey } from "./store.ts";

/** The most that the database takes as one value. */
const CHUNK_BYTES = 65_536;
/** A value up to this length is in its head, which is one value of the database with its other fields. */
const INLINE_BYTES = 64_000;
/**
 * One atomic write takes 819,200 bytes, keys included, and 1,000 changes: this many chunks, beside the removal of the most
 * chunks that a value can have, whose keys are of 63 bytes each.
 */
const CHUNKS_PER_WRITE = 11;
const MOST_CHUNKS = 900;
/** How long a write is tried again that meets the writes of other processes, and how long it rests between, at most. */
const LOCKED_LIMIT_MS = 5_000;
const LOCKED_REST_MS = 20;

/** What is found under a value's key: the JSON text as UTF-8 where it is short, else what its chunks are found by. */
interface Head {
  expiresAt: number;
  text?: Uint8Array<ArrayBuffer>;
  id: string;
  chunks: number;
}

export interface KvStoreOptions {
  open(): Promise<Deno.Kv>;
  /** Milliseconds since the epoch. */
  now(): number;
}

/**
 * A store in a database that several processes may use at once. It is opened at the first need; where that fails, the
 * next need tries again.
 *
 * A value's chunks are written first, under an id of their own, and its head last. One atomic write replaces or removes a
 * head together with the chunks of the one before, so a process that dies at any moment leaves the old value, the new
 * one, or none. At worst it leaves chunks that no head names, which go when they expire.
 */
export function createKvStore(options: KvStoreOptions): Store {
  return new KvStore(options);
}

class KvStore implements Store {
  readonly #database: () => Promise<Deno.Kv>;
  readonly #now: () => number;
  readonly close: () => void;

  constructor({ open, now }: KvStoreOptions) {
    const { database, close } = shareOpening(open);
    this.#database = database;
    this.#now = now;
    this.close = close;
  }

  async get(key: StoreKey): Promise<unknown> {
    const kv = await this.#database();
    let seen: string | undefined;
    while (true) {
      const { value: head, versionstamp } = await kv.get<Head>(headKey(key));
      // The database removes late what has expired. A head that is still the same lacks its chunks for good.
      if (!head || head.expiresAt <= this.#now() || versionstamp === seen) return undefined;
      const parts = head.text ? [head.text] : await readChunks(kv, head.id);
      if (head.text || parts.length === head.chunks) return parseExactly(await new Blob(parts).text());
      // The value was replaced or removed between the two reads.
      seen = versionstamp;
    }
  }

  async set(key: StoreKey, value: unknown, expiresAt: number): Promise<void> {
    const bytes = new TextEncoder().encode(JSON.stringify(value));
    const expireIn = Math.max(0, Math.ceil(expiresAt - this.#now()));
    const id = crypto.randomUUID();
    const writes = bytes.length > INLINE_BYTES ? chunksOf(id, bytes, expireIn) : [];
    const chunks = writes.length;
    if (chunks > MOST_CHUNKS) {
      throw new Error(`Cannot store ${bytes.length} bytes: the limit is ${MOST_CHUNKS * CHUNK_BYTES}`);
    }
    const head: Head = { expiresAt, id, chunks, ...(chunks === 0 && { text: bytes }) };
    const kv = await this.#database();
    while (writes.length > CHUNKS_PER_WRITE) {
      await commit(kv.atomic().mutate(...writes.splice(0, CHUNKS_PER_WRITE)));
    }
    // Most values are written once, hence the first attempt expects none.
    let before: Deno.KvEntryMaybe<Head> = { key: headKey(key), value: null, versionstamp: null };
    const replacement = () =>
      kv.atomic().check(before).set(before.key, head, { expireIn }).mutate(...writes, ...removals(before.value));
    while (!await commit(replacement())) before = await kv.get<Head>(before.key);
  }

  async ensure(key: StoreKey, value: unknown): Promise<unknown> {
    const text = new TextEncoder().encode(JSON.stringify(value));
    if (text.length > INLINE_BYTES) throw new Error(`Cannot keep ${text.length} bytes: the limit is ${INLINE_BYTES}`);
    const head: Head = { expiresAt: Number.MAX_SAFE_INTEGER, text, id: crypto.randomUUID(), chunks: 0 };
    const kv = await this.#database();
    while (true) {
      const found = await this.get(key);
      if (found !== undefined) return found;
      // What has expired may still be there; what somebody else puts there meanwhile makes the check fail.
      const before = await kv.get<Head>(headKey(key));
      if (before.value && before.value.expiresAt > this.#now()) continue;
      await commit(kv.atomic().check(before).mutate(...removals(before.value)).set(before.key, head));
    }
  }

  async update(key: StoreKey, change: (value: unknown) => unknown): Promise<void> {
    const kv = await this.#database();
    while (true) {
      const before = await kv.get<Head>(headKey(key));
      const value = await this.get(key);
      const bytes = new TextEncoder().encode(JSON.stringify(change(value)));
      const id = crypto.randomUUID();
      const chunks = bytes.length > INLINE_BYTES ? chunksOf(id, bytes) : [];
      if (chunks.length > CHUNKS_PER_WRITE) {
        throw new Error(`Cannot keep ${bytes.length} bytes: the limit is ${CHUNKS_PER_WRITE * CHUNK_BYTES}`);
      }
      const head: Head = {
        expiresAt: Number.MAX_SAFE_INTEGER,
        id,
        chunks: chunks.length,
        ...(chunks.length === 0 && { text: bytes }),
      };
      // Where another's write came between, also between the two reads, the check fails.
      const replacement = kv.atomic().check(before).set(before.key, head)
        .mutate(...chunks, ...removals(before.value));
      if (await commit(replacement)) return;
    }
  }

  async delete(key: StoreKey): Promise<boolean> {
    const kv = await this.#database();
    while (true) {
      const entry = await kv.get<Head>(headKey(key));
      if (!entry.value) return false;
      const removal = kv.atomic().check(entry).mutate(...removals(entry.value)).delete(entry.key);
      if (await commit(removal)) return entry.value.expiresAt > this.#now();
    }
  }
}

/**
 * Whether the operation was done, which it is not where a check failed. An operation with a check that another process's
 * write comes between fails at once, as if the database stayed locked; a moment later the same operation succeeds.
 */
async function commit(operation: Deno.AtomicOperation): Promise<boolean> {
  const start = performance.now();
  while (true) {
    try {
      return (await operation.commit()).ok;
    } catch (error) {
      const locked = error instanceof Error && error.message.includes("database is locked");
      if (!locked || performance.now() - start > LOCKED_LIMIT_MS) throw error;
      await new Promise((resolve) => setTimeout(resolve, Math.random() * LOCKED_REST_MS));
    }
  }
}

/** One database for all who ask, from the first who does until it is closed. */
function shareOpening(open: () => Promise<Deno.Kv>) {
  let opened: Deno.Kv | undefined;
  let opening: Promise<Deno.Kv> | undefined;
  let closed = false;

  async function openOnce(): Promise<Deno.Kv> {
    try {
      const kv = await open();
      if (closed) kv.close();
      else opened = kv;
    } finally {
      opening = undefined;
    }
    return await database();
  }

  async function database(): Promise<Deno.Kv> {
    if (closed) throw new Error("Cannot use the store: it is closed");
    return opened ?? await (opening ??= openOnce());
  }

  function close(): void {
    closed = true;
    opened?.close();
    opened = undefined;
  }

  return { database, close };
}

/** The database limits how long a key is; a hash is always of one length. */
function headKey(key: StoreKey): Deno.KvKey {
  return ["laneway", "value", hash("sha256", JSON.stringify(key), "hex")];
}

function chunkKey(id: string, index: number): Deno.KvKey {
  return ["laneway", "chunk", id, index];
}

async function readChunks(kv: Deno.Kv, id: string): Promise<Uint8Array<ArrayBuffer>[]> {
  const entries = kv.list<Uint8Array<ArrayBuffer>>({ prefix: ["laneway", "chunk", id] });
  return await Array.fromAsync(entries, ({ value }) => value);
}

function chunksOf(id: string, bytes: Uint8Array<ArrayBuffer>, expireIn?: number): Deno.KvMutation[] {
  return Array.from({ length: Math.ceil(bytes.length / CHUNK_BYTES) }, (_, index): Deno.KvMutation => ({
    type: "set",
    key: chunkKey(id, index),
    value: bytes.subarray(index * CHUNK_BYTES, (index + 1) * CHUNK_BYTES),
    ...(expireIn !== undefined && { expireIn }),
  }));
}

function removals(head: Head | null): Deno.KvMutation[] {
  return Array.from({ length: head?.chunks ?? 0 }, (_, index) => ({
    type: "delete",
    key: chunkKey(head!.id, index),
  }));
}
