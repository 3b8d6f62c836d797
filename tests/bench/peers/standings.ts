/** Who is first in each row of a table of gateways: said in words, so that nobody has to look for where Laneway is not. */

/** One column of a row. */
interface Place {
  name: string;
  value: number;
  /** As the table has it, without its range. */
  text: string;
}

const BASE = "bare";
const OURS = "Laneway";
/** The rows whose greatest figure is the best, and those that have none. */
const MORE_IS_BETTER = /1\/s$/;
const NOTHING_TO_WIN = /, count$/;

/** `table`: Markdown as `formatTable` writes it. A gateway that fails at a row takes no part in it. */
export function standings(table: string): string {
  const [head, , ...rows] = table.trim().split("\n").map(cellsOf);
  const names = head!.slice(1);
  const lines: string[] = [];
  let first = 0;
  let count = 0;
  for (const [label, ...cells] of rows) {
    if (NOTHING_TO_WIN.test(label!)) continue;
    const places = cells.flatMap((cell, at) => placeOf(names[at]!, cell));
    const sign = MORE_IS_BETTER.test(label!) ? -1 : 1;
    const [best] = places.filter(({ name }) => name !== BASE).sort((a, b) => sign * (a.value - b.value));
    if (!best) continue;
    count++;
    if (best.name.startsWith(OURS)) {
      first++;
      continue;
    }
    const ours = places.filter(({ name }) => name.startsWith(OURS)).map(({ name, text }) => `${name} ${text}`);
    lines.push(`- ${label}: ${best.name} is first with ${best.text}; ${ours.join(", ")}.`);
  }
  const rest = lines.length > 0 ? " It is not first in:\n\n" : "";
  return `Laneway is first in ${first} of ${count} rows.${rest}${lines.join("\n")}`;
}

function cellsOf(row: string): string[] {
  return row.split("|").slice(1, -1).map((cell) => cell.trim());
}

function placeOf(name: string, cell: string): Place[] {
  const text = cell.match(/^-?[\d.]+/)?.[0];
  return text === undefined ? [] : [{ name, value: Number(text), text }];
}
