/** The form of what commands print with `--json`: one object, whose `ok` tells whether the command could do its work. */
import type { StandardStreams } from "../observe/standard.ts";

export function printJson({ print }: Pick<StandardStreams, "print">, fields: object): void {
  print(JSON.stringify({ ok: true, ...fields }, null, 2));
}

/** Prints why a command failed. */
export function printFailure(streams: Pick<StandardStreams, "print">, reason: string, more: object = {}): void {
  // In one line, as it may be the last one of several.
  streams.print(JSON.stringify({ ok: false, reason, ...more }));
}
