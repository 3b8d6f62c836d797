/** The terminal in which the gateway was started, if it was. */

/** Standard input, output or error. */
type Stream = Pick<typeof Deno.stdin, "isTerminal">;

/**
 * Tells whether the terminal is gone that these streams were at when this was called: what is started in one ends with it,
 * while a service, which has none, takes the same signal as a wish to read its configuration again.
 */
export function watchTerminal(
  streams: readonly Stream[] = [Deno.stdin, Deno.stdout, Deno.stderr],
): { isGone(): boolean } {
  const there = streams.filter((stream) => stream.isTerminal());
  return { isGone: () => there.length > 0 && there.every((stream) => !stream.isTerminal()) };
}
