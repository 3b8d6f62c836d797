/** A store in a file of SQLite, for runtimes that have `node:sqlite` and no database of their own. */
import type { DatabaseSync, StatementSync } from "node:sqlite";
import { builtin } from "../util/builtin.ts";
import { retryLocked, shareOpening } from "./kv_store.ts";
import { AS_JSON, type Form } from "./kv_values.ts";
import { type DatabaseFile, databaseFile, prepareFile } from "./kv_file.ts";
import type { Renewal, Store, StoreEntry, StoreKey } from "./store.ts";

/** Marks files of this format. SQLite keeps the number in the file's head. */
const FORMAT = 0x4c616e31;
/** How many expired entries each write removes at most: a write stays short, and the file does not grow without end. */
const REMOVED_AT_ONCE = 200;
/** The position of entries that are in no list. */
const NO_POSITION = -1;

const SCHEMA = `
  PRAGMA application_id = ${FORMAT};
  CREATE TABLE entries (
    key TEXT NOT NULL, position INTEGER NOT NULL, value BLOB NOT NULL, expires INTEGER NOT NULL, PRIMARY KEY (key, position)
  ) STRICT;
  CREATE INDEX entries_expires ON entries (expires);
`;

const STATEMENTS = {
  get: "SELECT value FROM entries WHERE key = ? AND position = ? AND expires > ?",
  range: "SELECT position, value FROM entries WHERE key = ? AND position BETWEEN ? AND ? AND expires > ?",
  put: "INSERT OR REPLACE INTO entries (key, position, value, expires) VALUES (?, ?, ?, ?)",
  renew: "UPDATE entries SET expires = ? WHERE key = ? AND position = ? AND expires > ? AND expires < ?",
  remove: "DELETE FROM entries WHERE key = ? AND position = ?",
  removeExpired: `DELETE FROM entries WHERE rowid IN
    (SELECT rowid FROM entries WHERE expires <= ? LIMIT ${REMOVED_AT_ONCE})`,
} as const;

type Statements = Record<keyof typeof STATEMENTS, StatementSync>;

interface Opened extends Statements {
  transact<T>(work: () => T): T;
  close(): void;
}

export interface SqliteStoreOptions extends DatabaseFile<Opened> {
  /** Called when the file is gone, and its content is lost. */
  onLost?(): void;
  /** Milliseconds since the epoch. */
  now(): number;
  /** The encoding of values. JSON by default. */
  form?: Form;
}

/** The file at `path`. It is opened at the first use, and its owner alone can read it. */
export function sqliteFile(path: string): DatabaseFile<Opened> {
  return databaseFile(path, openSqlite);
}

/**
 * A store in a file that several processes may use at once. Each call is one transaction, so a process that dies at any moment
 * leaves all of its changes or none. SQLite writes them to the log before a call resolves, and leaves it to the system when
 * the log is on the disk: only a loss of power may take the latest changes.
 */
export function createSqliteStore(options: SqliteStoreOptions): Store {
  return new SqliteStore(options);
}

class SqliteStore implements Store {
  readonly #now: () => number;
  readonly #form: Form;
  readonly #database: () => Promise<Opened>;
  readonly close: () => void;

  constructor({ now, form = AS_JSON, ...file }: SqliteStoreOptions) {
    this.#now = now;
    this.#form = form;
    const { database, close } = shareOpening(file);
    this.#database = database;
    this.close = close;
  }

  async get(key: StoreKey): Promise<unknown> {
    const db = await this.#database();
    return await retryLocked(() => this.#read(db, key));
  }

  async getRange(list: StoreKey, from: number, to: number): Promise<unknown[]> {
    const db = await this.#database();
    const values = new Array<unknown>(to - from + 1).fill(undefined);
    const rows = await retryLocked(() => db.range.all(JSON.stringify(list), from, to, this.#now()));
    for (const { position, value } of rows) values[position as number - from] = this.#valueOf(value);
    return values;
  }

  async add(entries: readonly StoreEntry[], expiresAt: number, renewal?: Renewal): Promise<boolean> {
    const values = entries.map(([key, value]) => [key, this.#form.toBytes(value)] as const);
    return await this.#write((db) => {
      for (const key of renewal?.keys ?? []) {
        const expires = expiryOf(renewal!.expiresAt);
        db.renew.run(expires, ...placeOf(key), this.#now(), expires);
      }
      if (values.some(([key]) => this.#isThere(db, key))) return false;
      for (const [key, value] of values) put(db, key, value, expiresAt);
      return true;
    });
  }

  async ensure(key: StoreKey, value: unknown): Promise<unknown> {
    return await this.#write((db) => {
      const found = this.#read(db, key);
      if (found !== undefined) return found;
      const bytes = this.#form.toBytes(value);
      put(db, key, bytes, Infinity);
      return this.#valueOf(bytes);
    });
  }

  async update(key: StoreKey, change: Parameters<Store["update"]>[1]): Promise<void> {
    await this.#write((db) => put(db, key, this.#form.toBytes(change(this.#read(db, key))), Infinity));
  }

  async delete(...keys: StoreKey[]): Promise<boolean> {
    return await this.#write((db) => {
      const [first] = keys;
      if (first === undefined || !this.#isThere(db, first)) return false;
      for (const key of keys) db.remove.run(...placeOf(key));
      return true;
    });
  }

  async #write<T>(work: (db: Opened) => T): Promise<T> {
    const db = await this.#database();
    return await retryLocked(() =>
      db.transact(() => {
        db.removeExpired.run(this.#now());
        return work(db);
      })
    );
  }

  #isThere(db: Opened, key: StoreKey): boolean {
    return db.get.get(...placeOf(key), this.#now()) !== undefined;
  }

  #read(db: Opened, key: StoreKey): unknown {
    const row = db.get.get(...placeOf(key), this.#now());
    return row && this.#valueOf(row.value);
  }

  #valueOf(bytes: unknown): unknown {
    return this.#form.fromBytes(bytes as Uint8Array<ArrayBuffer>);
  }
}

function put(db: Opened, key: StoreKey, value: Uint8Array, expiresAt: number): void {
  db.put.run(...placeOf(key), value, expiryOf(expiresAt));
}

/** The column takes whole numbers alone. */
function expiryOf(expiresAt: number): number {
  return Math.min(Math.ceil(expiresAt), Number.MAX_SAFE_INTEGER);
}

/** Calls `work` as one transaction that sees and keeps off all other writes. */
function transact<T>(db: DatabaseSync, work: () => T): T {
  db.exec("BEGIN IMMEDIATE");
  try {
    const result = work();
    db.exec("COMMIT");
    return result;
  } catch (error) {
    // After a failure such as a full disk, SQLite has ended the transaction itself.
    if (db.isTransaction) db.exec("ROLLBACK");
    throw error;
  }
}

/** The columns that name a key. JSON tells all keys apart, those with unpaired surrogates and zero bytes, too. */
function placeOf(key: StoreKey): [key: string, position: number] {
  const position = key.at(-1);
  return typeof position === "number"
    ? [JSON.stringify(key.slice(0, -1)), position]
    : [JSON.stringify(key), NO_POSITION];
}

async function openSqlite(file: string): Promise<Opened> {
  await prepareFile(file);
  const { DatabaseSync } = builtin("node:sqlite");
  const db = new DatabaseSync(file);
  try {
    await retryLocked(() => {
      readFormat(db, file);
      // The read creates the log, by which a file that somebody replaces is recognized.
      db.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; SELECT 1 FROM entries LIMIT 1");
    });
    const statements = Object.entries(STATEMENTS).map(([name, sql]) => [name, db.prepare(sql)]);
    return {
      ...Object.fromEntries(statements) as Statements,
      transact: (work) => transact(db, work),
      close: () => db.close(),
    };
  } catch (error) {
    db.close();
    throw error;
  }
}

/** Makes the table in an empty file. Throws if something else is in it. */
function readFormat(db: DatabaseSync, file: string): void {
  const formatOf = () => db.prepare("PRAGMA application_id").get()?.application_id;
  if (formatOf() === FORMAT) return;
  transact(db, () => {
    // Another process may have made it meanwhile.
    if (formatOf() === FORMAT) return;
    if (db.prepare("SELECT name FROM sqlite_schema LIMIT 1").get()) {
      throw new Error(
        `${file} is a database of another program or of the gateway on another runtime: set "store.path"`,
      );
    }
    db.exec(SCHEMA);
  });
}
