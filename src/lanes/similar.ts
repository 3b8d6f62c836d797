/** Suggests names from a list for a misspelled one. */

/** The most names to suggest. */
const MOST_NAMES = 3;
/** Longer names are not compared. */
const LONGEST_NAME = 128;

/**
 * The names most similar to `wanted`, nearest first. They differ in at most a third of its characters, ignoring case. A missing
 * owner (`org/`) or policy (`:fastest`) does not count as a difference.
 */
export function similarNames(wanted: string, names: Iterable<string>): string[] {
  if (wanted.length > LONGEST_NAME) return [];
  const forms = formsOf(wanted);
  const found: { name: string; distance: number }[] = [];
  let most = Infinity;
  for (const name of names) {
    if (name.length > LONGEST_NAME || name === wanted) continue;
    const distance = nearest(forms, formsOf(name), most);
    if (distance === undefined) continue;
    found.push({ name, distance });
    found.sort((a, b) => a.distance - b.distance);
    if (found.length > MOST_NAMES) found.pop();
    if (found.length === MOST_NAMES) most = found.at(-1)!.distance;
  }
  return found.map(({ name }) => name);
}

/** The name, and the name without its owner and policy. */
function formsOf(name: string): string[] {
  const plain = name.toLowerCase();
  const bare = plain.slice(plain.lastIndexOf("/") + 1).replace(/:[^:]*$/, "");
  return bare === plain || bare === "" ? [plain] : [plain, bare];
}

function nearest(ours: readonly string[], theirs: readonly string[], most: number): number | undefined {
  let least: number | undefined;
  for (const a of ours) {
    for (const b of theirs) {
      const distance = distanceOf(a, b, Math.min(most, least ?? Infinity, Math.floor(a.length / 3)));
      if (distance !== undefined) least = distance;
    }
  }
  return least;
}

/** The edit distance. `undefined` if it is greater than `most`. */
function distanceOf(a: string, b: string, most: number): number | undefined {
  if (Math.abs(a.length - b.length) > most) return undefined;
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let at = 1; at <= a.length; at++) {
    const next = [at];
    let least = at;
    for (let to = 1; to <= b.length; to++) {
      const change = row[to - 1]! + (a[at - 1] === b[to - 1] ? 0 : 1);
      const value = Math.min(change, row[to]! + 1, next[to - 1]! + 1);
      next.push(value);
      if (value < least) least = value;
    }
    if (least > most) return undefined;
    row = next;
  }
  const distance = row[b.length]!;
  return distance <= most ? distance : undefined;
}
