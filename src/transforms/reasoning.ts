/**
 * Reasoning of earlier turns. Some of it can be read only by the target that wrote it, and some targets accept none.
 */
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

/** The part, attributed to `target` unless its author is known. */
export function markReasoning(part: OutputPart, target: string): OutputPart {
  return part.type === "reasoning" && part.opaque ? { ...part, opaque: { target, ...part.opaque } } : part;
}

/** Attributes the reasoning in the events of an answer to the target that `targetOf` returns. */
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

/**
 * Removes the opaque reasoning of other targets, which some targets refuse. Its plain text stays. `note` reports it.
 */
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

/** The request without reasoning of earlier turns; the same object if it has none. `note` reports it. */
export function withoutReasoning<T extends GenerateRequest>(input: T, note: (text: string) => void): T {
  const messages = changeReasoning(input.messages, () => []);
  if (messages === input.messages) return input;
  note("dropped reasoning of earlier turns");
  return { ...input, messages };
}

/** The request without unsigned reasoning that the server refuses. `note` reports it. */
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
 * The messages with each reasoning part replaced by the result of `change`. Returns the same messages if nothing
 * changes.
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
    // Servers refuse an empty turn.
    return content.length > 0 ? [{ ...message, content }] : [];
  });
  return changed ? turns : messages;
}

function isAnothers(opaque: OpaqueReasoning | undefined, target: string): boolean {
  return opaque?.target !== undefined && opaque.target !== target;
}
