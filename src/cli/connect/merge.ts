/** Two changes of one text, put together. */
import { diff3Merge } from "node-diff3";

/** Beyond it, comparing words takes too long. */
const MOST_CHARACTERS = 50_000;

/** The text with both changes: by lines, else by words; nothing where they touch the same words. */
export function merged(original: string, one: string, other: string): string | undefined {
  const byLines = partsOf(original, one, other, linesOf);
  if (byLines.every(({ ok }) => ok)) return textOf(byLines);
  if (original.length + one.length + other.length > MOST_CHARACTERS) return undefined;
  const byWords = partsOf(original, one, other, wordsOf);
  return byWords.every(({ ok }) => ok) ? textOf(byWords) : undefined;
}

/** The same by lines; where both have changed one, the other's stands. */
export function mergedByLines(original: string, one: string, other: string): string {
  return textOf(partsOf(original, one, other, linesOf));
}

interface Part {
  ok?: string[];
  conflict?: { b: string[] };
}

function partsOf(original: string, one: string, other: string, split: (text: string) => string[]): Part[] {
  return diff3Merge(split(one), split(original), split(other), { excludeFalseConflicts: true });
}

function textOf(parts: readonly Part[]): string {
  return parts.flatMap(({ ok, conflict }) => ok ?? conflict?.b ?? []).join("");
}

/** Each with its end. */
function linesOf(text: string): string[] {
  return text.split(/(?<=\n)/);
}

function wordsOf(text: string): string[] {
  return text.match(/\w+|[^\S\n]+|[^\w]/g) ?? [];
}
