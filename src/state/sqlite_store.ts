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
  exec(sql: string): void;
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
  const { now, form = AS_JSON } = options;
  const { database, close } = shareOpening(options);

  /** Runs `work` as one transaction that sees and keeps off all other writes. */
  const write = async <T>(work: (db: Opened) => T): Promise<T> => {
    const db = await database();
    return await retryLocked(() => {
      db.exec("BEGIN IMMEDIATE");
      try {
        db.removeExpired.run(now());
        const result = work(db);
        db.exec("COMMIT");
        return result;
      } catch (error) {
        db.exec("ROLLBACK");
        throw error;
      }
    });
  };
  const read = (db: Opened, key: StoreKey): unknown => {
    const row = db.get.get(...placeOf(key), now());
    return row && form.fromBytes(row.value as Uint8Array<ArrayBuffer>);
  };
  const put = (db: Opened, key: StoreKey, value: Uint8Array, expiresAt: number) =>
    void db.put.run(...placeOf(key), value, Math.min(Math.ceil(expiresAt), Number.MAX_SAFE_INTEGER));

  return {
    async get(key) {
      const db = await database();
      return await retryLocked(() => read(db, key));
    },
    async getRange(list, from, to) {
      const db = await database();
      const values = new Array<unknown>(to - from + 1).fill(undefined);
      const rows = await retryLocked(() => db.range.all(JSON.stringify(list), from, to, now()));
      for (const { position, value } of rows) {
        values[position as number - from] = form.fromBytes(value as Uint8Array<ArrayBuffer>);
      }
      return values;
    },
    async add(entries: readonly StoreEntry[], expiresAt: number, renewal?: Renewal) {
      const values = entries.map(([key, value]) => [key, form.toBytes(value)] as const);
      return await write((db) => {
        for (const key of renewal?.keys ?? []) {
          db.renew.run(renewal!.expiresAt, ...placeOf(key), now(), renewal!.expiresAt);
        }
        if (values.some(([key]) => db.get.get(...placeOf(key), now()))) return false;
        for (const [key, value] of values) put(db, key, value, expiresAt);
        return true;
      });
    },
    async ensure(key, value) {
      return await write((db) => {
        const found = read(db, key);
        if (found !== undefined) return found;
        const bytes = form.toBytes(value);
        put(db, key, bytes, Infinity);
        return form.fromBytes(bytes as Uint8Array<ArrayBuffer>);
      });
    },
    async update(key, change) {
      await write((db) => put(db, key, form.toBytes(change(read(db, key))), Infinity));
    },
    async delete(...keys) {
      return await write((db) => {
        const [first] = keys;
        if (first === undefined || !db.get.get(...placeOf(first), now())) return false;
        for (const key of keys) db.remove.run(...placeOf(key));
        return true;
      });
    },
    close,
  };
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
      exec: (sql) => db.exec(sql),
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
  db.exec("BEGIN IMMEDIATE");
  try {
    // Another process may have made it meanwhile.
    if (formatOf() !== FORMAT) {
      if (db.prepare("SELECT name FROM sqlite_schema LIMIT 1").get()) {
        throw new Error(
          `${file} is a database of another program or of the gateway on another runtime: set "store.path"`,
        );
      }
      db.exec(SCHEMA);
    }
    db.exec("COMMIT");
  } catch (error) {
    db.exec("ROLLBACK");
    throw error;
  }
}
