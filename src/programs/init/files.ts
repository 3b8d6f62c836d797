/** Reads and replaces the configuration and the secrets beside it. */
import { editedFiles } from "../../config/permissions.ts";
import { builtin } from "../../util/builtin.ts";
import { digestOf } from "../../util/digest.ts";
import { DraftTakenError, writeDraft } from "../../util/draft.ts";
import type { PlannedText } from "./plan.ts";
import { isNotPermitted } from "../../platform/not_permitted.ts";

/** A file that cannot be read or written. The message is for people. */
export class FileError extends Error {}
/** The files are no longer what the user has seen. */
export class OutdatedError extends FileError {}

/** The text of a file. Absent if there is none. Throws `FileError`. */
export function readText(path: string): string | undefined {
  const { readFileSync } = builtin("node:fs");
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(readFileSync(path));
  } catch (error) {
    if (codeOf(error) === "ENOENT") return undefined;
    if (error instanceof TypeError) throw new FileError(`${path} is not in UTF-8`);
    throw new FileError(codeOf(error) === "EACCES" ? `There is no permission to read ${path}` : reasonOf(error, path));
  }
}

/** Identifies the state of the files that a plan would replace. Throws `FileError`. */
export function versionOf(files: readonly PlannedText[]): string {
  const { statSync } = builtin("node:fs");
  return digestOf(JSON.stringify(files.map(({ path, isSecret }) => {
    if (!isSecret) return [path, readText(path) ?? null];
    const found = statSync(path, { throwIfNoEntry: false });
    return [path, found ? [found.size, found.mtimeMs, found.ino] : null];
  })));
}

const NEW_MODE = 0o644;
const SECRET_MODE = 0o600;

/**
 * Replaces all files or none, each atomically: the secrets, and last the configuration, whose draft is a lock among all processes.
 * Throws `FileError`, also if the state of the files is another than `version`. `keepsFormer`: whether the text that the configuration
 * had is kept beside it.
 */
export function writeFiles(files: readonly PlannedText[], version: string, { keepsFormer = false } = {}): void {
  const { renameSync, rmSync } = builtin("node:fs");
  for (const { path } of files) checkReplaceable(path);
  const drafts = new Map<string, string>();
  const restores: (() => void)[] = [];
  try {
    const inOrder = [...files].reverse();
    for (const { path, text, isSecret } of inOrder) {
      const [, draft] = editedFiles(path);
      writeDraft(draft, text, isSecret ? SECRET_MODE : modeOf(path) ?? NEW_MODE);
      drafts.set(path, draft);
    }
    if (versionOf(files) !== version) {
      throw new OutdatedError("The files have changed in the meantime: look at them again before they are written");
    }
    if (keepsFormer) keepFormer(files.at(-1)!.path);
    for (const { path } of files) {
      const before = readText(path);
      const mode = modeOf(path) ?? SECRET_MODE;
      const draft = drafts.get(path)!;
      renameSync(draft, path);
      drafts.delete(path);
      restores.unshift(() => {
        if (before === undefined) return rmSync(path, { force: true });
        writeDraft(draft, before, mode);
        renameSync(draft, path);
      });
    }
  } catch (error) {
    for (const draft of drafts.values()) rmSync(draft, { force: true });
    for (const restore of restores) restore();
    if (error instanceof FileError) throw error;
    throw new FileError(error instanceof DraftTakenError ? error.message : reasonOf(error, files.at(-1)!.path));
  }
}

/** The path of the copy that holds a configuration as it was before its last change. */
export function formerPath(path: string): string {
  return editedFiles(path)[2];
}

function keepFormer(path: string): void {
  const { rmSync, writeFileSync } = builtin("node:fs");
  const [before, former] = [readText(path), formerPath(path)];
  rmSync(former, { force: true });
  if (before !== undefined) writeFileSync(former, before, { mode: modeOf(path) });
}

function modeOf(path: string): number | undefined {
  const found = builtin("node:fs").statSync(path, { throwIfNoEntry: false });
  return found && found.mode & 0o777;
}

/** Throws `FileError` if the file must not be replaced. */
function checkReplaceable(path: string): void {
  const { lstatSync, readlinkSync } = builtin("node:fs");
  let found;
  try {
    found = lstatSync(path, { throwIfNoEntry: false });
  } catch (error) {
    throw new FileError(reasonOf(error, path));
  }
  if (!found) return;
  if (found.isSymbolicLink()) {
    throw new FileError(`${path} is a link to ${readlinkSync(path)}: name that file with --config`);
  }
  if (!found.isFile()) throw new FileError(`${path} is no file`);
  // The file could still be replaced if its folder is writable.
  if ((found.mode & 0o222) === 0) throw new FileError(`${path} is read-only: allow writing with chmod u+w ${path}`);
}

/** Why these files could not be written. Absent if nothing speaks against it. */
export function whyFixed(files: readonly PlannedText[]): string | undefined {
  const { accessSync, constants } = builtin("node:fs");
  for (const { path } of files) {
    try {
      checkReplaceable(path);
      accessSync(folderOf(path), constants.W_OK);
    } catch (error) {
      return error instanceof FileError ? error.message : reasonOf(error, path);
    }
  }
  return undefined;
}

function codeOf(error: unknown): string | undefined {
  return (error as { code?: string }).code;
}

const REASONS: Readonly<Record<string, (path: string) => string>> = {
  EACCES: (path) =>
    `There is no permission to write in ${folderOf(path)}: start elsewhere, or name a file with --config`,
  EPERM: (path) => `There is no permission to write ${path}`,
  EROFS: (path) => `${folderOf(path)} is on a read-only file system: name a file elsewhere with --config`,
  ENOSPC: (path) => `The disk of ${folderOf(path)} is full`,
  EDQUOT: (path) => `There is no room left for this user on the disk of ${folderOf(path)}`,
  ENOENT: (path) => `There is no folder ${folderOf(path)}`,
  ENOTDIR: (path) => `${folderOf(path)} is no folder`,
  EISDIR: (path) => `${path} is a folder`,
};

/** Explains an error of the file system. */
export function reasonOf(error: unknown, path: string): string {
  const { message } = error as Error;
  if (isNotPermitted(error)) return `This process was not started with the permission to use ${path}`;
  return REASONS[codeOf(error) ?? ""]?.(path.replace(/\.laneway-new$/, "")) ?? `Cannot use ${path}: ${message}`;
}

function folderOf(path: string): string {
  const { dirname, resolve } = builtin("node:path");
  return dirname(resolve(path));
}
