/** Files of the user's: read as they are, and replaced as a whole or not at all. */
import { builtin } from "../../util/builtin.ts";
import { FormatError } from "./formats/format.ts";
import { BESIDE } from "./permissions.ts";

export interface FoundFile {
  /** Where it really is: a link is followed. */
  path: string;
  /** With its byte order mark, where it has one. */
  text: string;
  mode: number;
}

/** A new file may hold a key. */
const OWN_MODE = 0o600;

/** Nothing where there is no such file. Throws `FormatError` where it is there and is no text. */
export function readFile(path: string): FoundFile | undefined {
  const { readFileSync, realpathSync, statSync } = builtin("node:fs");
  let real: string;
  try {
    real = realpathSync(path);
  } catch (error) {
    if ((error as { code?: string }).code === "ENOENT") return undefined;
    throw error;
  }
  try {
    const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(readFileSync(real));
    return { path: real, text, mode: statSync(real).mode & 0o777 };
  } catch (error) {
    if (error instanceof TypeError) throw new FormatError(`${path}: not UTF-8 text`);
    throw error;
  }
}

/** Puts the text in the file's place at once. Returns the folders that it had to make, the outermost first. */
export function writeFile(path: string, text: string, mode = OWN_MODE): string[] {
  const { chmodSync, closeSync, fsyncSync, openSync, renameSync, rmSync, writeFileSync } = builtin("node:fs");
  const folders = makeFolders(builtin("node:path").dirname(path));
  const beside = `${path}${BESIDE}`;
  removeLeftOver(beside);
  const file = openSync(beside, "wx", mode);
  try {
    try {
      writeFileSync(file, text);
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
    chmodSync(beside, mode);
    renameSync(beside, path);
  } catch (error) {
    rmSync(beside, { force: true });
    throw error;
  }
  return folders;
}

/** How long a file beside another is that of somebody who writes it, in milliseconds. */
const WRITING_MS = 10_000;

/** Throws `FormatError` where another command writes the file at this moment. */
function removeLeftOver(beside: string): void {
  const { rmSync, statSync } = builtin("node:fs");
  const found = statSync(beside, { throwIfNoEntry: false });
  if (!found) return;
  if (Math.abs(Date.now() - found.mtimeMs) < WRITING_MS) {
    throw new FormatError(`Another command is writing ${beside}: try again in ${WRITING_MS / 1000} seconds`);
  }
  rmSync(beside, { force: true });
}

function makeFolders(folder: string): string[] {
  const { existsSync, mkdirSync } = builtin("node:fs");
  const { dirname } = builtin("node:path");
  const made: string[] = [];
  for (let at = folder; !existsSync(at); at = dirname(at)) made.unshift(at);
  for (const one of made) mkdirSync(one, { mode: 0o700 });
  return made;
}

/** Removes the file, and those of the folders that are empty then. */
export function removeFile(path: string, folders: readonly string[]): void {
  const { readdirSync, rmdirSync, rmSync } = builtin("node:fs");
  rmSync(path, { force: true });
  for (const folder of [...folders].reverse()) {
    try {
      if (readdirSync(folder).length > 0) return;
      rmdirSync(folder);
    } catch {
      return; // it is gone, or somebody uses it
    }
  }
}
