/** The terminal in which the gateway was started, if it was. */
import type { Platform } from "../platform/platform.ts";

const STREAMS = ["stdin", "stdout", "stderr"] as const;

export interface Terminal {
  /** Whether the terminal of the standard streams is gone. */
  isGone(): boolean;
}

/**
 * Watches the terminal that the standard streams have at this moment. A gateway that was started in a terminal ends with it. A
 * service has no terminal, and takes the same signal as a request to read its configuration again.
 */
export function watchTerminal({ isTerminal }: Pick<Platform, "isTerminal">): Terminal {
  const there = STREAMS.filter((stream) => isTerminal(stream));
  return { isGone: () => there.length > 0 && there.every((stream) => !isTerminal(stream)) };
}
