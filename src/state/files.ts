/**
 * Files that clients upload once and then name by their ids. Each owner has one record that lists its files, so that a bound
 * holds in all processes at once. Contents are in the store or in a folder, sealed with the gateway's key.
 */
import type { FileFacts, StoredFile } from "../canonical/files.ts";
import { GatewayError, toGatewayError } from "../errors.ts";
import { type Entry, FileRecords, type FileRecordsOptions, heldBy, sum } from "./file_records.ts";

export interface Files {
  /** Stores a file in one piece. Throws `invalid_request` or `unavailable` if there is no room for it. */
  create(owner: string, id: string, facts: FileFacts, content: Uint8Array): Promise<StoredFile>;
  /** Reserves room for a file that comes in pieces. It cannot be found before its last piece. */
  begin(owner: string, id: string, facts: FileFacts, bytes: number): Promise<StoredFile>;
  /** Adds a piece at `offset`, which must be where the last one ended. The last piece completes the file. */
  append(owner: string, id: string, piece: Piece): Promise<Progress>;
  /** Returns how much of a file that comes in pieces has arrived. Throws `not_found`, as the methods below do. */
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

export interface FilesOptions extends FileRecordsOptions {
  /** The most that the files of a key may come to, in bytes. */
  bytesPerKey: number;
  /** How many files a key may have. */
  filesPerKey: number;
}

/** A record holds the names and the lengths of the parts of all files of its owner, so it must not grow with them. */
const [LONGEST_NAME, MOST_PARTS] = [255, 1_000];
const MEDIA_TYPE = /^[\w.+-]{1,80}\/[\w.+-]{1,120}$/;

export function createFiles(options: FilesOptions): Files {
  return new StoredFiles(options);
}

class StoredFiles implements Files {
  readonly #options: FilesOptions;
  readonly #records: FileRecords;

  constructor(options: FilesOptions) {
    this.#options = options;
    this.#records = new FileRecords(options);
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
    const { keepMs, purpose } = facts;
    const created = now();
    const entry: Entry = {
      id,
      mediaType: MEDIA_TYPE.test(facts.mediaType) ? facts.mediaType : "application/octet-stream",
      ...(purpose !== undefined && { purpose }),
      bytes,
      created,
      sealedName: await contents.seal(facts.name.slice(0, LONGEST_NAME).toWellFormed(), owner, id),
      parts: [],
      isPending: true,
      ...(keepMs !== undefined && { expires: created + keepMs }),
    };
    const held = await this.#records.change(owner, (files) => {
      if (files.length >= filesPerKey) throw full(`You have as many files as one key may have (${filesPerKey})`);
      if (heldBy([...files, entry]) > bytesPerKey) {
        throw full(`Your files would hold more than one key may store (${bytesPerKey.toLocaleString("en")} bytes)`);
      }
      return [...files, entry];
    });
    if (!await this.#records.fits(owner, held)) {
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
    const { expires = Infinity } = await this.#update(owner, id, (entry) => {
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
      if (part >= MOST_PARTS) throw new GatewayError("invalid_request", `Expected ${MOST_PARTS} pieces at most`);
      // It is listed before it is written, so that whoever removes the file finds all of it.
      return content.length > 0 ? { ...entry, parts: [...entry.parts, content.length] } : entry;
    });
    try {
      if (content.length > 0) await contents.write({ owner, id, part }, content, expires);
    } catch (failure) {
      // The client may send the piece again.
      const withoutIt = (entry: Entry) => ({ ...entry, parts: entry.parts.slice(0, part), isPending: true });
      await this.#update(owner, id, withoutIt).catch(() => {});
      await contents.remove({ owner, id, part }, content.length).catch(() => {});
      throw failure;
    }
    const entry = await this.#settle(owner, id, { part, content, isLast });
    return { file: await this.#fileOf(owner, entry), received: sum(entry.parts), isComplete: isLast };
  }

  /** Completes the file after its last piece. What was written of a file that was deleted meanwhile would stay for good. */
  async #settle(owner: string, id: string, { part, content, isLast }: Omit<Piece, "offset"> & { part: number }) {
    try {
      return await this.#update(owner, id, (entry) => {
        if (content.length > 0 && entry.parts.length <= part) throw lostPiece();
        const { isPending: _, ...complete } = entry;
        return isLast ? complete : entry;
      });
    } catch (failure) {
      const { code } = toGatewayError(failure);
      if (code === "not_found" || code === "invalid_request") {
        await this.#options.contents.remove({ owner, id, part }, content.length);
      }
      throw failure;
    }
  }

  async progress(owner: string, id: string): Promise<Progress> {
    const entry = (await this.#records.read(owner)).find((one) => one.id === id);
    if (!entry) throw notFound();
    return { file: await this.#fileOf(owner, entry), received: sum(entry.parts), isComplete: !entry.isPending };
  }

  async list(owner: string): Promise<StoredFile[]> {
    const all = (await this.#records.read(owner)).filter((one) => !one.isPending && !this.#records.isOver(one))
      .reverse();
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
    const entry = (await this.#records.read(owner)).find((one) => one.id === id);
    if (!entry) throw notFound();
    await this.#remove(owner, id);
    return await this.#fileOf(owner, entry);
  }

  async #entry(owner: string, id: string): Promise<Entry> {
    const entry = (await this.#records.read(owner)).find((one) => one.id === id);
    if (!entry || entry.isPending) throw notFound();
    if (this.#records.isOver(entry)) throw notFound("file_expired");
    return entry;
  }

  async #fileOf(owner: string, { sealedName, parts: _, isPending: __, ...facts }: Entry): Promise<StoredFile> {
    return { ...facts, name: await this.#options.contents.open(sealedName, owner, facts.id) ?? "file" };
  }

  /** Changes one file of an owner. Throws `not_found` if it is gone. */
  async #update(owner: string, id: string, change: (entry: Entry) => Entry): Promise<Entry> {
    let changed: Entry | undefined;
    await this.#records.change(owner, (files) => {
      if (!files.some((one) => one.id === id)) throw notFound();
      return files.map((one) => one.id === id ? changed = change(one) : one);
    });
    return changed!;
  }

  async #remove(owner: string, id: string): Promise<void> {
    await this.#records.report(
      owner,
      await this.#records.change(owner, (files) => files.filter((one) => one.id !== id)),
    );
  }
}

function full(message: string): GatewayError {
  return new GatewayError("invalid_request", `${message}: delete some first`, { reason: "storage_quota_exceeded" });
}

/** Pieces that were sent at once: one before this could not be stored. */
function lostPiece(): GatewayError {
  return new GatewayError("invalid_request", "A piece before this one could not be stored: ask how much has arrived");
}

function badOffset(offset: number, received: number): GatewayError {
  return new GatewayError("invalid_request", `Expected the piece at offset ${received}, but got the one at ${offset}`);
}

/** An id of another key is answered like one that never existed. */
function notFound(reason?: "file_expired"): GatewayError {
  const message = reason ? "The file has expired" : "Cannot find the file: none of yours has this id";
  return new GatewayError("not_found", message, { param: "id", ...(reason && { reason }) });
}
