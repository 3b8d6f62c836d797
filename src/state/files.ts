/**
 * Files that clients upload once and then name by their ids. Each owner has one record that lists its files, so that a bound
 * holds in all processes at once. Contents are in the store or in a folder, sealed with the gateway's key.
 */
import type { FileFacts, StoredFile } from "../canonical/files.ts";
import { GatewayError, toGatewayError } from "../errors.ts";
import { builtin } from "../util/builtin.ts";
import { type Entry, FileRecords, type FileRecordsOptions, heldBy, type OwnerHolding, sum } from "./file_records.ts";
import { badOffset, checkOrder, checkPending, full, lostPiece, notFound } from "./file_refusals.ts";

export interface Files {
  /** Stores a file in one piece. Throws `invalid_request` or `unavailable` if there is no room for it. */
  create(owner: string, id: string, facts: FileFacts, content: Uint8Array): Promise<StoredFile>;
  /** Reserves room for a file that comes in pieces. It cannot be found before its last piece. */
  begin(owner: string, id: string, facts: FileFacts, bytes: number): Promise<StoredFile>;
  /** Adds a piece at `offset`, which must be where the last one ended. The last piece completes the file. */
  append(owner: string, id: string, piece: Piece): Promise<Progress>;
  /** Returns how much of a file that comes in pieces has arrived. Throws `not_found`, as the methods below do. */
  progress(owner: string, id: string): Promise<Progress>;
  /** Adds a piece whose place in the content `complete` says. Returns its number. */
  add(owner: string, id: string, content: Uint8Array): Promise<{ file: StoredFile; part: number }>;
  /** Ends an upload. Throws `invalid_request` unless the pieces are of it, as long as declared and of that digest. */
  complete(owner: string, id: string, ending: Ending): Promise<StoredFile>;
  /** Removes what has arrived of an upload that is not complete. */
  cancel(owner: string, id: string): Promise<StoredFile>;
  /** The latest first. */
  list(owner: string): Promise<StoredFile[]>;
  find(owner: string, id: string): Promise<StoredFile>;
  /** The content, piece by piece. It throws `unavailable` if a piece is missing or was sealed with another key. */
  read(owner: string, id: string): Promise<{ file: StoredFile; content: AsyncIterable<Uint8Array<ArrayBuffer>> }>;
  /** Returns the file that was deleted. */
  delete(owner: string, id: string): Promise<StoredFile>;
  /** For operators: sums the files of each owner, the most bytes first. */
  holdings(): Promise<OwnerHolding[]>;
  readonly bounds: Readonly<Pick<FilesOptions, "bytesPerKey" | "filesPerKey" | "totalBytes">>;
}

/** Loads the code at the first file. Absent where the configuration turns files off. */
export type LoadFiles = () => Promise<Files>;

export interface Piece {
  offset: number;
  content: Uint8Array;
  isLast: boolean;
}

export interface Ending {
  /** The numbers of the pieces in the order of the content. */
  parts: readonly number[];
  /** The digest of the content, in hex. */
  md5?: string;
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
  readonly bounds: Files["bounds"];

  constructor(options: FilesOptions) {
    this.bounds = options;
    this.#options = options;
    this.#records = new FileRecords(options);
  }

  holdings(): Promise<OwnerHolding[]> {
    return this.#records.holdings();
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
    await this.#records.change(owner, (files, waiting) => {
      if (files.length >= filesPerKey) throw full(`You have as many files as one key may have (${filesPerKey})`);
      if (heldBy([...files, entry]) + waiting > bytesPerKey) {
        throw full(`Your files would hold more than one key may store (${bytesPerKey.toLocaleString("en")} bytes)`);
      }
      return [...files, entry];
    });
    if (!await this.#records.fits(owner)) {
      await this.#remove(owner, id);
      throw new GatewayError("unavailable", "The files of all keys take all the space that the gateway has for them", {
        reason: "storage_quota_exceeded",
        retryable: false,
      });
    }
    return await this.#fileOf(owner, entry);
  }

  async append(owner: string, id: string, { offset, content, isLast }: Piece): Promise<Progress> {
    const check = (entry: Entry) => {
      const received = sum(entry.parts);
      if (offset !== received) throw badOffset(offset, received);
      if (isLast && received + content.length < entry.bytes) {
        throw new GatewayError("invalid_request", `The file is shorter than declared (${entry.bytes} bytes)`);
      }
    };
    // Its number is not used again: what was written of it may be removed later.
    const withoutIt = (parts: readonly number[], part: number) => parts.map((bytes, at) => at >= part ? 0 : bytes);
    const part = await this.#write(owner, id, content, { check, withoutIt });
    const entry = await this.#settle(owner, id, { part, content, isLast });
    return { file: await this.#fileOf(owner, entry), received: sum(entry.parts), isComplete: isLast };
  }

  async add(owner: string, id: string, content: Uint8Array): Promise<{ file: StoredFile; part: number }> {
    if (content.length === 0) throw new GatewayError("invalid_request", "The part is empty", { param: "data" });
    const withoutIt = (parts: readonly number[], part: number) => parts.map((bytes, at) => at === part ? 0 : bytes);
    const part = await this.#write(owner, id, content, { check() {}, withoutIt });
    const entry = await this.#settle(owner, id, { part, content, isLast: false });
    return { file: await this.#fileOf(owner, entry), part };
  }

  /** Writes a piece of an upload. Returns its number. */
  async #write(owner: string, id: string, content: Uint8Array, { check, withoutIt }: Writing): Promise<number> {
    const { contents } = this.#options;
    let part = 0;
    const { expires = Infinity } = await this.#update(owner, id, (entry) => {
      checkPending(entry);
      check(entry);
      if (sum(entry.parts) + content.length > entry.bytes) {
        throw new GatewayError("invalid_request", `The file is longer than declared (${entry.bytes} bytes)`);
      }
      part = entry.parts.length;
      if (part >= MOST_PARTS) throw new GatewayError("invalid_request", `Expected ${MOST_PARTS} pieces at most`);
      // It is listed before it is written, so that whoever removes the file finds all of it.
      return content.length > 0 ? { ...entry, parts: [...entry.parts, content.length] } : entry;
    });
    try {
      if (content.length > 0) await contents.write({ owner, id, part }, content, expires);
      return part;
    } catch (failure) {
      // The client may send the piece again.
      const change = (entry: Entry) => ({ ...entry, parts: withoutIt(entry.parts, part), isPending: true });
      await this.#update(owner, id, change).catch(() => {});
      await this.#records.discard(owner, id, part, content.length).catch(() => {});
      throw failure;
    }
  }

  async complete(owner: string, id: string, { parts: order, md5 }: Ending): Promise<StoredFile> {
    const found = (await this.#records.read(owner)).find((one) => one.id === id);
    if (!found) throw notFound();
    checkOrder(found, order);
    if (md5 !== undefined && await this.#digestOf(owner, { ...found, order: [...order] }) !== md5.toLowerCase()) {
      throw new GatewayError("invalid_request", "The content has another MD5 digest", { param: "md5" });
    }
    const entry = await this.#update(owner, id, (entry) => {
      checkOrder(entry, order);
      const { isPending: _, ...complete } = entry;
      return { ...complete, order: [...order] };
    });
    return await this.#fileOf(owner, entry);
  }

  async #digestOf(owner: string, entry: Entry): Promise<string> {
    const hash = builtin("node:crypto").createHash("md5");
    for await (const piece of this.#contentOf(owner, entry)) hash.update(piece);
    return hash.digest("hex");
  }

  async cancel(owner: string, id: string): Promise<StoredFile> {
    let cancelled: Entry | undefined;
    await this.#records.change(owner, (files) => {
      cancelled = files.find((one) => one.id === id);
      if (!cancelled) throw notFound();
      checkPending(cancelled);
      return files.filter((one) => one !== cancelled);
    });
    await this.#records.report(owner);
    return await this.#fileOf(owner, cancelled!);
  }

  /** Completes the file after its last piece. What was written of a file that was deleted meanwhile would stay for good. */
  async #settle(owner: string, id: string, { part, content, isLast }: Omit<Piece, "offset"> & { part: number }) {
    try {
      return await this.#update(owner, id, (entry) => {
        if (content.length > 0 && !entry.parts[part]) throw lostPiece();
        const { isPending: _, ...complete } = entry;
        return isLast ? complete : entry;
      });
    } catch (failure) {
      const { code } = toGatewayError(failure);
      if (code === "not_found" || code === "invalid_request") {
        await this.#records.discard(owner, id, part, content.length);
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
    const entry = await this.#entry(owner, id);
    return { file: await this.#fileOf(owner, entry), content: this.#contentOf(owner, entry) };
  }

  async *#contentOf(owner: string, { id, parts, order = [...parts.keys()] }: Entry) {
    for (const part of order) yield* this.#options.contents.read({ owner, id, part }, parts[part]!);
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

  async #fileOf(
    owner: string,
    { sealedName, parts: _, order: __, isPending: ___, ...facts }: Entry,
  ): Promise<StoredFile> {
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
    await this.#records.change(owner, (files) => files.filter((one) => one.id !== id));
    await this.#records.report(owner);
  }
}

/** How a piece is checked against what has arrived, and what is left if it cannot be written. */
interface Writing {
  check(entry: Entry): void;
  withoutIt(parts: readonly number[], part: number): number[];
}
