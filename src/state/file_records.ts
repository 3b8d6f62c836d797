/** The records of who has which files, in the store: one for each owner, and one for the bytes of all. */
import { type StoredFile, UPLOAD_MS } from "../canonical/files.ts";
import { GatewayError } from "../errors.ts";
import type { FileContents } from "./file_contents.ts";
import type { Store, StoreKey } from "./store.ts";
import { withStoreTimeout } from "./store_timeout.ts";
import { updateInTurn } from "./update_turns.ts";

/** A file in its owner's record. Its name is sealed, because names say much. */
export interface Entry extends Omit<StoredFile, "name"> {
  sealedName: string;
  /** The bytes of each part, in the order in which they came. */
  parts: number[];
  /** The numbers of the parts in the order of the content. Absent: as they came. */
  order?: number[];
  /** Whether pieces are still missing. `bytes` is then what was declared. */
  isPending?: boolean;
}

interface OwnerRecord {
  version: number;
  files: Entry[];
  /** Parts of files that are gone, until their contents are. */
  removed?: RemovedParts[];
}

/** No longer than in the file's entry: a full record could not be written with more, and nothing of it be removed. */
interface RemovedParts {
  id: string;
  /** The number of the first one. */
  first: number;
  /** The bytes of each. */
  parts: number[];
}

/**
 * The bytes of an owner, when the first of its files expires, in milliseconds since the epoch, and how many files there are.
 * Uploads that are not complete count, too.
 */
type Holding = [bytes: number, expires: number, files: number];

/** The sums of an owner's files, with those that have expired since the last change. */
export interface OwnerHolding {
  owner: string;
  bytes: number;
  files: number;
}

interface Totals {
  version: number;
  owners: Record<string, Holding>;
}

/** The version of the record format. A reader ignores fields that it does not know. */
const VERSION = 1;
/** How often a process looks for owners of which something is to be removed, in milliseconds. */
const SWEEP_MS = 3_600_000;
/** How many of them it looks after at once. */
const SWEPT = 100;
/** The bytes that each file counts in addition to its own: a million empty files are no small thing. */
const BESIDE = 4_000;
const TOTALS: StoreKey = ["file totals"];

export interface FileRecordsOptions {
  store: Store;
  contents: FileContents;
  /** The most that all files together may come to, in bytes. */
  totalBytes: number;
  /** Milliseconds since the epoch. */
  now(): number;
  /** How long the store may take, in milliseconds: a client waits for it. */
  patienceMs: number;
}

export class FileRecords {
  readonly #options: FileRecordsOptions;
  readonly #update: Store["update"];
  #sweptAt = -Infinity;

  constructor(options: FileRecordsOptions) {
    this.#options = options;
    const update = updateInTurn(options.store, options.patienceMs);
    this.#update = (key, change) => known(update(key, change));
  }

  async read(owner: string): Promise<Entry[]> {
    const record = await this.#recordOf(owner);
    // Afterwards, so that its owner still learns that a file has expired.
    await this.#sweep();
    return record?.files ?? [];
  }

  async #recordOf(owner: string): Promise<OwnerRecord | undefined> {
    return await this.#ask(this.#options.store.get(recordKey(owner))) as OwnerRecord | undefined;
  }

  /** Removes what has expired, and what could not be removed before, of owners that may never come back. */
  async #sweep(): Promise<void> {
    const now = this.#options.now();
    if (now - this.#sweptAt < SWEEP_MS) return;
    this.#sweptAt = now;
    try {
      const totals = await this.#options.store.get(TOTALS) as Totals | undefined;
      for (const owner of this.#staleIn(totals).slice(0, SWEPT)) await this.#tidy(owner);
    } catch {
      // The next one tries again.
    }
  }

  #staleIn(totals: Totals | undefined): string[] {
    const now = this.#options.now();
    return Object.entries(totals?.owners ?? {}).filter(([, [, expires]]) => expires <= now).map(([owner]) => owner);
  }

  async #tidy(owner: string): Promise<void> {
    await this.change(owner, (files) => files);
    await this.report(owner);
  }

  /** Sums the files of each owner, the most bytes first. */
  async holdings(): Promise<OwnerHolding[]> {
    const totals = await this.#ask(this.#options.store.get(TOTALS)) as Totals | undefined;
    return Object.entries(totals?.owners ?? {}).map(([owner, [bytes, , files]]) => ({ owner, bytes, files }))
      .toSorted((one, other) => other.bytes - one.bytes);
  }

  isOver({ isPending, created, expires = Infinity }: Entry): boolean {
    return Math.min(expires, isPending ? created + UPLOAD_MS : Infinity) <= this.#options.now();
  }

  /**
   * Changes an owner's list, from which expired files are removed first, and then deletes the contents of all that is no longer
   * in it. `waiting`: the bytes of earlier contents that could not be deleted yet. Returns the rest.
   */
  async change(owner: string, change: (files: Entry[], waiting: number) => Entry[]): Promise<Entry[]> {
    let after: Entry[] = [];
    let removed: RemovedParts[] = [];
    // Thrown after the update: a store may wrap errors that are thrown within it.
    let refusal: unknown;
    await this.#update(recordKey(owner), (value) => {
      const { files: before, removed: waiting = [] } = (value as OwnerRecord | undefined) ?? { files: [] };
      after = before.filter((one) => !this.isOver(one));
      refusal = undefined;
      try {
        after = change(after, bytesOf(waiting));
      } catch (thrown) {
        refusal = thrown;
      }
      const kept = new Set(after.map(({ id }) => id));
      // In the same step, so that a process that ends now leaves nothing that nobody knows of.
      removed = [...waiting, ...before.filter(({ id }) => !kept.has(id)).flatMap(partsOf)];
      return recordOf(after, removed);
    });
    await this.#removeContents(owner, removed);
    if (refusal) {
      if (removed.length > 0) await this.report(owner);
      throw refusal;
    }
    return after;
  }

  /** Deletes the content of a part that is in no list. */
  async discard(owner: string, id: string, part: number, bytes: number): Promise<void> {
    try {
      await this.#options.contents.remove({ owner, id, part }, bytes);
    } catch {
      await this.#update(recordKey(owner), (value) => {
        const { files, removed = [] } = (value as OwnerRecord | undefined) ?? { files: [] };
        return recordOf(files, [...removed, { id, first: part, parts: [bytes] }]);
      });
      await this.report(owner);
    }
  }

  /** Those that cannot be deleted stay in the record, and each later change tries again. */
  async #removeContents(owner: string, removed: readonly RemovedParts[]): Promise<void> {
    const done = new Set<string>();
    for (const { id, first, parts } of removed) {
      try {
        for (const [at, bytes] of parts.entries()) {
          if (bytes > 0) await this.#options.contents.remove({ owner, id, part: first + at }, bytes);
        }
        done.add(`${id} ${first}`);
      } catch {
        // The store or the folder is away.
      }
    }
    if (done.size === 0) return;
    await this.#update(recordKey(owner), (value) => {
      const { files, removed: all = [] } = (value as OwnerRecord | undefined) ?? { files: [] };
      return recordOf(files, all.filter(({ id, first }) => !done.has(`${id} ${first}`)));
    });
  }

  /** Whether all owners' files fit. If they do not, the expired files of others make room first. */
  async fits(owner: string): Promise<boolean> {
    const { totalBytes } = this.#options;
    const first = await this.report(owner, totalBytes);
    const isFull = bytesIn(first) > totalBytes;
    const stale = this.#staleIn(first).filter((other) => other !== owner);
    // Otherwise the files of a key that never comes back would stay. One at a time costs no client much.
    for (const other of isFull ? stale : stale.slice(0, 1)) await this.#tidy(other);
    return !isFull || bytesIn(await this.report(owner, totalBytes)) <= totalBytes;
  }

  /**
   * Updates the totals by what an owner holds now. A record that changed meanwhile is reported again: its own report may have
   * come before this one. Totals above `most` are returned and not written: until the owner gives up what does not fit, it would
   * take the room of others.
   */
  async report(owner: string, most = Infinity): Promise<Totals> {
    for (let held = holdingOf(await this.#recordOf(owner));;) {
      const totals = await this.#write(owner, held, most);
      const now = holdingOf(await this.#recordOf(owner));
      if (isSame(held, now)) return totals;
      held = now;
    }
  }

  async #write(owner: string, held: Holding | undefined, most: number): Promise<Totals> {
    let totals: Totals = { version: VERSION, owners: {} };
    await this.#update(TOTALS, (value) => {
      const { owners } = (value as Totals | undefined) ?? totals;
      const { [owner]: _, ...others } = owners;
      totals = { version: VERSION, owners: held ? { ...others, [owner]: held } : others };
      return bytesIn(totals) > most ? { version: VERSION, owners } : totals;
    });
    return totals;
  }

  #ask<T>(work: Promise<T>): Promise<T> {
    return known(withStoreTimeout(this.#options.patienceMs, work));
  }
}

/** The result of the work. Its failure becomes an error that a client may read. */
async function known<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (cause) {
    if (cause instanceof GatewayError) throw cause;
    throw new GatewayError("unavailable", "The gateway cannot reach its files: try again later", { cause });
  }
}

/** The owner is part of every key, so that no caller reads another's data. */
function recordKey(owner: string): StoreKey {
  return ["files", owner];
}

function recordOf(files: Entry[], removed: RemovedParts[]): OwnerRecord {
  return { version: VERSION, files, ...(removed.length > 0 && { removed }) };
}

function partsOf({ id, parts }: Entry): RemovedParts[] {
  return parts.length > 0 ? [{ id, first: 0, parts }] : [];
}

function bytesOf(removed: readonly RemovedParts[]): number {
  return sum(removed.flatMap(({ parts }) => parts));
}

/** Absent if there is nothing. */
function holdingOf(
  { files, removed = [] }: Pick<OwnerRecord, "files" | "removed"> = { files: [] },
): Holding | undefined {
  if (files.length + removed.length === 0) return undefined;
  const expiries = files.map((one) => one.expires ?? (one.isPending ? one.created + UPLOAD_MS : Infinity));
  // JSON has no infinity. What waits to be removed is due at once.
  const due = removed.length > 0 ? 0 : Math.min(Number.MAX_SAFE_INTEGER, ...expiries);
  return [heldBy(files) + bytesOf(removed), due, files.length];
}

function isSame(one: Holding | undefined, other: Holding | undefined): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

export function heldBy(files: readonly Entry[]): number {
  return files.reduce((all, { bytes }) => all + bytes + BESIDE, 0);
}

function bytesIn({ owners }: Totals): number {
  return sum(Object.values(owners).map(([bytes]) => bytes));
}

export function sum(numbers: readonly number[]): number {
  return numbers.reduce((all, one) => all + one, 0);
}
