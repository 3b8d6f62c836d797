/** Merges two changes of one text. */
import { diff3Merge, diffIndices } from "node-diff3";

/** The longest text that is compared by words, in characters. */
const MOST_CHARACTERS = 50_000;

/** The text with both changes, merged by lines, or else by words. Absent if both change the same words. */
export function merged(original: string, one: string, other: string): string | undefined {
  const byLines = partsOf(original, one, other, linesOf);
  if (byLines.every(({ ok }) => ok)) return joinParts(byLines);
  if (original.length + one.length + other.length > MOST_CHARACTERS) return undefined;
  const byWords = partsOf(original, one, other, wordsOf);
  return byWords.every(({ ok }) => ok) ? joinParts(byWords) : undefined;
}

/** Merges by lines. If both changed the same part, `other` wins, but the lines that it left alone come from `one`. */
export function mergedByLines(original: string, one: string, other: string): string {
  const parts = partsOf(original, one, other, linesOf);
  return joinParts(parts.map(({ ok, conflict }) => ({ ok: ok ?? lineByLine(conflict!) })));
}

function lineByLine({ a, o, b }: NonNullable<Part["conflict"]>): string[] {
  if (a.length !== o.length) return b;
  const lines: string[] = [];
  let at = 0;
  for (const { buffer1: [from, length], buffer2: [to, count] } of diffIndices(o, b)) {
    lines.push(...a.slice(at, from), ...b.slice(to, to + count));
    at = from + length;
  }
  return [...lines, ...a.slice(at)];
}

/** A merged part, or a conflict with the lines of the one, of the original and of the other. */
interface Part {
  ok?: string[];
  conflict?: { a: string[]; o: string[]; b: string[] };
}

function partsOf(original: string, one: string, other: string, split: (text: string) => string[]): Part[] {
  return diff3Merge(split(one), split(original), split(other), { excludeFalseConflicts: true });
}

function joinParts(parts: readonly Part[]): string {
  return parts.flatMap(({ ok, conflict }) => ok ?? conflict!.b).join("");
}

/** The lines with their line breaks. */
function linesOf(text: string): string[] {
  return text.split(/(?<=\n)/);
}

function wordsOf(text: string): string[] {
  return text.match(/\w+|[^\S\n]+|[^\w]/g) ?? [];
}
