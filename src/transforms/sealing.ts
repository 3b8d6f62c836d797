/**
 * Reasoning goes to the client and comes back with the next turn. Clients keep one opaque text beside it, so all of it
 * is sealed into that text. It comes back unchanged, whatever the client shows, trims or leaves out.
 */
import type { GenerateEvent, Message, OpaqueReasoning, ReasoningPart } from "../canonical/generate.ts";
import { holdsPart } from "../canonical/part_types.ts";
import type { ReasoningPlace } from "../contract/protocol.ts";
import type { Emit, StreamTransform } from "../contract/stream.ts";
import { changeReasoning } from "./reasoning.ts";

/** The sealed content of a part. */
export type Thought = Pick<ReasoningPart, "text" | "opaque" | "extra">;

/** How the reasoning of one answer is sealed. */
export interface Sealing extends ReasoningPlace {
  /** The client's wire. */
  wire: string;
  seal(thought: Thought): string;
}

/** The prefix of every sealed text. The number is the version of the format. */
export const SEALED_PREFIX = "lw1.";
const SEALED = /^lw\d+\./;

/**
 * If the target that wrote it is known, it comes from the gateway's own memory, and its format is that target's
 * business.
 */
function isSealed(opaque: OpaqueReasoning | undefined): opaque is OpaqueReasoning {
  return opaque !== undefined && opaque.target === undefined && SEALED.test(opaque.data);
}

/** Whether a text may have been sealed by a gateway. */
export function isSealedText(text: string): boolean {
  return SEALED.test(text);
}

/** The sealed texts. */
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
 * The messages with sealed parts restored in place of what the client kept. If one cannot be opened, its visible text
 * stays and `note` reports it. What others have sealed or signed stays as it is.
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

/** Seals reasoning. The sealed text comes at the end of a part, or at once if the part has no visible text. */
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
  const transform = {
    // Only the text of reasoning is sealed.
    passesDeltas: true,
    push(event: GenerateEvent, emit: Emit<GenerateEvent>) {
      const changed = sealed(event);
      transform.passesDeltas = open === undefined;
      if (changed) emit(changed);
    },
  };
  return transform;
}

/**
 * Whether the part needs no sealing. What another gateway upstream has sealed must not be mistaken for this gateway's.
 */
function staysOpen({ text, opaque }: Thought, { wire, hidden, keepsOwn }: Sealing): boolean {
  if (!opaque) return text === "";
  return keepsOwn && opaque.origin === wire && !SEALED.test(opaque.data) && (text === "" || !hidden);
}

/**
 * The part sealed in the form of the vendor's own signature on the client's wire. What the wire carries itself is not
 * sealed.
 */
function toOpaque({ text, opaque, extra }: Thought, { wire, seal }: Sealing): OpaqueReasoning {
  const foreign = extra && extra.wire !== wire ? extra : undefined;
  const data = seal({ text, ...(opaque && { opaque }), ...(foreign && { extra: foreign }) });
  return { origin: wire, data };
}
