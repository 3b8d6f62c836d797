/** What changes in a file, for people. */
import { diffIndices } from "node-diff3";

/** How many lines are shown around a change. */
const AROUND = 2;

/** The changed lines, each behind `-` or `+`, and some that stay around them. */
export function diffOf(path: string, before: string, after: string): string {
  const [old, now] = [linesOf(before), linesOf(after)];
  const lines = [before === "" ? `${path} (new)` : path];
  let shown = 0;
  for (const { buffer1: [at, length], buffer2: [to, count] } of diffIndices(old, now)) {
    const from = Math.max(shown, at - AROUND);
    if (from > shown) lines.push("  ...");
    lines.push(...old.slice(from, at).map((line) => `    ${line}`));
    lines.push(...old.slice(at, at + length).map((line) => `  - ${line}`));
    lines.push(...now.slice(to, to + count).map((line) => `  + ${line}`));
    shown = at + length;
  }
  const rest = old.slice(shown, shown + AROUND);
  lines.push(...rest.map((line) => `    ${line}`));
  if (shown + rest.length < old.length) lines.push("  ...");
  return lines.join("\n");
}

function linesOf(text: string): string[] {
  const lines = text.split(/\r?\n/);
  return lines.at(-1) === "" ? lines.slice(0, -1) : lines;
}
