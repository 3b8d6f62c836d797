/** Rows as a record of the store. Another version may have written it, so it may hold anything. */
import { asList, asObject, asObjects, asTexts, isCount, type JsonObject } from "../../canonical/json.ts";
import { BUCKETS, type Histogram } from "./histogram.ts";
import { addTo, COUNTS, DIMENSIONS, noSums, type Row, type Rows } from "./rows.ts";

/** The version of the record format. */
const VERSION = 1;

/** The record with the rows added. `room`: how many rows it may have that keep all of their names. */
export function withRows(value: unknown, added: Rows, room: number): object {
  const rows: Rows = new Map();
  for (const { names, sums } of rowsIn(value)) addTo(rows, names, sums, Infinity);
  for (const { names, sums } of added.values()) addTo(rows, names, sums, room);
  return { version: VERSION, ...asObject(value), rows: Array.from(rows.values(), written) };
}

/** Leaves out sums of 0. */
function written({ names, sums }: Row): JsonObject {
  const counts = COUNTS.filter((name) => sums[name] > 0).map((name) => [name, sums[name]]);
  return {
    names: [...names],
    ...Object.fromEntries(counts),
    ...(sums.pico > 0n && { pico: String(sums.pico) }),
    duration: pairsOf(sums.duration),
    ...(sums.firstEvent.size > 0 && { firstEvent: pairsOf(sums.firstEvent) }),
  };
}

/** A histogram as a list: a bucket, how often it occurred, the next bucket, and so on. */
function pairsOf(histogram: Histogram): number[] {
  return [...histogram].flat();
}

export function* rowsIn(value: unknown): Generator<Row> {
  for (const row of asObjects(asObject(value).rows)) {
    const names = asTexts(row.names);
    if (names.length !== DIMENSIONS.length) continue;
    const sums = noSums();
    for (const name of COUNTS) sums[name] = isCount(row[name]) ? row[name] : 0;
    const pico = String(row.pico ?? 0);
    sums.pico = /^\d{1,40}$/.test(pico) ? BigInt(pico) : 0n;
    sums.duration = histogramIn(row.duration);
    sums.firstEvent = histogramIn(row.firstEvent);
    yield { names, sums };
  }
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
