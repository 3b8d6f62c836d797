/** The figures of all rounds as a table. */
import { type FigureName, FIGURES, type Figures, quantile } from "./figures.ts";

/** The figures of one subject, round by round. */
export interface Results {
  name: string;
  rounds: Figures[];
}

/**
 * A row per figure: the median of the rounds and, in brackets, the least and the greatest. The first subject is the direct
 * call, the second the passthrough; those that follow are also shown as a multiple of the passthrough.
 */
export function formatReport(direct: Results, passthrough: Results, others: readonly Results[]): string {
  const header = [
    "",
    "",
    direct.name,
    passthrough.name,
    ...others.flatMap(({ name }) => [name, `÷ ${passthrough.name}`]),
  ];
  const rows = Object.keys(FIGURES).map((key) => {
    const figure = key as FigureName;
    const { label, unit } = FIGURES[figure];
    const least = valuesOf(figure, passthrough, direct);
    const cells = others.flatMap((other) => {
      const values = valuesOf(figure, other, direct);
      return [formatCell(figure, values, true), formatRatio(values, least)];
    });
    return [
      label,
      unit,
      formatCell(figure, valuesOf(figure, direct), false),
      formatCell(figure, least, true),
      ...cells,
    ];
  });
  return alignColumns([header, ...rows]);
}

/** A subject's values, less those of the direct call in the same rounds where the figure is one that adds to it. */
function valuesOf(name: FigureName, results: Results, direct?: Results): number[] {
  return results.rounds.flatMap((figures, round) => {
    const value = figures[name];
    const base = direct && "added" in FIGURES[name] ? direct.rounds[round]?.[name] : 0;
    return value === undefined || base === undefined ? [] : [value - base];
  });
}

function formatCell(name: FigureName, values: readonly number[], ofServer: boolean): string {
  if (values.length === 0) return ofServer ? "not available on this platform" : "";
  const figure = FIGURES[name];
  const show = (q: number) => {
    const value = quantile(values, q);
    return `${ofServer && "added" in figure && value >= 0 ? "+" : ""}${value.toFixed(figure.digits)}`;
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
