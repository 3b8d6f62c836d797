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
export interface KvFile {
  open(): Promise<Deno.Kv>;
  /** Whether the files are no longer those that were opened. */
  isGone(): Promise<boolean>;
}

export function kvFile(path: string): KvFile {
  let file = path;
  let opened: Identity[] = [];
  return {
    async open() {
      file = builtin("node:path").resolve(path);
      await removeLeft(file, opened);
      const kv = await openKvFile(file);
      opened = await identitiesOf(file);
      return kv;
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
  return await Promise.all(
    namesOf(file).map(async (name) => {
      try {
        const { dev, ino } = await Deno.stat(name);
        return `${dev}:${ino}`;
      } catch (error) {
        if (error instanceof Deno.errors.NotFound) return undefined;
        throw error;
      }
    }),
  );
}

/** Removes the log and the index of a database whose file is gone: the next database would take them for its own. */
async function removeLeft(file: string, left: readonly Identity[]): Promise<void> {
  if (left.length === 0) return;
  const there = await identitiesOf(file);
  if (there[0] === left[0]) return;
  for (const [index, name] of namesOf(file).entries()) {
    if (there[index] !== undefined && there[index] === left[index]) await Deno.remove(name);
  }
}

function namesOf(file: string): string[] {
  return [file, `${file}-wal`, `${file}-shm`];
}

/** Opens a database in a file. Only the owner can read the files and folders that it creates, because they hold prompts. */
export async function openKvFile(path: string): Promise<Deno.Kv> {
  const { dirname, resolve } = builtin("node:path");
  const file = resolve(path);
  try {
    await createPrivate(file);
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
    // Only if the folder is missing: in an existing one, this process may be allowed no more than its own files.
    await Deno.mkdir(dirname(file), { recursive: true, mode: 0o700 });
    await createPrivate(file);
  }
  // Files that the database creates beside this one get its mode. Those of an earlier run may still have another.
  for (const name of namesOf(file)) await makePrivate(name);
  return await Deno.openKv(file);
}

async function createPrivate(file: string): Promise<void> {
  try {
    // Only if the file is missing: closing a file that the database has open in this process would end its locks.
    (await Deno.open(file, { write: true, createNew: true, mode: 0o600 })).close();
  } catch (error) {
    if (!(error instanceof Deno.errors.AlreadyExists)) throw error;
  }
}

async function makePrivate(file: string): Promise<void> {
  try {
    const { mode } = await Deno.stat(file);
    if (mode !== null && (mode & 0o077) !== 0) await Deno.chmod(file, mode & 0o700);
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
}
