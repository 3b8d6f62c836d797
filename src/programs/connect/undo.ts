/** Takes back the changes of a client's files, and nothing else. */
import { builtin } from "../../util/builtin.ts";
import { isBlank, withoutSettings } from "./edit.ts";
import { readFile, removeFile, writeFile } from "./files.ts";
import { inFile } from "./formats/format.ts";
import { formatOf } from "./formats/mod.ts";
import { merged } from "./merge.ts";
import type { ChangedFile } from "./receipt.ts";

/** How to restore a file. */
export interface Restored {
  file: ChangedFile;
  /** Its present text. Absent if it is gone. */
  now?: string;
  /** Its new text. Absent if the file has to be removed. */
  text?: string;
  /** The settings that were changed since then, which stay. */
  left: string[];
}

/** Throws `FormatError` if the client could not read the file either. */
export function restored(file: ChangedFile): Restored {
  const now = readFile(file.path)?.text;
  if (now === undefined) return { file, left: [] };
  if (now === file.after) return { file, now, text: file.before, left: [] };
  const { text, left } = inFile(file.path, () => textWithout(now, file));
  const isOurs = file.before === undefined && isBlank(text, file);
  return { file, now, text: isOurs ? undefined : text, left };
}

/** The present text without the settings that were written. */
function textWithout(now: string, file: ChangedFile): { text: string; left: string[] } {
  const { before = "", after } = file;
  const reverted = withoutSettings(now, before, file);
  // The original lines are preferred if both texts have the same values.
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

/** Writes or removes the file. */
export function restore({ file, now, text }: Restored): void {
  if (text === now) return;
  if (text === undefined) removeFile(file.path, file.folders);
  else writeFile(file.path, text, readFile(file.path)?.mode);
}
