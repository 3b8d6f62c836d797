/**
 * Closes what Node's permission model leaves open, before any other module is loaded: SQLite opens files whatever the permissions
 * are, and every process may send signals to others.
 */
import { resolve } from "node:path";
import { syncBuiltinESMExports } from "node:module";
import process from "node:process";

/** SQLite's code for attaching another file. `VACUUM INTO` attaches one, too. */
const ATTACH = 24;
const [OK, DENY] = [0, 1];

interface Database {
  setAuthorizer(decide: (action: number) => number): void;
}

if (process.permission) {
  lockSqlite();
  lockSignals();
}

function lockSqlite(): void {
  // Without it, Node was told to have none.
  const sqlite = process.getBuiltinModule("node:sqlite") as Record<string, unknown> | undefined;
  if (!sqlite) return;
  const Whole = sqlite.DatabaseSync as new (...args: unknown[]) => Database;
  const authorize = Whole.prototype.setAuthorizer;
  const Confined = new Proxy(Whole, {
    construct(target, args, made) {
      const path = String(args[0]);
      if (path !== ":memory:" && path !== "") {
        const file = resolve(path.startsWith("file:") ? "/" : path);
        for (const scope of ["fs.read", "fs.write"]) {
          if (!process.permission.has(scope, file)) throw denied(file);
        }
      }
      const database: Database = Reflect.construct(target, args.with(0, path), made);
      authorize.call(database, (action: number) => action === ATTACH ? DENY : OK);
      return database;
    },
  });
  Object.defineProperty(Whole.prototype, "constructor", { value: Confined });
  delete (Whole.prototype as Partial<Database>).setAuthorizer;
  sqlite.DatabaseSync = Confined;
  delete sqlite.backup;
  syncBuiltinESMExports();
}

function lockSignals(): void {
  for (const name of ["kill", "_kill", "_debugProcess"]) {
    Object.defineProperty(process, name, { value: refuse, configurable: false, writable: false });
  }
}

function refuse(): never {
  throw denied("another process");
}

function denied(resource: string): Error {
  return Object.assign(new Error("Access to this API has been restricted"), { code: "ERR_ACCESS_DENIED", resource });
}
