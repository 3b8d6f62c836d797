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

/** Opens a database in a file. What it makes on the way only the owner can read, because prompts are kept in it. */
export async function openKvFile(path: string): Promise<Deno.Kv> {
  const { dirname, resolve } = builtin("node:path");
  const file = resolve(path);
  try {
    await createPrivate(file);
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
    // Only where there is none: in a folder that is there this process may be allowed no more than its own files.
    await Deno.mkdir(dirname(file), { recursive: true, mode: 0o700 });
    await createPrivate(file);
  }
  // Files that the database makes beside this one get its mode; those of an earlier run may still have another.
  for (const name of [file, `${file}-wal`, `${file}-shm`]) await makePrivate(name);
  return await Deno.openKv(file);
}

async function createPrivate(file: string): Promise<void> {
  try {
    // Only where there is none: to close a file that the database has open in this process would end its locks.
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
