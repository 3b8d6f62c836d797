/** Figures of several rounds and subjects, as a table of Markdown. */

/** How a report shows a figure. */
export interface Figure {
  label: string;
  unit: string;
  digits: number;
  /** Beside the base: how many times as much, or how much more. */
  beside?: "times" | "more";
}

/** What one round found, by the names of figures. What cannot be found out is absent. */
export type Values = Record<string, number | undefined>;

/** The values of figures, by subject: those of all rounds, and why there are none. */
export class Results {
  readonly #values = new Map<string, number[]>();
  readonly #failures = new Map<string, string>();

  record(subject: string, values: Values): void {
    for (const [name, value] of Object.entries(values)) {
      if (value === undefined) continue;
      const key = `${subject}/${name}`;
      this.#values.set(key, [...this.#values.get(key) ?? [], value]);
    }
  }

  /** A subject that fails at a figure has no number for it, whatever other rounds found. */
  fail(subject: string, names: Iterable<string>, reason: string): void {
    for (const name of names) this.#failures.set(`${subject}/${name}`, reason);
  }

  of(subject: string, name: string): number[] {
    return this.#values.get(`${subject}/${name}`) ?? [];
  }

  failure(subject: string, name: string): string | undefined {
    return this.#failures.get(`${subject}/${name}`);
  }
}

/** A row for each figure that any subject has: medians with the least and the greatest, the first subject being the base. */
export function formatTable(figures: Record<string, Figure>, subjects: readonly string[], results: Results): string {
  const rows = Object.entries(figures).flatMap(([name, figure]) => {
    const cells = subjects.map((subject) => cellOf(name, figure, subject, subjects[0]!, results));
    return cells.some((cell) => cell !== "") ? [[`${figure.label}, ${figure.unit}`, ...cells]] : [];
  });
  return alignTable([["", ...subjects], ...rows]);
}

function cellOf(name: string, figure: Figure, subject: string, base: string, results: Results): string {
  const failure = results.failure(subject, name);
  if (failure !== undefined) return `fails: ${failure}`;
  const values = results.of(subject, name);
  if (values.length === 0) return "";
  const show = (value: number) => value.toFixed(figure.digits);
  const range = values.length > 1 ? ` (${show(Math.min(...values))}–${show(Math.max(...values))})` : "";
  return show(median(values)) + range + (subject === base ? "" : besideBase(figure, values, results.of(base, name)));
}

function besideBase({ beside, digits }: Figure, values: readonly number[], base: readonly number[]): string {
  if (beside === undefined || base.length === 0) return "";
  const [value, least] = [median(values), median(base)];
  if (beside === "times") return least > 0 ? ` **${(value / least).toFixed(1)}×**` : "";
  const more = value - least;
  return ` **${more < 0 ? "−" : "+"}${Math.abs(more).toFixed(digits)}**`;
}

export function alignTable(rows: readonly string[][]): string {
  const widths = rows[0]!.map((_, at) => Math.max(3, ...rows.map((cells) => cells[at]!.length)));
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell, at) => at === 0 ? cell.padEnd(widths[at]!) : cell.padStart(widths[at]!)).join(" | ")} |`;
  const rule = `| ${
    widths.map((width, at) => at === 0 ? "-".repeat(width) : `${"-".repeat(width - 1)}:`).join(" | ")
  } |`;
  return [line(rows[0]!), rule, ...rows.slice(1).map(line)].join("\n");
}

export function median(numbers: readonly number[]): number {
  return quantile(numbers, 0.5);
}

/** The value below which the part `q` of the numbers is. */
export function quantile(numbers: readonly number[], q: number): number {
  const sorted = numbers.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * q))]!;
}

/** So that none of them is always the first to be measured, or always after the same other one. */
export function rotate<T>(items: readonly T[], round: number): T[] {
  const rotated = items.map((_, at) => items[(at + round) % items.length]!);
  return round % 2 === 0 ? rotated : rotated.reverse();
}
