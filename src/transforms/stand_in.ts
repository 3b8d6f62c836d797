import type { OpaquePart, TextPart } from "../canonical/generate.ts";

/**
 * The words for a part of the history that only another wire has; nothing where there are none. `note` hears of either. They
 * are for the model alone: in an answer they would be told as its own.
 */
export function standInFor({ standIn, extra }: OpaquePart, note: (text: string) => void): TextPart | undefined {
  if (standIn === undefined) {
    noteDropped({ extra }, note);
    return undefined;
  }
  note(`replaced a part of type ${String(extra.fields.type)} by text`);
  return { type: "text", text: standIn };
}

/** A part that only another wire has, left out. */
export function noteDropped({ extra }: Pick<OpaquePart, "extra">, note: (text: string) => void): void {
  note(`dropped a part of type ${String(extra.fields.type)}`);
}
