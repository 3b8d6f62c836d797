/** Reads the user's files unchanged, and replaces them atomically. */
import { builtin } from "../../util/builtin.ts";
import { DraftTakenError, writeDraft } from "../../util/draft.ts";
import { FormatError } from "./formats/format.ts";
import { BESIDE } from "./permissions.ts";

export interface FoundFile {
  /** The real path, with links resolved. */
  path: string;
  /** The text, including a byte order mark. */
  text: string;
  mode: number;
}

/** The mode of a new file, which may hold a key. */
const OWN_MODE = 0o600;

/** Absent if there is no such file. Throws `FormatError` if it is not a text. */
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

/** Replaces the file atomically. Returns the folders that were created for it, the outermost first. */
export function writeFile(path: string, text: string, mode = OWN_MODE): string[] {
  const { renameSync, rmSync } = builtin("node:fs");
  const folders = makeFolders(builtin("node:path").dirname(path));
  const draft = `${path}${BESIDE}`;
  try {
    writeDraft(draft, text, mode);
  } catch (error) {
    throw error instanceof DraftTakenError ? new FormatError(error.message) : error;
  }
  try {
    renameSync(draft, path);
  } catch (error) {
    rmSync(draft, { force: true });
    throw error;
  }
  return folders;
}

function makeFolders(folder: string): string[] {
  const { existsSync, mkdirSync } = builtin("node:fs");
  const { dirname } = builtin("node:path");
  const made: string[] = [];
  for (let at = folder; !existsSync(at); at = dirname(at)) made.unshift(at);
  for (const one of made) mkdirSync(one, { mode: 0o700 });
  return made;
}

/** Removes the file, and then the folders that are empty. */
export function removeFile(path: string, folders: readonly string[]): void {
  const { readdirSync, rmdirSync, rmSync } = builtin("node:fs");
  rmSync(path, { force: true });
  for (const folder of [...folders].reverse()) {
    try {
      if (readdirSync(folder).length > 0) return;
      rmdirSync(folder);
    } catch {
      return; // the folder is gone, or in use
    }
  }
}
