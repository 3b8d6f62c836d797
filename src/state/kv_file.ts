import { builtin } from "../util/builtin.ts";

type Env = (name: string) => string | undefined;

/** Whether this runs on Deno Deploy, where `Deno.openKv()` without a path opens the database of the app. */
export function isOnDeploy(env: Env): boolean {
  return Boolean(env("DENO_DEPLOY"));
}

/** Opens the database of the app on Deno Deploy. */
export function openHostedKv(): Promise<Deno.Kv> {
  return Deno.openKv();
}

/** A database in a file. Somebody may remove the file while it is open, and later writes are lost then. */
export interface DatabaseFile<Database> {
  open(): Promise<Database>;
  /** Whether the files are no longer those that were opened. */
  isGone(): Promise<boolean>;
}

export function kvFile(path: string): DatabaseFile<Deno.Kv> {
  return databaseFile(path, openKvFile);
}

/** The file at `path`, which `openFile` opens. */
export function databaseFile<Database>(
  path: string,
  openFile: (file: string) => Promise<Database>,
): DatabaseFile<Database> {
  let file = path;
  let opened: Identity[] = [];
  return {
    async open() {
      file = builtin("node:path").resolve(path);
      await removeLeft(file, opened);
      const database = await openFile(file);
      opened = await identitiesOf(file);
      return database;
    },
    async isGone() {
      if (opened.length === 0) return false;
      const [main, log] = await identitiesOf(file);
      return main !== opened[0] || log !== opened[1];
    },
  };
}

/** The message for operators if the store's file is no longer the one that was opened. */
export function fileLost(path: string): string {
  return `The store's file ${path} was removed or replaced while the gateway ran: ` +
    "what was in it is lost to the gateway, and it goes on with the file that is there now";
}

/** The device and inode of a file. Absent if there is no file. */
type Identity = string | undefined;

/** The identities of the file, and of the log and the index beside it. A database without its log loses what is written. */
async function identitiesOf(file: string): Promise<Identity[]> {
  const { stat } = builtin("node:fs/promises");
  return await Promise.all(
    namesOf(file).map(async (name) => {
      const facts = await unless("ENOENT", () => stat(name));
      return facts && `${facts.dev}:${facts.ino}`;
    }),
  );
}

/** Removes the log and the index of a database whose file is gone: the next database would take them for its own. */
async function removeLeft(file: string, left: readonly Identity[]): Promise<void> {
  if (left.length === 0) return;
  const there = await identitiesOf(file);
  if (there[0] === left[0]) return;
  const { rm } = builtin("node:fs/promises");
  for (const [index, name] of namesOf(file).entries()) {
    if (there[index] !== undefined && there[index] === left[index]) await rm(name);
  }
}

function namesOf(file: string): string[] {
  return [file, `${file}-wal`, `${file}-shm`];
}

/** Opens a database in a file. */
export async function openKvFile(path: string): Promise<Deno.Kv> {
  const file = builtin("node:path").resolve(path);
  await prepareFile(file);
  return await Deno.openKv(file);
}

/** Only the owner can read the files and folders that this creates, because they hold prompts. */
export async function prepareFile(file: string): Promise<void> {
  const { mkdir } = builtin("node:fs/promises");
  try {
    await createPrivate(file);
  } catch (error) {
    if (codeOf(error) !== "ENOENT") throw error;
    // Only if the folder is missing: in an existing one, this process may be allowed no more than its own files.
    await mkdir(builtin("node:path").dirname(file), { recursive: true, mode: 0o700 });
    await createPrivate(file);
  }
  // Files that the database creates beside this one get its mode. Those of an earlier run may still have another.
  for (const name of namesOf(file)) await unless("ENOENT", () => makePrivate(name));
}

async function createPrivate(file: string): Promise<void> {
  const { open } = builtin("node:fs/promises");
  // Only if the file is missing: closing a file that the database has open in this process would end its locks.
  await unless("EEXIST", async () => await (await open(file, "wx", 0o600)).close());
}

async function makePrivate(file: string): Promise<void> {
  const { chmod, stat } = builtin("node:fs/promises");
  const { mode } = await stat(file);
  if (process.platform !== "win32" && (mode & 0o077) !== 0) await chmod(file, mode & 0o700);
}

/** The result, or nothing if it fails with the code. */
async function unless<T>(code: string, run: () => Promise<T>): Promise<T | undefined> {
  try {
    return await run();
  } catch (error) {
    if (codeOf(error) !== code) throw error;
    return undefined;
  }
}

function codeOf(error: unknown): unknown {
  return (error as { code?: unknown }).code;
}
