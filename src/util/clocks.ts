/** The time of day, and a clock for durations. */
export interface Clocks {
  /** Milliseconds since the epoch. */
  now(): number;
  /** Milliseconds by a monotonic clock with any starting point. */
  monotonic(): number;
}
