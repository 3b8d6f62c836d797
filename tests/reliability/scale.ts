/**
 * How large the runs are: as the figures in the README were measured with `LANEWAY_RELIABILITY=full`, else short enough for
 * every day.
 */
export const IS_FULL = Deno.env.get("LANEWAY_RELIABILITY") === "full";

/** The number for a whole run, or the one for a short run. */
export function scaled(full: number, short: number): number {
  return IS_FULL ? full : short;
}

/** A figure for the one who runs it. */
export function report(text: string): void {
  // deno-lint-ignore no-console -- what a run found out
  console.log(`  ${text}`);
}
