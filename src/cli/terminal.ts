/** The terminal in which the gateway was started, if it was. */
import type { Platform } from "../platform/platform.ts";

const STREAMS = ["stdin", "stdout", "stderr"] as const;

export interface Terminal {
  /** Whether the terminal is gone that the standard streams were at. */
  isGone(): boolean;
}

/**
 * Tells whether the terminal is gone that the standard streams were at when this was called: what is started in one ends with
 * it, while a service, which has none, takes the same signal as a wish to read its configuration again.
 */
export function watchTerminal({ isTerminal }: Pick<Platform, "isTerminal">): Terminal {
  const there = STREAMS.filter((stream) => isTerminal(stream));
  return { isGone: () => there.length > 0 && there.every((stream) => !isTerminal(stream)) };
}
