/** Suggests names from a list for a misspelled one. */
import { distance } from "fastest-levenshtein";
import type { SlicedWork } from "../util/sliced_work.ts";

/** The most names to suggest. */
const MOST_NAMES = 3;
/** Longer names are not compared. */
const LONGEST_NAME = 128;
/** The number of names in a slice. */
const SLICE_NAMES = 100;

/**
 * The names most similar to `wanted`, nearest first. They differ in at most a third of its characters, ignoring case. A missing
 * owner (`org/`) or policy (`:fastest`) does not count as a difference.
 */
export function* similarNames(wanted: string, names: readonly string[]): SlicedWork<string[]> {
  if (wanted.length > LONGEST_NAME) return [];
  const forms = formsOf(wanted);
  const found: { name: string; changes: number }[] = [];
  for (const [index, name] of names.entries()) {
    if (index % SLICE_NAMES === SLICE_NAMES - 1) yield;
    if (name.length > LONGEST_NAME || name === wanted) continue;
    const changes = nearest(forms, formsOf(name));
    if (changes >= (found[MOST_NAMES - 1]?.changes ?? Infinity)) continue;
    found.push({ name, changes });
    found.sort((a, b) => a.changes - b.changes);
    found.length = Math.min(found.length, MOST_NAMES);
  }
  return found.map(({ name }) => name);
}

/** The name, and the name without its owner and policy. */
function formsOf(name: string): string[] {
  const plain = name.toLowerCase();
  const bare = plain.slice(plain.lastIndexOf("/") + 1).replace(/:[^:]*$/, "");
  return bare === plain || bare === "" ? [plain] : [plain, bare];
}

/** The least edit distance between any two forms. `Infinity` if it is too great for a slip. */
function nearest(ours: readonly string[], theirs: readonly string[]): number {
  let least = Infinity;
  for (const a of ours) {
    const most = Math.floor(a.length / 3);
    for (const b of theirs) {
      if (Math.abs(a.length - b.length) > most) continue;
      const changes = distance(a, b);
      if (changes <= most && changes < least) least = changes;
    }
  }
  return least;
}
