/** Takes back what was changed in a client's files, and nothing else. */
import { builtin } from "../../util/builtin.ts";
import { isBlank, withoutSettings } from "./edit.ts";
import { readFile, removeFile, writeFile } from "./files.ts";
import { inFile } from "./formats/format.ts";
import { formatOf } from "./formats/mod.ts";
import { merged } from "./merge.ts";
import type { ChangedFile } from "./receipt.ts";

/** What a file is to become again. */
export interface Restored {
  file: ChangedFile;
  /** What stands in it now; nothing where it is gone. */
  now?: string;
  /** What it becomes; nothing where it is to be removed. */
  text?: string;
  /** The settings that somebody has changed since: they stay. */
  left: string[];
}

/** Throws `FormatError` where the file's client could not read it either. */
export function restored(file: ChangedFile): Restored {
  const now = readFile(file.path)?.text;
  if (now === undefined) return { file, left: [] };
  if (now === file.after) return { file, now, text: file.before, left: [] };
  const { text, left } = inFile(file.path, () => textWithout(now, file));
  const isOurs = file.before === undefined && isBlank(text, file);
  return { file, now, text: isOurs ? undefined : text, left };
}

/** The same, for a file that was made anew. */
function textWithout(now: string, file: ChangedFile): { text: string; left: string[] } {
  const { before = "", after } = file;
  const reverted = withoutSettings(now, before, file);
  // The lines of the file as it was are the better ones wherever they say the same.
  const text = merged(after, now, before);
  const isBetter = text !== undefined && saysTheSame(text, reverted.text, file);
  return isBetter ? { text, left: reverted.left } : reverted;
}

function saysTheSame(one: string, other: string, file: ChangedFile): boolean {
  const format = formatOf(file);
  try {
    return builtin("node:util").isDeepStrictEqual(format.read(one), format.read(other));
  } catch {
    return false;
  }
}

/** Writes it. */
export function restore({ file, now, text }: Restored): void {
  if (text === now) return;
  if (text === undefined) removeFile(file.path, file.folders);
  else writeFile(file.path, text, readFile(file.path)?.mode);
}
