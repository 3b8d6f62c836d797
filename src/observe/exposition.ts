/** Counters and histograms, and their text in the format of Prometheus (0.0.4). */

export type Labels = Readonly<Record<string, string | undefined>>;

/** A counter or a gauge of one set of labels. */
export interface Cell {
  value: number;
  readonly labels: Labels;
}

/** A histogram of one set of labels. `counts` has one more entry than there are bounds, for values above all of them. */
export interface Buckets {
  counts: number[];
  sum: number;
  readonly labels: Labels;
}

/** Takes one counted or measured value. */
export type Take = (value: number, labels: Labels) => void;

/** A second receiver of the values, besides the page. */
export interface Sink {
  counter(name: string, help: string): Take;
  gauge(name: string, help: string): Take;
  histogram(name: string, help: string, bounds: readonly number[]): Take;
}

/** All series of one name. `render` gives whole lines, or an empty text if there is no series yet. */
export interface Family {
  render(): string;
  /** From now on the sink gets the values, too. */
  connect(sink: Sink): void;
}

export class Counter implements Family {
  readonly #name: string;
  readonly #help: string;
  readonly #type: "counter" | "gauge";
  readonly #cells = new Map<string, Cell>();
  #take: Take | undefined;

  constructor(name: string, help: string, type: "counter" | "gauge" = "counter") {
    this.#name = name;
    this.#help = help;
    this.#type = type;
  }

  /** The series of these labels. Callers may keep it and add to it. */
  of(labels: Labels = {}): Cell {
    return entry(this.#cells, labelsText(labels), () => ({ value: 0, labels }));
  }

  add(labels: Labels, amount = 1): void {
    this.addTo(this.of(labels), amount);
  }

  addTo(cell: Cell, amount = 1): void {
    cell.value += amount;
    this.#take?.(amount, cell.labels);
  }

  connect(sink: Sink): void {
    const take = sink[this.#type](this.#name, this.#help);
    for (const { value, labels } of this.#cells.values()) take(value, labels);
    this.#take = take;
  }

  render(): string {
    const lines = Array.from(this.#cells, ([labels, { value }]) => line(this.#name, labels, value));
    return withHead(this.#name, this.#help, this.#type, lines);
  }
}

export class Histogram implements Family {
  readonly #name: string;
  readonly #help: string;
  readonly #bounds: readonly number[];
  readonly #series = new Map<string, Buckets>();
  #take: Take | undefined;

  constructor(name: string, help: string, bounds: readonly number[]) {
    this.#name = name;
    this.#help = help;
    this.#bounds = bounds;
  }

  of(labels: Labels): Buckets {
    const make = () => ({ counts: new Array<number>(this.#bounds.length + 1).fill(0), sum: 0, labels });
    return entry(this.#series, labelsText(labels), make);
  }

  observe(buckets: Buckets, value: number): void {
    const bounds = this.#bounds;
    let at = 0;
    while (at < bounds.length && value > bounds[at]!) at++;
    buckets.counts[at]!++;
    buckets.sum += value;
    this.#take?.(value, buckets.labels);
  }

  /** Earlier measurements are not sent to the sink, because only their sums are known. */
  connect(sink: Sink): void {
    this.#take = sink.histogram(this.#name, this.#help, this.#bounds);
  }

  render(): string {
    const lines = Array.from(this.#series, ([labels, buckets]) => this.#lines(labels, buckets)).flat();
    return withHead(this.#name, this.#help, "histogram", lines);
  }

  #lines(labels: string, { counts, sum }: Buckets): string[] {
    let count = 0;
    const lines = counts.map((own, at) => {
      count += own;
      const le = `le="${this.#bounds[at] ?? "+Inf"}"`;
      return line(`${this.#name}_bucket`, labels === "" ? le : `${labels},${le}`, count);
    });
    return [...lines, line(`${this.#name}_sum`, labels, sum), line(`${this.#name}_count`, labels, count)];
  }
}

/** A gauge with the values of this moment. */
export function gauge(name: string, help: string, values: Iterable<readonly [Labels, number]>): Family {
  const family = new Counter(name, help, "gauge");
  for (const [labels, value] of values) family.add(labels, value);
  return family;
}

function entry<T>(map: Map<string, T>, key: string, make: () => T): T {
  const known = map.get(key);
  if (known !== undefined) return known;
  const made = make();
  map.set(key, made);
  return made;
}

function withHead(name: string, help: string, type: string, lines: readonly string[]): string {
  if (lines.length === 0) return "";
  return `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n${lines.join("\n")}\n`;
}

function line(name: string, labels: string, value: number): string {
  return `${name}${labels === "" ? "" : `{${labels}}`} ${value}`;
}

/** `lane="oss",model="m"`. An absent or empty label is left out, which means the same to Prometheus. */
function labelsText(labels: Labels): string {
  return Object.entries(labels)
    .filter(([, value]) => value !== undefined && value !== "")
    .map(([name, value]) => `${name}="${value!.replace(/[\\"\n]/g, (char) => char === "\n" ? "\\n" : `\\${char}`)}"`)
    .join(",");
}
