/** The figures of all rounds as tables. */
import {
  CONVERSATION_FIGURES,
  type Figure,
  type FigureName,
  type Figures,
  GATEWAY_FIGURES,
  quantile,
} from "./figures.ts";

/** The figures of one subject, round by round. */
export interface Results {
  name: string;
  rounds: Figures[];
}

interface Column {
  title: string;
  cell(name: FigureName, figure: Figure): string;
}

/**
 * A row per figure: the median of the rounds and, in brackets, the least and the greatest. The first subject is the direct
 * call, the second the passthrough; those that follow are also shown as a multiple of the passthrough.
 */
export function formatGateways(direct: Results, passthrough: Results, others: readonly Results[]): string {
  const values = (name: FigureName, { added }: Figure, results: Results) =>
    added ? differences(name, results, direct) : valuesOf(name, results);
  const ofServer = (results: Results): Column => ({
    title: results.name,
    cell: (name, figure) =>
      formatCell(values(name, figure, results), figure, figure.added) || "not available on this platform",
  });
  const ratio = (results: Results): Column => ({
    title: `÷ ${passthrough.name}`,
    cell: (name, figure) => formatRatio(values(name, figure, results), values(name, figure, passthrough)),
  });
  return formatTable(GATEWAY_FIGURES, [
    { title: direct.name, cell: (name, figure) => formatCell(valuesOf(name, direct), figure) },
    ofServer(passthrough),
    ...others.flatMap((other) => [ofServer(other), ratio(other)]),
  ]);
}

/** The same of two ways to hold a conversation: the second also as what it adds to the first, and as a multiple of it. */
export function formatConversations(base: Results, other: Results): string {
  const plain = (results: Results): Column => ({
    title: results.name,
    cell: (name, figure) => formatCell(valuesOf(name, results), figure),
  });
  return formatTable(CONVERSATION_FIGURES, [
    plain(base),
    plain(other),
    { title: "added", cell: (name, figure) => formatCell(differences(name, other, base), figure, true) },
    { title: `÷ ${base.name}`, cell: (name) => formatRatio(valuesOf(name, other), valuesOf(name, base)) },
  ]);
}

function formatTable(figures: Partial<Record<FigureName, Figure>>, columns: readonly Column[]): string {
  const rows = Object.entries(figures).map(([name, figure]) => [
    figure.label,
    figure.unit,
    ...columns.map(({ cell }) => cell(name as FigureName, figure)),
  ]);
  return alignColumns([["", "", ...columns.map(({ title }) => title)], ...rows]);
}

function valuesOf(name: FigureName, { rounds }: Results): number[] {
  return rounds.flatMap((figures) => figures[name] ?? []);
}

/** What the first adds to the second in the same rounds. */
function differences(name: FigureName, { rounds }: Results, base: Results): number[] {
  return rounds.flatMap((figures, round) => {
    const value = figures[name];
    const least = base.rounds[round]?.[name];
    return value === undefined || least === undefined ? [] : [value - least];
  });
}

/** Nothing where there are no values. */
function formatCell(values: readonly number[], { digits }: Figure, signed = false): string {
  if (values.length === 0) return "";
  const show = (q: number) => {
    const value = quantile(values, q);
    return `${signed && value >= 0 ? "+" : ""}${value.toFixed(digits)}`;
  };
  return `${show(0.5)} (${show(0)} to ${show(1)})`;
}

/** Nothing where the base is lost in the noise. */
function formatRatio(values: readonly number[], base: readonly number[]): string {
  if (values.length === 0 || base.length === 0 || quantile(base, 0) <= 0) return "";
  return `${(quantile(values, 0.5) / quantile(base, 0.5)).toFixed(1)}×`;
}

function alignColumns(table: readonly string[][]): string {
  const widths = table[0]!.map((_, column) => Math.max(...table.map((cells) => cells[column]!.length)));
  const alignCell = (cell: string, column: number) =>
    column < 2 ? cell.padEnd(widths[column]!) : cell.padStart(widths[column]!);
  return table.map((cells) => cells.map(alignCell).join("  ").trimEnd()).join("\n");
}
