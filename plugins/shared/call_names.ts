/** The names of calls, for wires on which a result names its function. */
import type { Message } from "../../src/canonical/generate.ts";

/** The functions that were called, by the ids of the calls. */
export function namesOfCalls(messages: readonly Message[]): ReadonlyMap<string, string> {
  const calls = messages.flatMap(({ role, content }) => role === "assistant" ? content : []);
  return new Map(calls.flatMap((part) => part.type === "tool-call" ? [[part.id, part.name]] : []));
}
