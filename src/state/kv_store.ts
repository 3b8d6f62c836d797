import { GatewayError } from "../errors.ts";
import { Slice, yieldToEventLoop } from "../util/sliced_work.ts";
import {
  AS_JSON,
  CHUNK_BYTES,
  chunksAnew,
  type Form,
  type Head,
  headKey,
  INLINE_BYTES,
  listKey,
  readValue,
  removals,
  type Written,
  writtenAs,
} from "./kv_values.ts";
import type { Renewal, Store, StoreEntry, StoreKey } from "./store.ts";

/**
 * One atomic write takes at most 819,200 bytes, keys included, and 1,000 changes. That is room for this many chunks, and for
 * the removal of a value of `MOST_CHUNKS` chunks, whose keys have 63 bytes each.
 */
const CHUNKS_PER_WRITE = 11;
const MOST_CHUNKS = 900;
/** The most bytes of values in one atomic write. The rest is for their keys. */
const BYTES_PER_WRITE = 800_000;
/** How many positions of a list are read in one step, and for how many of them chunks are read at once. */
const POSITIONS_PER_READ = 500;
const READS_AT_ONCE = 16;
/** The most keys in one read of the database. */
const KEYS_PER_READ = 10;
/** How long an operation that finds the database locked is retried, and the longest pause between two tries, in milliseconds. */
const LOCKED_LIMIT_MS = 5_000;
const LOCKED_REST_MS = 20;

export interface KvStoreOptions extends Opening<Deno.Kv> {
  /** Milliseconds since the epoch. */
  now(): number;
  /** The encoding of values. JSON by default. */
  form?: Form;
}

/**
 * A store in a database that several processes may use at once. It is opened at the first use. If that fails, the next use
 * tries again.
 *
 * The chunks of long values are written first, under ids of their own, and the heads last. One atomic write adds, replaces or
 * removes heads, so a process that dies at any moment leaves all of them or none. At worst it leaves chunks that no head
 * names, which go when they expire.
 */
export function createKvStore(options: KvStoreOptions): Store {
  return new KvStore(options);
}

class KvStore implements Store {
  readonly #database: () => Promise<Deno.Kv>;
  readonly #now: () => number;
  readonly #form: Form;
  readonly close: () => void;

  constructor(options: KvStoreOptions) {
    const { now, form = AS_JSON } = options;
    const { database, close } = shareOpening(options);
    this.#database = database;
    this.#now = now;
    this.#form = form;
    this.close = close;
  }

  async get(key: StoreKey): Promise<unknown> {
    const kv = await this.#database();
    let seen: string | null = null;
    while (true) {
      const { value: head, versionstamp } = await kv.get<Head>(headKey(key));
      // If the head is still the same, its chunks are missing for good.
      if (!this.#isFresh(head) || versionstamp === seen) return undefined;
      const value = await readValue(kv, this.#form, head);
      if (value !== undefined) return value;
      // The value was replaced or removed between the two reads.
      seen = versionstamp;
    }
  }

  async getRange(list: StoreKey, from: number, to: number): Promise<unknown[]> {
    const kv = await this.#database();
    const heads = new Array<Head | undefined>(to - from + 1).fill(undefined);
    const prefix = listKey(list);
    const range = { start: [...prefix, from], end: [...prefix, to + 1] };
    // Reading a range costs a fifth of reading its keys one by one.
    for await (const { key, value } of kv.list<Head>(range, { batchSize: POSITIONS_PER_READ })) {
      if (this.#isFresh(value)) heads[key.at(-1) as number - from] = value;
    }
    const values: unknown[] = [];
    const slice = new Slice();
    for (let at = 0; at < heads.length; at += READS_AT_ONCE) {
      const some = heads.slice(at, at + READS_AT_ONCE);
      values.push(...await Promise.all(some.map((head) => head && readValue(kv, this.#form, head))));
      if (slice.isOver()) await yieldToEventLoop();
    }
    return values;
  }

  async add(entries: readonly StoreEntry[], expiresAt: number, renewal?: Renewal): Promise<boolean> {
    if (renewal) await this.#renew(renewal);
    const expireIn = expiresAt === Infinity ? undefined : Math.max(0, Math.ceil(expiresAt - this.#now()));
    const values = entries.map(([key, value]) => writtenAs(key, this.#form.toBytes(value), expiresAt, expireIn));
    for (const { chunks, bytes } of values) {
      if (chunks.length > MOST_CHUNKS) {
        throw new Error(`Cannot store ${bytes} bytes: the limit is ${MOST_CHUNKS * CHUNK_BYTES}`);
      }
    }
    const kv = await this.#database();
    const chunks = values.flatMap((value) => value.chunks);
    const most = chunksBeside(values);
    while (chunks.length > most) await commit(kv.atomic().mutate(...chunks.splice(0, CHUNKS_PER_WRITE)));
    // Most keys are new, so the first attempt expects that.
    let before: Deno.AtomicCheck[] = values.map(({ key }) => ({ key, versionstamp: null }));
    while (true) {
      const addition = kv.atomic().check(...before).mutate(...chunks);
      for (const { key, head } of values) addition.set(key, head, expireIn === undefined ? {} : { expireIn });
      if (await commit(addition)) return true;
      const found = await kv.getMany<Head[]>(values.map(({ key }) => key));
      if (found.some(({ value }) => this.#isFresh(value))) break;
      before = found;
    }
    await removeAll(kv, values.flatMap(({ head }) => removals(head)));
    return false;
  }

  async #renew({ keys, expiresAt }: Renewal): Promise<void> {
    const kv = await this.#database();
    const expireIn = Math.max(0, Math.ceil(expiresAt - this.#now()));
    for (let at = 0; at < keys.length;) {
      const found = await kv.getMany<Head[]>(keys.slice(at, at + KEYS_PER_READ).map(headKey));
      const renewed = kv.atomic();
      for (const { key, value, versionstamp } of found) {
        if (!this.#isFresh(value) || value.expiresAt >= expiresAt) continue;
        const chunks = await chunksAnew(kv, value, expireIn);
        // Chunks that stay longer than their head do no harm.
        while (chunks.length > 0) await commit(kv.atomic().mutate(...chunks.splice(0, CHUNKS_PER_WRITE)));
        renewed.check({ key, versionstamp }).set(key, { ...value, expiresAt }, { expireIn });
      }
      // If another process changed one of them meanwhile, they are read again.
      if (await commit(renewed)) at += KEYS_PER_READ;
    }
  }

  async ensure(key: StoreKey, value: unknown): Promise<unknown> {
    const { head, bytes, ...written } = writtenAs(key, this.#form.toBytes(value), Number.MAX_SAFE_INTEGER);
    if (!head.text) throw new Error(`Cannot keep ${bytes} bytes: the limit is ${INLINE_BYTES}`);
    const kv = await this.#database();
    while (true) {
      const found = await this.get(key);
      if (found !== undefined) return found;
      // An expired value may still be there. If another process writes one meanwhile, the check fails.
      const before = await kv.get<Head>(written.key);
      if (this.#isFresh(before.value)) continue;
      await commit(kv.atomic().check(before).mutate(...removals(before.value)).set(before.key, head));
    }
  }

  async update(key: StoreKey, change: (value: unknown) => unknown): Promise<void> {
    const kv = await this.#database();
    while (true) {
      const before = await kv.get<Head>(headKey(key));
      const value = await this.get(key);
      const changed = this.#form.toBytes(change(value));
      const { head, chunks, bytes } = writtenAs(key, changed, Number.MAX_SAFE_INTEGER);
      if (chunks.length > CHUNKS_PER_WRITE) {
        const message = `The store cannot keep ${bytes} bytes under one key: the limit is ${
          CHUNKS_PER_WRITE * CHUNK_BYTES
        }`;
        throw new GatewayError("unavailable", message, { reason: "storage_quota_exceeded", retryable: false });
      }
      // If another write came in between, even between the two reads, the check fails.
      const replacement = kv.atomic().check(before).set(before.key, head).mutate(...chunks, ...removals(before.value));
      if (await commit(replacement)) return;
    }
  }

  async delete(...keys: readonly StoreKey[]): Promise<boolean> {
    const kv = await this.#database();
    while (true) {
      const all = await kv.getMany<Head[]>(keys.map(headKey));
      const first = all[0];
      if (!first?.value) return false;
      const wasThere = this.#isFresh(first.value);
      const entries = wasThere ? all : [first];
      const chunks = entries.flatMap(({ value }) => removals(value));
      const removal = kv.atomic().check(...entries).mutate(...chunks.splice(0, MOST_CHUNKS));
      for (const { key } of entries) removal.delete(key);
      if (!await commit(removal)) continue;
      await removeAll(kv, chunks);
      return wasThere;
    }
  }

  /** The database may keep an expired value for a while. */
  #isFresh(head: Head | null): head is Head {
    return head !== null && head.expiresAt > this.#now();
  }
}

/** How many chunks one write takes beside the heads. */
function chunksBeside(values: readonly Written[]): number {
  const bytes = values.reduce((sum, { head }) => sum + (head.text?.length ?? 0), 0);
  return Math.max(0, Math.min(CHUNKS_PER_WRITE, Math.floor((BYTES_PER_WRITE - bytes) / CHUNK_BYTES)));
}

async function removeAll(kv: Deno.Kv, chunks: readonly Deno.KvMutation[]): Promise<void> {
  for (let at = 0; at < chunks.length; at += MOST_CHUNKS) {
    await commit(kv.atomic().mutate(...chunks.slice(at, at + MOST_CHUNKS)));
  }
}

/** Returns whether the operation was done: not if a check failed. */
async function commit(operation: Deno.AtomicOperation): Promise<boolean> {
  return await retryLocked(async () => (await operation.commit()).ok);
}

/**
 * Runs an operation of the database, and tries again while the database is locked. It does not wait itself: an operation fails as soon
 * as it meets a write of another process.
 */
export async function retryLocked<T>(run: () => T | Promise<T>): Promise<T> {
  const start = performance.now();
  while (true) {
    try {
      return await run();
    } catch (error) {
      const locked = error instanceof Error && error.message.includes("database is locked");
      if (!locked || performance.now() - start > LOCKED_LIMIT_MS) throw error;
      await new Promise((resolve) => setTimeout(resolve, Math.random() * LOCKED_REST_MS));
    }
  }
}

interface Opening<Database> {
  open(): Promise<Database>;
  /** Whether the opened database is gone. This is asked before each use, and if so, another one is opened. */
  isGone?(): Promise<boolean>;
  /** Called when the database is gone, and its content is lost. */
  onLost?(): void;
}

/** Opens one database for all callers at the first call, until it is closed. */
export function shareOpening<Database extends { close(): void }>({ open, isGone, onLost }: Opening<Database>) {
  let opened: Database | undefined;
  let opening: Promise<Database> | undefined;
  let looking: Promise<boolean> | undefined;
  let closed = false;

  /** Closes a database that is gone, so that another one is opened. */
  async function look(): Promise<void> {
    const one = opened;
    if (!one || !isGone) return;
    if (!await (looking ??= isGone().finally(() => looking = undefined)) || opened !== one) return;
    opened = undefined;
    one.close();
    onLost?.();
  }

  async function openOnce(): Promise<Database> {
    try {
      const database = await open();
      if (closed) database.close();
      else opened = database;
    } finally {
      opening = undefined;
    }
    return await database();
  }

  async function database(): Promise<Database> {
    await look();
    // It may have been closed meanwhile, and must not be opened again.
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
