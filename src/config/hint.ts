/** The most letters of a name that may be wrong. A short name may have only one wrong letter. */
const TYPOS = 2;
/** Known names that are longer are not compared, because a comparison costs the product of both lengths. */
const LONGEST_NAME = 128;
/** The most known names that a hint lists. */
const MOST_KNOWN = 50;

/** The end of a message about an unknown name: the most similar known name, or else a list of the known names. */
export function hint(name: string, known: readonly string[]): string {
  const typed = folded(name);
  const [near] = known
    .map((candidate) => ({ candidate, meant: folded(candidate) }))
    .filter(({ meant }) => meant.length <= LONGEST_NAME && Math.abs(meant.length - typed.length) <= TYPOS)
    .map(({ candidate, meant }) => ({ candidate, distance: distance(typed, meant) }))
    .filter(({ candidate, distance }) => distance <= (Math.min(name.length, candidate.length) > 4 ? TYPOS : 1))
    .sort((a, b) => a.distance - b.distance);
  if (near) return `; did you mean "${near.candidate}"?`;
  if (known.length === 0) return "";
  const more = known.length > MOST_KNOWN ? ` and ${known.length - MOST_KNOWN} more` : "";
  return `; known: ${known.slice(0, MOST_KNOWN).map((each) => `"${each}"`).join(", ")}${more}`;
}

function folded(name: string): string {
  return name.toLowerCase().replaceAll(/[-_ ]/g, "");
}

/** Edits between two names: a letter added, left out, replaced, or swapped with the next one. */
function distance(a: string, b: string): number {
  const rows = [Array.from({ length: b.length + 1 }, (_, column) => column)];
  for (let i = 1; i <= a.length; i++) {
    const [row, above, twoAbove] = [[i], rows[i - 1]!, rows[i - 2]];
    for (let j = 1; j <= b.length; j++) {
      const replaced = above[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1);
      const swapped = twoAbove && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1] ? twoAbove[j - 2]! + 1 : Infinity;
      row.push(Math.min(above[j]! + 1, row[j - 1]! + 1, replaced, swapped));
    }
    rows.push(row);
  }
  return rows[a.length]![b.length]!;
}

export function quoted(names: readonly string[]): string {
  return names.map((name) => `"${name}"`).join(", ") || "none";
}
