/** Reasoning that only the target can read that wrote it, once the gateway remembers which one that was. */
import type { GenerateRequest, Message, OpaqueReasoning, OutputPart } from "./generate.ts";

/** The part, marked as what `target` wrote. */
export function markReasoning(part: OutputPart, target: string): OutputPart {
  return part.type === "reasoning" && part.opaque ? { ...part, opaque: { ...part.opaque, target } } : part;
}

/** To another target it is noise, which some refuse: only the plain text of it stays. `note` hears of it. */
export function withoutForeignReasoning<T extends GenerateRequest>(
  input: T,
  target: string,
  note: (text: string) => void,
): T {
  const isForeign = (message: Message) =>
    message.role === "assistant" &&
    message.content.some((part) => part.type === "reasoning" && isAnothers(part.opaque, target));
  if (!input.messages.some(isForeign)) return input;
  note("dropped reasoning that only another model can read");
  const messages = input.messages.flatMap((message): Message[] => {
    if (message.role !== "assistant" || !isForeign(message)) return [message];
    const content = message.content.flatMap((part): OutputPart[] => {
      if (part.type !== "reasoning" || !isAnothers(part.opaque, target)) return [part];
      const { opaque: _, ...plain } = part;
      return plain.text === "" ? [] : [plain];
    });
    // A turn in which nothing is left is none, and servers refuse it.
    return content.length > 0 ? [{ ...message, content }] : [];
  });
  return { ...input, messages };
}

function isAnothers(opaque: OpaqueReasoning | undefined, target: string): boolean {
  return opaque?.target !== undefined && opaque.target !== target;
}
