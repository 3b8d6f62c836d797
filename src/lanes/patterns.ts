import { isPattern } from "../canonical/models.ts";

/**
 * Looks up names in `table`: first the exact name, then the longest matching pattern. If several are equally long,
 * the first one wins.
 */
export function createFinder<T>(table: Readonly<Record<string, T>>): (name: string) => T | undefined {
  const entries = Object.entries(table);
  const exact = new Map(entries.filter(([name]) => !isPattern(name)));
  const patterns = entries.filter(([name]) => isPattern(name)).sort(([a], [b]) => b.length - a.length);
  return (name) => exact.get(name) ?? patterns.find(([pattern]) => matches(name, pattern))?.[1];
}

/** Whether a name equals or matches one of the patterns. */
export function matchesAny(name: string, patterns: readonly string[]): boolean {
  return patterns.some((pattern) => pattern === name || (isPattern(pattern) && matches(name, pattern)));
}

/** Matches each text between the stars at its first occurrence. A regular expression would backtrack through all combinations. */
function matches(name: string, pattern: string): boolean {
  const [first = "", ...texts] = pattern.split("*");
  const last = texts.pop() ?? "";
  const end = name.length - last.length;
  if (!name.startsWith(first) || !name.endsWith(last)) return false;
  let at = first.length;
  for (const text of texts) {
    const found = name.indexOf(text, at);
    if (found < 0) return false;
    at = found + text.length;
  }
  return at <= end;
}
