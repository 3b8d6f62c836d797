import { builtin } from "./builtin.ts";

/**
 * Calls `run` after `ms` milliseconds, unless the process ends first because it has nothing else to do. The returned function
 * cancels the call.
 */
export function callWhileAlive(ms: number, run: () => void): () => void {
  // On every runtime, timers of `node:timers` can be prevented from keeping a process alive.
  const { clearTimeout, setTimeout } = builtin("node:timers");
  const timer = setTimeout(run, ms);
  timer.unref();
  return () => clearTimeout(timer);
}
