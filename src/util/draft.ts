/** Drafts: new texts beside the files that they will replace. A draft is a lock among all processes that replace the same file. */
import { builtin } from "./builtin.ts";

/** After so many milliseconds a draft counts as left over, because its writer was stopped in the middle. */
const WRITING_MS = 10_000;

/** Another process is replacing the same file. */
export class DraftTakenError extends Error {
  constructor(draft: string) {
    super(`Another command is writing ${draft}: try again in ${WRITING_MS / 1000} seconds`);
  }
}

/** Writes a draft so that it outlives a crash. Throws `DraftTakenError`, or the file system's error; then there is no draft. */
export function writeDraft(draft: string, text: string, mode: number): void {
  const { chmodSync, closeSync, fsyncSync, rmSync, writeFileSync } = builtin("node:fs");
  const file = openDraft(draft, mode);
  try {
    try {
      writeFileSync(file, text);
      // Node's permission model knows no such permission.
      if (!("permission" in process && process.permission)) fsyncSync(file);
    } finally {
      closeSync(file);
    }
    chmodSync(draft, mode);
  } catch (error) {
    rmSync(draft, { force: true });
    throw error;
  }
}

function openDraft(draft: string, mode: number): number {
  const { openSync, rmSync, statSync } = builtin("node:fs");
  const found = statSync(draft, { throwIfNoEntry: false });
  if (found && Math.abs(Date.now() - found.mtimeMs) > WRITING_MS) rmSync(draft, { force: true });
  try {
    return openSync(draft, "wx", mode);
  } catch (error) {
    throw (error as { code?: string }).code === "EEXIST" ? new DraftTakenError(draft) : error;
  }
}
