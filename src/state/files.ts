/**
 * Files that clients upload once and then name by their ids. Each owner has one record that lists its files, so that a bound
 * holds in all processes at once. Contents are in the store or in a folder, sealed with the gateway's key.
 */
import type { FileFacts, StoredFile } from "../canonical/files.ts";
import { GatewayError } from "../errors.ts";
import type { FileContents } from "./file_contents.ts";
import type { Store, StoreKey } from "./store.ts";
import { withStoreTimeout } from "./store_timeout.ts";

export interface Files {
  /** Stores a file in one piece. Throws `invalid_request` or `unavailable` if there is no room for it. */
  create(owner: string, id: string, facts: FileFacts, content: Uint8Array): Promise<StoredFile>;
  /** Reserves room for a file that comes in pieces. It cannot be found before its last piece. */
  begin(owner: string, id: string, facts: FileFacts, bytes: number): Promise<StoredFile>;
  /** Adds a piece at `offset`, which must be where the last one ended. The last piece completes the file. */
  append(owner: string, id: string, piece: Piece): Promise<Progress>;
  /** What has arrived of a file that comes in pieces. Throws `not_found`, as the methods below do. */
  progress(owner: string, id: string): Promise<Progress>;
  /** The latest first. */
  list(owner: string): Promise<StoredFile[]>;
  find(owner: string, id: string): Promise<StoredFile>;
  /** The content, piece by piece. It throws `unavailable` if a piece is missing or was sealed with another key. */
  read(owner: string, id: string): Promise<{ file: StoredFile; content: AsyncIterable<Uint8Array<ArrayBuffer>> }>;
  /** Returns the file that was deleted. */
  delete(owner: string, id: string): Promise<StoredFile>;
}

/** Loads the code at the first file. Absent where the configuration turns files off. */
export type LoadFiles = () => Promise<Files>;

export interface Piece {
  offset: number;
  content: Uint8Array;
  isLast: boolean;
}

export interface Progress {
  file: StoredFile;
  received: number;
  isComplete: boolean;
}

export interface FilesOptions {
  store: Store;
  contents: FileContents;
  /** The most that all files of a key, and all files together, may come to, in bytes. */
  bytesPerKey: number;
  totalBytes: number;
  /** How many files a key may have. */
  filesPerKey: number;
  /** Milliseconds since the epoch. */
  now(): number;
  /** How long the store may take, in milliseconds: a client waits for it. */
  patienceMs: number;
}

/** A file in its owner's record. Its name is sealed, because names say much. */
interface Entry extends Omit<StoredFile, "name"> {
  sealedName: string;
  /** The bytes of each part, in the order of the content. */
  parts: number[];
  /** Whether pieces are still missing. `bytes` is then what was declared. */
  isPending?: boolean;
}

interface OwnerRecord {
  version: number;
  files: Entry[];
}

/** What all owners hold: bytes, and when the first file of each expires, in milliseconds since the epoch. */
interface Totals {
  version: number;
  owners: Record<string, [bytes: number, expires: number]>;
}

/** The version of the record format. A reader ignores fields that it does not know. */
const VERSION = 1;
/** How long an upload may take from its first piece to its last, in milliseconds. */
const PENDING_MS = 3_600_000;
/** What each file counts in addition to its bytes: a million empty files are no small thing. */
const BESIDE = 4_000;
const TOTALS: StoreKey = ["file totals"];

export function createFiles(options: FilesOptions): Files {
  return new StoredFiles(options);
}

class StoredFiles implements Files {
  readonly #options: FilesOptions;

  constructor(options: FilesOptions) {
    this.#options = options;
  }

  async create(owner: string, id: string, facts: FileFacts, content: Uint8Array): Promise<StoredFile> {
    await this.begin(owner, id, facts, content.length);
    try {
      return (await this.append(owner, id, { offset: 0, content, isLast: true })).file;
    } catch (failure) {
      await this.delete(owner, id).catch(() => {}); // it expires soon all the same
      throw failure;
    }
  }

  async begin(owner: string, id: string, facts: FileFacts, bytes: number): Promise<StoredFile> {
    const { bytesPerKey, filesPerKey, now, contents } = this.#options;
    const { name, keepMs, ...others } = facts;
    const created = now();
    const entry: Entry = {
      id,
      ...others,
      bytes,
      created,
      sealedName: await contents.seal(name, owner, id),
      parts: [],
      isPending: true,
      ...(keepMs !== undefined && { expires: created + keepMs }),
    };
    const held = await this.#change(owner, (files) => {
      if (files.length >= filesPerKey) throw full(`You have as many files as one key may have (${filesPerKey})`);
      if (heldBy([...files, entry]) > bytesPerKey) {
        throw full(`Your files would hold more than one key may store (${bytesPerKey.toLocaleString("en")} bytes)`);
      }
      return [...files, entry];
    });
    if (!await this.#fits(owner, held)) {
      await this.#remove(owner, id);
      throw new GatewayError("unavailable", "The files of all keys take all the space that the gateway has for them", {
        reason: "storage_quota_exceeded",
        retryable: false,
      });
    }
    return await this.#fileOf(owner, entry);
  }

  async append(owner: string, id: string, { offset, content, isLast }: Piece): Promise<Progress> {
    const { contents } = this.#options;
    let part = 0;
    const pending = await this.#update(owner, id, (entry) => {
      if (!entry.isPending) throw new GatewayError("invalid_request", "The upload is complete already");
      const received = sum(entry.parts);
      if (offset !== received) throw badOffset(offset, received);
      if (received + content.length > entry.bytes) {
        throw new GatewayError("invalid_request", `The file is longer than declared (${entry.bytes} bytes)`);
      }
      if (isLast && received + content.length < entry.bytes) {
        throw new GatewayError("invalid_request", `The file is shorter than declared (${entry.bytes} bytes)`);
      }
      part = entry.parts.length;
      // It is listed before it is written, so that whoever removes the file finds all of it.
      return content.length > 0 ? { ...entry, parts: [...entry.parts, content.length] } : entry;
    });
    if (content.length > 0) await contents.write({ owner, id, part }, content, pending.expires ?? Infinity);
    const { isPending: _, ...complete } = pending;
    const entry = isLast ? await this.#update(owner, id, () => complete) : pending;
    return { file: await this.#fileOf(owner, entry), received: sum(entry.parts), isComplete: isLast };
  }

  async progress(owner: string, id: string): Promise<Progress> {
    const entry = (await this.#entries(owner)).find((one) => one.id === id);
    if (!entry) throw notFound();
    return { file: await this.#fileOf(owner, entry), received: sum(entry.parts), isComplete: !entry.isPending };
  }

  async list(owner: string): Promise<StoredFile[]> {
    const all = (await this.#entries(owner)).filter((one) => !one.isPending && !this.#isOver(one)).reverse();
    return await Promise.all(all.map((one) => this.#fileOf(owner, one)));
  }

  async find(owner: string, id: string): Promise<StoredFile> {
    return await this.#fileOf(owner, await this.#entry(owner, id));
  }

  async read(owner: string, id: string) {
    const { contents } = this.#options;
    const entry = await this.#entry(owner, id);
    const file = await this.#fileOf(owner, entry);
    async function* pieces() {
      for (const [part, bytes] of entry.parts.entries()) yield* contents.read({ owner, id, part }, bytes);
    }
    return { file, content: pieces() };
  }

  async delete(owner: string, id: string): Promise<StoredFile> {
    const entry = (await this.#entries(owner)).find((one) => one.id === id);
    if (!entry) throw notFound();
    await this.#remove(owner, id);
    return await this.#fileOf(owner, entry);
  }

  async #entry(owner: string, id: string): Promise<Entry> {
    const entry = (await this.#entries(owner)).find((one) => one.id === id);
    if (!entry || entry.isPending) throw notFound();
    if (this.#isOver(entry)) throw notFound("file_expired");
    return entry;
  }

  async #entries(owner: string): Promise<Entry[]> {
    const record = await this.#ask(this.#options.store.get(recordKey(owner)));
    return (record as OwnerRecord | undefined)?.files ?? [];
  }

  async #fileOf(owner: string, { sealedName, parts: _, isPending: __, ...facts }: Entry): Promise<StoredFile> {
    return { ...facts, name: await this.#options.contents.open(sealedName, owner, facts.id) ?? "file" };
  }

  #isOver({ isPending, created, expires = Infinity }: Entry): boolean {
    return Math.min(expires, isPending ? created + PENDING_MS : Infinity) <= this.#options.now();
  }

  /** Changes one file of an owner. Throws `not_found` if it is gone. */
  async #update(owner: string, id: string, change: (entry: Entry) => Entry): Promise<Entry> {
    let changed: Entry | undefined;
    await this.#change(owner, (files) => {
      if (!files.some((one) => one.id === id)) throw notFound();
      return files.map((one) => one.id === id ? changed = change(one) : one);
    });
    return changed!;
  }

  async #remove(owner: string, id: string): Promise<void> {
    await this.#report(owner, await this.#change(owner, (files) => files.filter((one) => one.id !== id)));
  }

  /**
   * Changes an owner's list, from which expired files are removed first, and then deletes the contents of all that is no longer
   * in it. Returns the rest.
   */
  async #change(owner: string, change: (files: Entry[]) => Entry[]): Promise<Entry[]> {
    let before: Entry[] = [];
    let after: Entry[] = [];
    // What `change` throws ends the update, whose store may wrap it.
    let refusal: unknown;
    const { store } = this.#options;
    await this.#ask(store.update(recordKey(owner), (value) => {
      before = (value as OwnerRecord | undefined)?.files ?? [];
      after = before.filter((one) => !this.#isOver(one));
      refusal = undefined;
      try {
        after = change(after);
      } catch (thrown) {
        refusal = thrown;
      }
      return { version: VERSION, files: after } satisfies OwnerRecord;
    }));
    const kept = new Set(after.map(({ id }) => id));
    const gone = before.filter(({ id }) => !kept.has(id));
    for (const { id, parts } of gone) {
      for (const [part, bytes] of parts.entries()) await this.#options.contents.remove({ owner, id, part }, bytes);
    }
    if (refusal) {
      if (gone.length > 0) await this.#report(owner, after);
      throw refusal;
    }
    return after;
  }

  /** Whether all owners' files fit. If they do not, the expired files of others make room first. */
  async #fits(owner: string, files: readonly Entry[]): Promise<boolean> {
    const { totalBytes, now } = this.#options;
    const first = await this.#report(owner, files);
    const isFull = bytesIn(first) > totalBytes;
    const stale = Object.entries(first.owners).filter(([other, [, expires]]) => other !== owner && expires <= now());
    // Otherwise the files of a key that never comes back would stay. One at a time costs no client much.
    for (const [other] of isFull ? stale : stale.slice(0, 1)) {
      await this.#report(other, await this.#change(other, (kept) => kept));
    }
    if (!isFull) return true;
    return bytesIn(await this.#report(owner, files)) <= totalBytes;
  }

  /** Updates the totals by what an owner holds now. */
  async #report(owner: string, files: readonly Entry[]): Promise<Totals> {
    let totals: Totals = { version: VERSION, owners: {} };
    const expiries = files.map((one) => one.expires ?? (one.isPending ? one.created + PENDING_MS : Infinity));
    // JSON has no infinity.
    const own: [number, number] = [heldBy(files), Math.min(Number.MAX_SAFE_INTEGER, ...expiries)];
    await this.#ask(this.#options.store.update(TOTALS, (value) => {
      const { [owner]: _, ...others } = (value as Totals | undefined)?.owners ?? {};
      return totals = { version: VERSION, owners: files.length > 0 ? { ...others, [owner]: own } : others };
    }));
    return totals;
  }

  async #ask<T>(work: Promise<T>): Promise<T> {
    try {
      return await withStoreTimeout(this.#options.patienceMs, work);
    } catch (cause) {
      if (cause instanceof GatewayError) throw cause;
      throw new GatewayError("unavailable", "The gateway cannot reach its files: try again later", { cause });
    }
  }
}

/** The owner is part of every key, so that no caller reads another's data. */
function recordKey(owner: string): StoreKey {
  return ["files", owner];
}

function heldBy(files: readonly Entry[]): number {
  return files.reduce((all, { bytes }) => all + bytes + BESIDE, 0);
}

function bytesIn({ owners }: Totals): number {
  return sum(Object.values(owners).map(([bytes]) => bytes));
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((all, one) => all + one, 0);
}

function full(message: string): GatewayError {
  return new GatewayError("invalid_request", `${message}: delete some first`, { reason: "storage_quota_exceeded" });
}

function badOffset(offset: number, received: number): GatewayError {
  return new GatewayError("invalid_request", `Expected the piece at offset ${received}, but got the one at ${offset}`);
}

/** The same for an id that never existed and for one of another key. */
function notFound(reason?: "file_expired"): GatewayError {
  const message = reason ? "The file has expired" : "Cannot find the file: none of yours has this id";
  return new GatewayError("not_found", message, { param: "id", ...(reason && { reason }) });
}
