/** Milliseconds since the epoch, with fractions: what two processes of one machine can compare. */
export function clock(): number {
  return performance.timeOrigin + performance.now();
}
