/** Two changes of one text, put together. */
import { diff3Merge, diffIndices } from "node-diff3";

/** Beyond it, comparing words takes too long. */
const MOST_CHARACTERS = 50_000;

/** The text with both changes: by lines, else by words; nothing where they touch the same words. */
export function merged(original: string, one: string, other: string): string | undefined {
  const byLines = partsOf(original, one, other, linesOf);
  if (byLines.every(({ ok }) => ok)) return joinParts(byLines);
  if (original.length + one.length + other.length > MOST_CHARACTERS) return undefined;
  const byWords = partsOf(original, one, other, wordsOf);
  return byWords.every(({ ok }) => ok) ? joinParts(byWords) : undefined;
}

/** The same by lines; where both have changed the same, the other's lines stand, but those that it has left alone are the one's. */
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

/** Where the two do not agree: the lines of the one, of the original and of the other. */
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

/** Each with its end. */
function linesOf(text: string): string[] {
  return text.split(/(?<=\n)/);
}

function wordsOf(text: string): string[] {
  return text.match(/\w+|[^\S\n]+|[^\w]/g) ?? [];
}
