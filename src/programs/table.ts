/** Lays text out on a terminal, where a character may take two columns, or none. */
import measure from "fast-string-truncated-width";

/** The rows of a table as lines. `toTheRight`: the columns of numbers. */
export function table(rows: readonly (readonly string[])[], toTheRight: readonly number[] = []): string[] {
  const count = Math.max(0, ...rows.map(({ length }) => length));
  const widths = Array.from({ length: count }, (_, at) => Math.max(...rows.map((row) => widthOf(row[at] ?? ""))));
  return rows.map((row) =>
    row.map((cell, at) => {
      const blanks = " ".repeat(widths[at]! - widthOf(cell));
      return toTheRight.includes(at) ? blanks + cell : cell + blanks;
    }).join("  ").trimEnd()
  );
}

/** The text, or as much of it as fits into a number of columns. */
export function cut(text: string, columns: number): string {
  const { index, ellipsed } = measure(text, { limit: columns, ellipsis: "…" });
  return ellipsed ? `${text.slice(0, index)}…` : text;
}

function widthOf(text: string): number {
  return measure(text).width;
}
