import type { OpaquePart, TextPart } from "./generate.ts";

/** The words for a part that only another wire has; nothing where there are none. `note` hears of either. */
export function standInFor({ standIn, extra }: OpaquePart, note: (text: string) => void): TextPart | undefined {
  const type = String(extra.fields.type);
  note(standIn === undefined ? `dropped a part of type ${type}` : `replaced a part of type ${type} by text`);
  return standIn === undefined ? undefined : { type: "text", text: standIn };
}
