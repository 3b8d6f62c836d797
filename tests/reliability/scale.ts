/**
 * How large the runs are: as the figures in docs/operation.md were measured with `LANEWAY_RELIABILITY=full`; with `most`, as CI runs
 * them, without what takes many minutes and without figures of time, because its machine may be busy; else short enough for
 * every day.
 */
const SIZE = Deno.env.get("LANEWAY_RELIABILITY");
export const IS_FULL = SIZE === "full";

/** What takes too long for every day; its name says so where it is skipped. */
export const RARELY = {
  ignore: SIZE === undefined,
  why: SIZE === undefined ? " (skipped: it takes long; .ci/run runs it, with LANEWAY_RELIABILITY=most)" : "",
};

/** The number for a whole run, for a short one, or for most of the whole. */
export function scaled(full: number, short: number, most = full): number {
  return IS_FULL ? full : SIZE === "most" ? most : short;
}

/** A figure for the one who runs it. */
export function report(text: string): void {
  // deno-lint-ignore no-console -- what a run found out
  console.log(`  ${text}`);
}
