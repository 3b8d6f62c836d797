/**
 * Rows as a record of the store, in as little room as JSON permits: each name once, and numbers by their position. The record names
 * the positions, so that another version, which may count other things, can read it. It may hold anything.
 */
import { asList, asObject, asTexts, isCount, type JsonValue } from "../../canonical/json.ts";
import { BUCKETS, type Histogram } from "./histogram.ts";
import { addTo, COUNTS, DIMENSIONS, noSums, type Row, type Rows } from "./rows.ts";

/** The version of the record format. */
const VERSION = 1;

/** The record with the rows added. `room`: how many rows it may have that keep all of their names. */
export function withRows(value: unknown, added: Rows, room: number): object {
  const rows: Rows = new Map();
  for (const { names, sums } of rowsIn(value)) addTo(rows, names, sums, Infinity);
  for (const { names, sums } of added.values()) addTo(rows, names, sums, room);
  const indexes = new Map<string, number>();
  const indexOf = (name: string) => {
    const index = indexes.get(name) ?? indexes.size;
    indexes.set(name, index);
    return index;
  };
  const written = Array.from(rows.values(), ({ names, sums }) => [
    names.map(indexOf),
    COUNTS.map((name) => sums[name]),
    String(sums.pico),
    pairsOf(sums.duration),
    pairsOf(sums.firstEvent),
  ]);
  return { version: VERSION, dimensions: DIMENSIONS, counts: COUNTS, names: [...indexes.keys()], rows: written };
}

/** A histogram as a list: a bucket, how often it occurred, the next bucket, and so on. */
function pairsOf(histogram: Histogram): number[] {
  return [...histogram].flat();
}

export function* rowsIn(value: unknown): Generator<Row> {
  const record = asObject(value);
  const all = asTexts(record.names);
  const dimensions = positionsOf(DIMENSIONS, asTexts(record.dimensions));
  const counts = positionsOf(COUNTS, asTexts(record.counts));
  for (const row of asList(record.rows)) {
    const [indexes, numbers, pico, duration, firstEvent] = asList(row);
    const sums = noSums();
    for (const [at, name] of COUNTS.entries()) {
      const count = asList(numbers)[counts[at]!];
      if (isCount(count)) sums[name] = count;
    }
    sums.pico = /^\d{1,40}$/.test(String(pico)) ? BigInt(String(pico)) : 0n;
    sums.duration = histogramIn(duration);
    sums.firstEvent = histogramIn(firstEvent);
    yield { names: dimensions.map((at) => nameIn(all, asList(indexes)[at])), sums };
  }
}

/** Where a record has the values of these names: at -1 if it has none. */
function positionsOf(names: readonly string[], found: readonly string[]): number[] {
  return names.map((name) => found.indexOf(name));
}

function nameIn(names: readonly string[], index: JsonValue | undefined): string {
  return typeof index === "number" ? names[index] ?? "" : "";
}

function histogramIn(value: unknown): Histogram {
  const histogram: Histogram = new Map();
  const pairs = asList(value);
  for (let at = 0; at + 1 < pairs.length; at += 2) {
    const [bucket, count] = [pairs[at], pairs[at + 1]];
    if (isBucket(bucket) && isCount(count)) histogram.set(bucket, count);
  }
  return histogram;
}

function isBucket(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0 && (value as number) < BUCKETS;
}
