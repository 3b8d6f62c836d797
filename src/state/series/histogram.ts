/** Durations by how often they occurred. Histograms with the same fixed bounds can be added, whoever counted them. */

/** How often each bucket occurred, by its index. Buckets that never did are absent. */
export type Histogram = Map<number, number>;

/** Two buckets to each power of two milliseconds: a quantile is off by a fifth at most. The last one has no upper bound. */
const PER_DOUBLING = 2;
/** The last bucket begins at half an hour. */
export const BUCKETS = 42;

export function bucketOf(ms: number): number {
  const index = Math.ceil(PER_DOUBLING * Math.log2(Math.max(1, ms)));
  return Math.min(BUCKETS - 1, Number.isNaN(index) ? 0 : index);
}

export function observe(histogram: Histogram, ms: number): void {
  const bucket = bucketOf(ms);
  histogram.set(bucket, (histogram.get(bucket) ?? 0) + 1);
}

export function addHistogram(into: Histogram, other: Histogram): void {
  for (const [bucket, count] of other) into.set(bucket, (into.get(bucket) ?? 0) + count);
}

export function countIn(histogram: Histogram): number {
  let sum = 0;
  for (const count of histogram.values()) sum += count;
  return sum;
}

/** The milliseconds that a share of the durations does not exceed: 0.5 is the median. `undefined` if there are none. */
export function quantileOf(histogram: Histogram, share: number): number | undefined {
  const total = countIn(histogram);
  if (total === 0) return undefined;
  let left = share * total;
  const buckets = [...histogram].sort(([one], [other]) => one - other);
  for (const [bucket, count] of buckets) {
    if (left <= count) return within(bucket, left / count);
    left -= count;
  }
  return within(buckets.at(-1)![0], 1);
}

/** The durations of a bucket are taken to be spread evenly, as ratios. */
function within(bucket: number, share: number): number {
  if (bucket === 0) return 1;
  return Math.round(2 ** ((bucket - 1 + share) / PER_DOUBLING));
}
