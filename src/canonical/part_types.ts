/** Which types of parts a conversation has. Most have texts and calls alone, in which nobody need search for anything else. */
import type { Message, OutputPart, ToolResultPart } from "./generate.ts";

type Part = OutputPart | ToolResultPart;
type PartType = Part["type"];

/** Nobody changes a list of messages that is read or made, so each is looked through once. */
const known = new WeakMap<readonly Message[], ReadonlySet<PartType>>();

/** Whether the messages have a part of this type, inside a result or elsewhere. */
export function holdsPart(messages: readonly Message[], type: PartType): boolean {
  let types = known.get(messages);
  if (!types) known.set(messages, types = typesIn(messages));
  return types.has(type);
}

function typesIn(messages: readonly Message[]): Set<PartType> {
  const types = new Set<PartType>();
  for (const { content } of messages) addTypes(content, types);
  return types;
}

function addTypes(parts: readonly Part[], types: Set<PartType>): void {
  for (const part of parts) {
    types.add(part.type);
    if (part.type === "tool-result") addTypes(part.content, types);
  }
}
