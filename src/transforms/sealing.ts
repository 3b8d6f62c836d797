/**
 * What a model thought goes to the client and comes back with the next turn. Clients keep one opaque text beside it, so all
 * of it is sealed into that: it comes back as it was, whatever the client shows, trims or leaves out.
 */
import type { GenerateEvent, Message, OpaqueReasoning, OutputPart, ReasoningPart } from "../canonical/generate.ts";
import { holdsPart } from "../canonical/part_types.ts";
import type { ReasoningPlace } from "../contract/protocol.ts";
import type { StreamTransform } from "../contract/stream.ts";
import { changeReasoning } from "./reasoning.ts";

/** What is sealed of a part. */
export type Thought = Pick<ReasoningPart, "text" | "opaque" | "extra">;

/** How one answer's reasoning is sealed. */
export interface Sealing extends ReasoningPlace {
  /** The client's wire. */
  wire: string;
  seal(thought: Thought): string;
}

/** What every sealed text begins with; the number is that of its form. */
export const SEALED_PREFIX = "lw1.";
const SEALED = /^lw\d+\./;

/** Where it is known which target wrote it, it is out of the gateway's memory, and what it looks like is that target's affair. */
function isSealed(opaque: OpaqueReasoning | undefined): opaque is OpaqueReasoning {
  return opaque !== undefined && opaque.target === undefined && SEALED.test(opaque.data);
}

/** Whether a text may be one that a gateway sealed. */
export function isSealedText(text: string): boolean {
  return SEALED.test(text);
}

/** What there is to open. */
export function sealedIn(messages: readonly Message[]): OpaqueReasoning[] {
  if (!holdsPart(messages, "reasoning")) return [];
  const sealed: OpaqueReasoning[] = [];
  for (const { role, content } of messages) {
    if (role !== "assistant") continue;
    for (const part of content) if (part.type === "reasoning" && isSealed(part.opaque)) sealed.push(part.opaque);
  }
  return sealed;
}

/**
 * The messages with what was sealed in place of what the client kept of it. Of what does not open the visible text stays, and
 * `note` reports it; what somebody else sealed or signed stays as it is.
 */
export function openReasoning(
  messages: Message[],
  open: (opaque: OpaqueReasoning) => Thought | undefined,
  note: (text: string) => void,
): Message[] {
  return changeReasoning(messages, ({ opaque, ...visible }) => {
    if (!isSealed(opaque)) return undefined;
    const thought = open(opaque);
    if (thought) return [{ ...visible, ...thought }];
    note("dropped reasoning that was sealed with another key or for another caller");
    return visible.text === "" ? [] : [visible];
  });
}

/** The parts of a whole answer, as the client is to have them. */
export function sealReasoning(parts: readonly OutputPart[], sealing: Sealing): OutputPart[] {
  return parts.map((part) => {
    if (part.type !== "reasoning" || staysOpen(part, sealing)) return part;
    return { ...part, text: sealing.hidden ? "" : part.text, opaque: toOpaque(part, sealing) };
  });
}

/** The same step by step: what seals a part comes at its end, unless nothing of it can be put into words. */
export function sealStream(sealing: Sealing): StreamTransform<GenerateEvent> {
  let open: ReasoningPart | undefined;
  const sealed = (event: GenerateEvent): GenerateEvent | undefined => {
    switch (event.type) {
      case "part-start": {
        const { part } = event;
        if (part.type !== "reasoning") return event;
        if (part.opaque === undefined) {
          open = { ...part };
          return event;
        }
        return staysOpen(part, sealing) ? event : { ...event, part: { ...part, opaque: toOpaque(part, sealing) } };
      }
      case "part-delta":
        if (open) open.text += event.delta.text;
        return open && sealing.hidden ? undefined : event;
      case "part-end": {
        const whole = open &&
          { ...open, ...(event.opaque && { opaque: event.opaque }), extra: event.extra ?? open.extra };
        open = undefined;
        return !whole || staysOpen(whole, sealing) ? event : { ...event, opaque: toOpaque(whole, sealing) };
      }
      default:
        return event;
    }
  };
  return {
    push(event, emit) {
      const changed = sealed(event);
      if (changed) emit(changed);
    },
  };
}

/** Whether there is nothing to seal, or nothing that needs it. An upstream that is such a gateway too must not be taken for this one. */
function staysOpen({ text, opaque }: Thought, { wire, hidden, keepsOwn }: Sealing): boolean {
  if (!opaque) return text === "";
  return keepsOwn && opaque.origin === wire && !SEALED.test(opaque.data) && (text === "" || !hidden);
}

/** Sealed as what the client's wire takes for its vendor's own. What the wire itself carries needs no sealing. */
function toOpaque({ text, opaque, extra }: Thought, { wire, seal }: Sealing): OpaqueReasoning {
  const foreign = extra && extra.wire !== wire ? extra : undefined;
  const data = seal({ text, ...(opaque && { opaque }), ...(foreign && { extra: foreign }) });
  return { origin: wire, data };
}
