/** What becomes of the reasoning of earlier turns: some only the target can read that wrote it, and some targets take none. */
import type {
  GenerateEvent,
  GenerateRequest,
  Message,
  OpaqueReasoning,
  OutputPart,
  ReasoningPart,
} from "../canonical/generate.ts";
import { holdsPart } from "../canonical/part_types.ts";
import type { StreamTransform } from "../contract/stream.ts";

/** The part, marked as what `target` wrote, unless it is known who did. */
export function markReasoning(part: OutputPart, target: string): OutputPart {
  return part.type === "reasoning" && part.opaque ? { ...part, opaque: { target, ...part.opaque } } : part;
}

/** The same of the events of an answer; `targetOf` says who gives it. */
export function markThoughts(targetOf: () => string | undefined): StreamTransform<GenerateEvent> {
  return {
    push(event, emit) {
      const target = targetOf() ?? "";
      if (event.type === "part-start") return emit({ ...event, part: markReasoning(event.part, target) });
      if (event.type !== "part-end" || !event.opaque) return emit(event);
      emit({ ...event, opaque: { target, ...event.opaque } });
    },
  };
}

/** To another target it is noise, which some refuse: only the plain text of it stays. `note` reports it. */
export function withoutForeignReasoning<T extends GenerateRequest>(
  input: T,
  target: string,
  note: (text: string) => void,
): T {
  const messages = changeReasoning(input.messages, ({ opaque, ...plain }) => {
    if (!isAnothers(opaque, target)) return undefined;
    return plain.text === "" ? [] : [plain];
  });
  if (messages === input.messages) return input;
  note("dropped reasoning that only another model can read");
  return { ...input, messages };
}

/** The request without what was thought in earlier turns; the same one where there is nothing of it. `note` reports it. */
export function withoutReasoning<T extends GenerateRequest>(input: T, note: (text: string) => void): T {
  const messages = changeReasoning(input.messages, () => []);
  if (messages === input.messages) return input;
  note("dropped reasoning of earlier turns");
  return { ...input, messages };
}

/** The request without the reasoning that a server refuses, because nobody has signed it. `note` reports it. */
export function withoutUnsignedReasoning<T extends GenerateRequest>(
  input: T,
  isUnsigned: (part: ReasoningPart) => boolean,
  note: (text: string) => void,
): T {
  const messages = changeReasoning(input.messages, (part) => isUnsigned(part) ? [] : undefined);
  if (messages === input.messages) return input;
  note("dropped reasoning that its vendor has not signed");
  return { ...input, messages };
}

/**
 * The messages with what `change` puts in place of a reasoning part, which stays where it gives nothing. They are the same
 * messages where every one of them stays.
 */
export function changeReasoning(
  messages: Message[],
  change: (part: ReasoningPart) => OutputPart[] | undefined,
): Message[] {
  if (!holdsPart(messages, "reasoning")) return messages;
  let changed = false;
  const turns = messages.flatMap((message): Message[] => {
    if (message.role !== "assistant") return [message];
    let touched = false;
    const content = message.content.flatMap((part) => {
      const others = part.type === "reasoning" ? change(part) : undefined;
      if (others) touched = true;
      return others ?? [part];
    });
    if (!touched) return [message];
    changed = true;
    // A turn in which nothing is left is none, and servers refuse it.
    return content.length > 0 ? [{ ...message, content }] : [];
  });
  return changed ? turns : messages;
}

function isAnothers(opaque: OpaqueReasoning | undefined, target: string): boolean {
  return opaque?.target !== undefined && opaque.target !== target;
}
