/** Joins the outputs of the assistant that form one turn. */
import type { AssistantMessage, Message } from "../canonical/generate.ts";
import { type Extra, mergeExtras } from "../canonical/extra.ts";

/**
 * On some wires each output of the assistant is a turn. Elsewhere its reasoning, text and calls form one. `onlyAfterCalls`: a turn
 * without calls stays as it is.
 */
export function joinAssistant(messages: readonly Message[], { onlyAfterCalls = false } = {}): Message[] {
  const joined: Message[] = [];
  /** The last turn, if others may join it, and what each of those that did carries. */
  let open: AssistantMessage | undefined;
  let extras: (Extra | undefined)[] = [];
  const close = () => {
    if (open && extras.length > 1) open.extra = mergeExtras(extras);
  };
  for (const message of messages) {
    if (message.role === "assistant" && open) {
      for (const part of message.content) open.content.push(part);
      if (message.extra) extras.push(message.extra);
      continue;
    }
    close();
    const turn = message.role === "assistant" ? { ...message, content: [...message.content] } : message;
    joined.push(turn);
    open = turn.role === "assistant" && (!onlyAfterCalls || hasCalls(turn)) ? turn : undefined;
    extras = [turn.extra];
  }
  close();
  return joined;
}

function hasCalls({ content }: AssistantMessage): boolean {
  return content.some(({ type }) => type === "tool-call");
}
