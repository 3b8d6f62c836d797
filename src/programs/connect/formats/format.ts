/** How the command `connect` edits a file. Everything else in the file stays as it is, comments included. */
import type { JsonValue } from "../../../canonical/json.ts";

/** One change. The path consists of names and of positions in lists. */
export type Change =
  | { kind: "set"; path: readonly (string | number)[]; value: JsonValue }
  | { kind: "remove"; path: readonly (string | number)[] }
  /** Appends to the end of the list. */
  | { kind: "append"; path: readonly (string | number)[]; value: JsonValue };

export interface Format {
  /** The values in the text. Absent if it is empty. Throws `FormatError`. */
  read(text: string): JsonValue | undefined;
  /** The text with the change, which must be possible in it. */
  change(text: string, change: Change): string;
}

/** An error in a file that its client could not read either. The message is for people. */
export class FormatError extends Error {}

/** Describes a position. `at` counts from 0. */
export function placeIn(text: string, at: number): string {
  const lines = text.slice(0, at).split("\n");
  return `line ${lines.length}, column ${lines.at(-1)!.length + 1}`;
}

/** Runs a function, and adds the file's name to a format error. */
export function inFile<T>(path: string, run: () => T): T {
  try {
    return run();
  } catch (error) {
    if (error instanceof RangeError) throw new FormatError(`${path}: nested too deeply to be read`);
    throw error instanceof FormatError ? new FormatError(`${path}: ${error.message}`) : error;
  }
}
