/** Calls without results and results without calls, on a wire where each is a separate item. */
import type { Message } from "../canonical/generate.ts";
import { inWords, isArranged, type Note, noteLost, unanswered } from "./turns.ts";

/**
 * Repairs the conversation for an upstream of the client's own wire, where a result may be anywhere after its call:
 * only items without any counterpart are repaired. Items that are passed through unchanged (`isWhole`) are left to the
 * upstream.
 */
export function mendItems(
  messages: readonly Message[],
  isWhole: (message: Message) => boolean,
  note: Note,
): readonly Message[] {
  const unpaired = unpairedIn(messages.filter((message) => !isWhole(message)));
  if (unpaired.size === 0) return messages;
  const mended: Message[] = [];
  let open: string[] = [];
  for (const message of messages) {
    const { role } = message;
    if (role !== "assistant" && open.length > 0) {
      for (const id of open) note(`added a result for call ${id}, which had none`);
      mended.push({ role: "tool", content: open.map(unanswered) });
      open = [];
    }
    if (role === "assistant") {
      for (const part of message.content) if (part.type === "tool-call" && unpaired.has(part)) open.push(part.id);
    }
    const strays = role === "tool" ? message.content.filter((result) => unpaired.has(result)) : [];
    if (role !== "tool" || strays.length === 0) {
      mended.push(message);
      continue;
    }
    const own = message.content.filter((result) => !unpaired.has(result));
    if (own.length > 0) mended.push({ ...message, content: own });
    else noteLost(message.extra, note);
    mended.push({ role: "user", content: strays.flatMap((result) => inWords(result, note)) });
  }
  return mended;
}

/** The calls without results, and the results without calls. */
function unpairedIn(messages: readonly Message[]): Set<unknown> {
  const unpaired = new Set<unknown>();
  // The usual case. Calls at the very end have no results.
  if (messages.at(-1)?.role !== "assistant" && isArranged(messages)) return unpaired;
  /** By id: its calls in order, and how many of them have results. */
  const called = new Map<string, { parts: unknown[]; answered: number }>();
  for (const { role, content } of messages) {
    for (const part of content) {
      if (part.type === "tool-call" && role === "assistant") {
        unpaired.add(part);
        const calls = called.get(part.id) ?? { parts: [], answered: 0 };
        calls.parts.push(part);
        called.set(part.id, calls);
      } else if (part.type === "tool-result") {
        const calls = called.get(part.id);
        if (calls && calls.answered < calls.parts.length) unpaired.delete(calls.parts[calls.answered++]);
        else unpaired.add(part);
      }
    }
  }
  return unpaired;
}
