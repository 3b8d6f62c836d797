/** How the command `connect` changes a file: only what it has to, and everything else stays as it is, comments included. */
import type { JsonValue } from "../../../canonical/json.ts";

/** One change. The path has names, and places in lists. */
export type Change =
  | { kind: "set"; path: readonly (string | number)[]; value: JsonValue }
  | { kind: "remove"; path: readonly (string | number)[] }
  /** At the end of the list. */
  | { kind: "append"; path: readonly (string | number)[]; value: JsonValue };

export interface Format {
  /** What the text says; nothing where it is empty. Throws `FormatError`. */
  read(text: string): JsonValue | undefined;
  /** The text with the change, which is possible in it. */
  change(text: string, change: Change): string;
}

/** A file that its client could not read either. The message is for people. */
export class FormatError extends Error {}

/** `at` is counted from 0. */
export function placeIn(text: string, at: number): string {
  const lines = text.slice(0, at).split("\n");
  return `line ${lines.length}, column ${lines.at(-1)!.length + 1}`;
}

/** Runs it; a mistake that it finds is one of the named file. */
export function inFile<T>(path: string, run: () => T): T {
  try {
    return run();
  } catch (error) {
    if (error instanceof RangeError) throw new FormatError(`${path}: nested too deeply to be read`);
    throw error instanceof FormatError ? new FormatError(`${path}: ${error.message}`) : error;
  }
}
