/** The figures of all rounds as tables. */
import {
  CONVERSATION_FIGURES,
  type Figure,
  type FigureName,
  type Figures,
  GATEWAY_FIGURES,
  quantile,
  REPAIR_FIGURES,
  SAFEGUARD_FIGURES,
  TASK_FIGURES,
  UPLOAD_FIGURES,
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
  return formatTable(GATEWAY_FIGURES, [
    ownColumn(direct),
    addedColumn(direct, passthrough),
    ...others.flatMap((other) => [
      addedColumn(direct, other),
      ratioColumn(passthrough, addedTo(direct, other), addedTo(direct, passthrough)),
    ]),
  ]);
}

/** The same of one gateway, which is also shown as a multiple of what the JSON of an answer costs by itself. */
export function formatTasks(direct: Results, passthrough: Results, gateway: Results, json: Results): string {
  return formatTable(TASK_FIGURES, [
    ownColumn(direct),
    addedColumn(direct, passthrough),
    addedColumn(direct, gateway),
    ratioColumn(passthrough, addedTo(direct, gateway), addedTo(direct, passthrough)),
    ownColumn(json),
    ratioColumn(json, addedTo(direct, gateway), own(json)),
  ]);
}

export function formatUploads(ways: readonly Results[]): string {
  return formatTable(UPLOAD_FIGURES, ways.map(ownColumn));
}

/** The same of two ways to hold a conversation: the second also as what it adds to the first, and as a multiple of it. */
export function formatConversations(base: Results, other: Results): string {
  return formatTable(CONVERSATION_FIGURES, [
    ownColumn(base),
    ownColumn(other),
    { title: "added", cell: (name, figure) => formatCell(differences(name, other, base), figure, true) },
    ratioColumn(base, own(other), own(base)),
  ]);
}

/** The same of repairs, on beside off. */
export function formatRepairs(base: Results, other: Results): string {
  return formatTable(REPAIR_FIGURES, [
    ownColumn(base),
    ownColumn(other),
    { title: "added", cell: (name, figure) => formatCell(differences(name, other, base), figure, true) },
    ratioColumn(base, own(other), own(base)),
  ]);
}

/** The same of a gateway without its safeguards and with them. What they add was taken between neighbours in time. */
export function formatSafeguards(off: Results, on: Results, added: Results): string {
  return formatTable(SAFEGUARD_FIGURES, [
    ownColumn(off),
    ownColumn(on),
    { title: added.name, cell: (name, figure) => formatCell(valuesOf(name, added), figure, true) },
  ]);
}

type Values = (name: FigureName, figure: Figure) => number[];

function own(results: Results): Values {
  return (name) => valuesOf(name, results);
}

/** Those figures that are shown so: as what is added to the base. */
function addedTo(base: Results, results: Results): Values {
  return (name, { added }) => added ? differences(name, results, base) : valuesOf(name, results);
}

function ownColumn(results: Results): Column {
  return { title: results.name, cell: (name, figure) => formatCell(valuesOf(name, results), figure) };
}

function addedColumn(base: Results, results: Results): Column {
  return {
    title: results.name,
    cell: (name, figure) =>
      formatCell(addedTo(base, results)(name, figure), figure, figure.added) ||
      (figure.some ? "" : "not available on this platform"),
  };
}

function ratioColumn({ name }: Results, values: Values, base: Values): Column {
  return { title: `÷ ${name}`, cell: (name, figure) => formatRatio(values(name, figure), base(name, figure)) };
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
