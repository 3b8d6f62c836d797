/**
 * Which types of parts a conversation contains. Most contain only text and calls, so searches for other types can be
 * skipped.
 */
import type { Message, OutputPart, ToolResultPart } from "./generate.ts";

type PartType = (OutputPart | ToolResultPart)["type"];

/** A list of messages is never modified once it has been read or made, so each is searched only once. */
const known = new WeakMap<readonly Message[], ReadonlySet<PartType>>();

/** Whether the messages contain a part of this type, including inside tool results. */
export function holdsPart(messages: readonly Message[], type: PartType): boolean {
  let types = known.get(messages);
  if (!types) known.set(messages, types = typesIn(messages));
  return types.has(type);
}

function typesIn(messages: readonly Message[]): Set<PartType> {
  const types = new Set<PartType>();
  for (const { content } of messages) {
    for (const part of content) {
      types.add(part.type);
      if (part.type === "tool-result") { for (const inner of part.content) types.add(inner.type); }
    }
  }
  return types;
}
