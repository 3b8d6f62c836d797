import { isPattern } from "../canonical/models.ts";

/**
 * What `table` has for a name: the entry of that very name, else of the longest pattern that matches. Of patterns as long,
 * the first.
 */
export function createFinder<T>(table: Readonly<Record<string, T>>): (name: string) => T | undefined {
  const entries = Object.entries(table);
  const exact = new Map(entries.filter(([name]) => !isPattern(name)));
  const patterns = entries
    .filter(([name]) => isPattern(name))
    .sort(([a], [b]) => b.length - a.length)
    .map(([pattern, value]) => ({ expression: toExpression(pattern), value }));
  return (name) => exact.get(name) ?? patterns.find(({ expression }) => expression.test(name))?.value;
}

/** Whether a name is one of the patterns, or matches one. */
export function fits(name: string, patterns: readonly string[]): boolean {
  return patterns.some((pattern) => pattern === name || (isPattern(pattern) && toExpression(pattern).test(name)));
}

function toExpression(pattern: string): RegExp {
  const literal = pattern.split("*").map((text) => text.replaceAll(/[\\^$.+?()[\]{}|]/g, "\\$&"));
  return new RegExp(`^${literal.join(".*")}$`, "s");
}
