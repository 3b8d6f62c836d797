import { builtin } from "./builtin.ts";

/** Calls `run` after `ms` milliseconds, unless the process has nothing else to do and ends before. Returns what cancels it. */
export function callWhileAlive(ms: number, run: () => void): () => void {
  // Those of `node:timers` can be told not to keep a process alive, on every runtime.
  const { clearTimeout, setTimeout } = builtin("node:timers");
  const timer = setTimeout(run, ms);
  timer.unref();
  return () => clearTimeout(timer);
}
