/** Timers that nobody clears. */

/**
 * Calls `run` in so many milliseconds. The first of the platform's own timers takes Deno (2.9.6) 10 ms, which a start cannot spare.
 * Node lets a process end that waits for the other kind alone.
 */
export function after(ms: number, run: () => void): void {
  if ("Deno" in globalThis) AbortSignal.timeout(ms).addEventListener("abort", () => run(), { once: true });
  else setTimeout(run, ms);
}

export function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => after(Math.ceil(ms), resolve));
}
