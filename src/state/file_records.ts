/** The records of who has which files, in the store: one for each owner, and one for the bytes of all. */
import { type StoredFile, UPLOAD_MS } from "../canonical/files.ts";
import { GatewayError } from "../errors.ts";
import type { FileContents } from "./file_contents.ts";
import type { Store, StoreKey } from "./store.ts";
import { withStoreTimeout } from "./store_timeout.ts";

/** A file in its owner's record. Its name is sealed, because names say much. */
export interface Entry extends Omit<StoredFile, "name"> {
  sealedName: string;
  /** The bytes of each part, in the order in which they came. */
  parts: number[];
  /** The numbers of the parts in the order of the content, if that is another. */
  order?: number[];
  /** Whether pieces are still missing. `bytes` is then what was declared. */
  isPending?: boolean;
}

interface OwnerRecord {
  version: number;
  files: Entry[];
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

  constructor(options: FileRecordsOptions) {
    this.#options = options;
  }

  async read(owner: string): Promise<Entry[]> {
    const record = await this.#ask(this.#options.store.get(recordKey(owner)));
    return (record as OwnerRecord | undefined)?.files ?? [];
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
   * in it. Returns the rest.
   */
  async change(owner: string, change: (files: Entry[]) => Entry[]): Promise<Entry[]> {
    let before: Entry[] = [];
    let after: Entry[] = [];
    // Thrown after the update: a store may wrap errors that are thrown within it.
    let refusal: unknown;
    const { store } = this.#options;
    await this.#ask(store.update(recordKey(owner), (value) => {
      before = (value as OwnerRecord | undefined)?.files ?? [];
      after = before.filter((one) => !this.isOver(one));
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
      if (gone.length > 0) await this.report(owner, after);
      throw refusal;
    }
    return after;
  }

  /** Whether all owners' files fit. If they do not, the expired files of others make room first. */
  async fits(owner: string, files: readonly Entry[]): Promise<boolean> {
    const { totalBytes, now } = this.#options;
    const first = await this.report(owner, files);
    const isFull = bytesIn(first) > totalBytes;
    const stale = Object.entries(first.owners).filter(([other, [, expires]]) => other !== owner && expires <= now());
    // Otherwise the files of a key that never comes back would stay. One at a time costs no client much.
    for (const [other] of isFull ? stale : stale.slice(0, 1)) {
      await this.report(other, await this.change(other, (kept) => kept));
    }
    if (!isFull) return true;
    return bytesIn(await this.report(owner, files)) <= totalBytes;
  }

  /**
   * Updates the totals by what an owner holds now, first according to `files`. A list that changed meanwhile is reported again:
   * its own report may have come before this one.
   */
  async report(owner: string, files: readonly Entry[]): Promise<Totals> {
    for (let held = holdingOf(files);;) {
      const totals = await this.#write(owner, held);
      const now = holdingOf(await this.read(owner));
      if (isSame(held, now)) return totals;
      held = now;
    }
  }

  async #write(owner: string, held: Holding | undefined): Promise<Totals> {
    let totals: Totals = { version: VERSION, owners: {} };
    await this.#ask(this.#options.store.update(TOTALS, (value) => {
      const { [owner]: _, ...others } = (value as Totals | undefined)?.owners ?? {};
      return totals = { version: VERSION, owners: held ? { ...others, [owner]: held } : others };
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

/** Absent if there are no files. */
function holdingOf(files: readonly Entry[]): Holding | undefined {
  if (files.length === 0) return undefined;
  const expiries = files.map((one) => one.expires ?? (one.isPending ? one.created + UPLOAD_MS : Infinity));
  // JSON has no infinity.
  return [heldBy(files), Math.min(Number.MAX_SAFE_INTEGER, ...expiries), files.length];
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
