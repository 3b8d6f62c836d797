/** One table of all that was measured, for a reader who chooses a gateway: medians without their ranges. */
import { alignTable } from "../table.ts";

/** A table as `formatTable` writes it. */
export interface Measured {
  title: string;
  /** The wire of the clients, where the figures depend on it. */
  clients?: string;
  table: string;
}

/** The figures that a reader compares. All of them are in the record. */
const SHOWN =
  /^(whole answer|200 chunks at once: CPU|a chunk of|32 connections, 1 kB: answers|first byte|start|memory)/;

/** `names`: the columns, in their order. A gateway that does not serve a wire has an empty cell. */
export function summarize(measured: readonly Measured[], names: readonly string[]): string {
  const rows = measured.flatMap(({ clients, table }) => {
    const [head, , ...rows] = table.trim().split("\n").map(cellsOf);
    return rows.filter(([label]) => SHOWN.test(label!)).map(([label, ...cells]) => {
      const shown = names.map((name) => short(cells[head!.indexOf(name) - 1] ?? ""));
      return [clients === undefined ? label! : `${clients}: ${label}`, ...shown];
    });
  });
  return alignTable([["", ...names], ...rows]);
}

/** `924 (880–1477) **2.3×**` as `924, 2.3×`. */
function short(cell: string): string {
  if (cell.startsWith("fails")) return "fails";
  return cell.replace(/ \([^)]*\)/, "").replace(/ \*\*(.*)\*\*/, ", $1");
}

function cellsOf(row: string): string[] {
  return row.split("|").slice(1, -1).map((cell) => cell.trim());
}
