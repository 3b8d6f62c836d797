import { isPattern } from "../canonical/models.ts";

/**
 * What `table` has for a name: the entry of that very name, else of the longest pattern that matches. Of patterns as long,
 * the first.
 */
export function createFinder<T>(table: Readonly<Record<string, T>>): (name: string) => T | undefined {
  const entries = Object.entries(table);
  const exact = new Map(entries.filter(([name]) => !isPattern(name)));
  const patterns = entries.filter(([name]) => isPattern(name)).sort(([a], [b]) => b.length - a.length);
  return (name) => exact.get(name) ?? patterns.find(([pattern]) => matches(name, pattern))?.[1];
}

/** Whether a name is one of the patterns, or matches one. */
export function matchesAny(name: string, patterns: readonly string[]): boolean {
  return patterns.some((pattern) => pattern === name || (isPattern(pattern) && matches(name, pattern)));
}

/** Each text between the stars is taken where it comes first. A regular expression would try every place, with every other. */
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
