/** Reads series: sums over time, in groups, of the requests that a filter admits. */
import type { SeriesBook } from "./book.ts";
import { addSums, type Dimension, DIMENSIONS, type Names, noSums, OTHER, type Row, type Sums } from "./rows.ts";
import { positionsIn, type Range, type Tier, tierFor } from "./tiers.ts";

export interface Query {
  range: Range;
  by?: Dimension;
  /** The names of which a request has to have one, by dimension. */
  filter: ReadonlyMap<Dimension, ReadonlySet<string>>;
  /** Whether the time before, which is as long, is read as well. */
  isCompared: boolean;
}

/** The sums of a group, and those of each step. A step without requests is absent. */
export interface Line {
  total: Sums;
  steps: (Sums | undefined)[];
}

export interface Found {
  /** When the first step begins, and when the last one ends. */
  from: number;
  to: number;
  total: Line;
  /** By the name of the group. Empty if nothing is grouped. */
  groups: Map<string, Line>;
}

export interface Answer extends Found {
  tier: Tier;
  before?: Found;
  /** The names in the range, whatever the filter says, by dimension. */
  names: ReadonlyMap<Dimension, ReadonlySet<string>>;
}

/** The most names of one dimension. */
const MOST_NAMES = 500;

export async function querySeries(book: SeriesBook, query: Query, now: number): Promise<Answer> {
  const tier = tierFor(book.tiers, query.range, now, query.isCompared);
  const { first, last } = positionsIn(query.range, tier);
  const names = new Map(DIMENSIONS.map((dimension) => [dimension, new Set<string>()]));
  const found = await readLines(book, query, tier, { first, last }, (row) => collectNames(row.names, names));
  const steps = last - first + 1;
  const before = query.isCompared
    ? await readLines(book, query, tier, { first: first - steps, last: first - 1 })
    : undefined;
  return { ...found, tier, names, ...(before && { before }) };
}

async function readLines(
  book: SeriesBook,
  { by, filter }: Query,
  tier: Tier,
  { first, last }: { first: number; last: number },
  onRow?: (row: Row) => void,
): Promise<Found> {
  const total = newLine(last - first + 1);
  const groups = new Map<string, Line>();
  const admits = matcherOf(filter);
  for await (const { position, rows } of book.read(tier, first, last)) {
    for (const row of rows) {
      onRow?.(row);
      if (!admits(row.names)) continue;
      addAt(total, position - first, row.sums);
      if (by) addAt(lineOf(groups, nameIn(row.names, by), last - first + 1), position - first, row.sums);
    }
  }
  return { from: first * tier.ms, to: (last + 1) * tier.ms, total, groups };
}

function newLine(steps: number): Line {
  return { total: noSums(), steps: new Array<Sums | undefined>(steps).fill(undefined) };
}

function lineOf(groups: Map<string, Line>, name: string, steps: number): Line {
  const line = groups.get(name) ?? newLine(steps);
  groups.set(name, line);
  return line;
}

function addAt({ total, steps }: Line, index: number, sums: Sums): void {
  addSums(total, sums);
  addSums(steps[index] ??= noSums(), sums);
}

function nameIn(names: Names, dimension: Dimension): string {
  return names[DIMENSIONS.indexOf(dimension)] ?? "";
}

function matcherOf(filter: Query["filter"]): (names: Names) => boolean {
  const wanted = [...filter].map(([dimension, values]) => [DIMENSIONS.indexOf(dimension), values] as const);
  return (names) => wanted.every(([index, values]) => values.has(names[index] ?? ""));
}

function collectNames(names: Names, all: ReadonlyMap<Dimension, Set<string>>): void {
  for (const [index, dimension] of DIMENSIONS.entries()) {
    const [set, name] = [all.get(dimension)!, names[index]];
    if (name && set.size < MOST_NAMES) set.add(name);
  }
}

/** The largest groups by `amount`, the largest first; those that are left are one more, named `other`. */
export function largest(groups: ReadonlyMap<string, Line>, most: number, amount: (sums: Sums) => number) {
  const sorted = [...groups].sort(([, one], [, other]) => amount(other.total) - amount(one.total));
  if (sorted.length <= most) return sorted;
  const named = sorted.filter(([name]) => name !== OTHER);
  const own = named.slice(0, most - 1);
  const rest = newLine(sorted[0]![1].steps.length);
  for (const [name, { steps }] of sorted) {
    if (own.some(([known]) => known === name)) continue;
    for (const [index, sums] of steps.entries()) if (sums) addAt(rest, index, sums);
  }
  return [...own, [OTHER, rest] as [string, Line]];
}
