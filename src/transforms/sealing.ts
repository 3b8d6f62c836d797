/**
 * What a model thought goes to the client and comes back with the next turn. Clients keep one opaque text beside it, so all
 * of it is sealed into that: it comes back as it was, whatever the client shows, trims or leaves out.
 */
import type { GenerateEvent, Message, OpaqueReasoning, OutputPart, ReasoningPart } from "../canonical/generate.ts";
import type { ReasoningPlace } from "../contract/protocol.ts";
import { changeReasoning } from "./reasoning.ts";

/** What is sealed of a part. */
export type Thought = Pick<ReasoningPart, "text" | "opaque" | "extra">;

/** How one answer's reasoning is sealed. */
export interface Sealing extends ReasoningPlace {
  /** The client's wire. */
  wire: string;
  seal(thought: Thought): Promise<string>;
}

/** What every sealed text begins with; the number is that of its form. */
export const SEALED_PREFIX = "lw1.";
const SEALED = /^lw\d+\./;

/** Where it is known which target wrote it, it is out of the gateway's memory, and what it looks like is that target's affair. */
function isSealed(opaque: OpaqueReasoning | undefined): opaque is OpaqueReasoning {
  return opaque !== undefined && opaque.target === undefined && SEALED.test(opaque.data);
}

/** Whether there is anything to open. */
export function holdsSealed(messages: readonly Message[]): boolean {
  return messages.some(({ role, content }) =>
    role === "assistant" && content.some((part) => part.type === "reasoning" && isSealed(part.opaque))
  );
}

/**
 * The messages with what was sealed in place of what the client kept of it. Of what does not open the visible text stays, and
 * `note` hears of it; what somebody else sealed or signed stays as it is.
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
    note("dropped reasoning that was sealed with another key or for somebody else");
    return visible.text === "" ? [] : [visible];
  });
}

/** The parts of a whole answer, as the client is to have them. */
export async function sealReasoning(parts: readonly OutputPart[], sealing: Sealing): Promise<OutputPart[]> {
  const sealed: OutputPart[] = [];
  for (const part of parts) {
    if (part.type !== "reasoning" || staysOpen(part, sealing)) sealed.push(part);
    else {
      const opaque = await toOpaque(part, sealing);
      sealed.push({ ...part, text: sealing.hidden ? "" : part.text, opaque });
    }
  }
  return sealed;
}

/** The same step by step: what seals a part comes at its end, unless nothing of it can be told in words. */
export async function* sealStream(
  events: AsyncIterable<GenerateEvent>,
  sealing: Sealing,
): AsyncGenerator<GenerateEvent> {
  let open: ReasoningPart | undefined;
  for await (const event of events) {
    switch (event.type) {
      case "part-start": {
        const { part } = event;
        if (part.type !== "reasoning") yield event;
        else if (part.opaque === undefined) {
          open = { ...part };
          yield event;
        } else if (staysOpen(part, sealing)) yield event;
        else yield { ...event, part: { ...part, opaque: await toOpaque(part, sealing) } };
        break;
      }
      case "part-delta":
        if (open) open.text += event.delta.text;
        if (!open || !sealing.hidden) yield event;
        break;
      case "part-end": {
        const whole = open &&
          { ...open, ...(event.opaque && { opaque: event.opaque }), extra: event.extra ?? open.extra };
        open = undefined;
        if (!whole || staysOpen(whole, sealing)) yield event;
        else yield { ...event, opaque: await toOpaque(whole, sealing) };
        break;
      }
      default:
        yield event;
    }
  }
}

/** Whether there is nothing to seal, or nothing that needs it. An upstream that is such a gateway too must not be taken for this one. */
function staysOpen({ text, opaque }: Thought, { wire, hidden, keepsOwn }: Sealing): boolean {
  if (!opaque) return text === "";
  return keepsOwn && opaque.origin === wire && !SEALED.test(opaque.data) && (text === "" || !hidden);
}

/** Sealed as what the client's wire takes for its vendor's own. What the wire itself carries needs no sealing. */
async function toOpaque({ text, opaque, extra }: Thought, { wire, seal }: Sealing): Promise<OpaqueReasoning> {
  const foreign = extra && extra.wire !== wire ? extra : undefined;
  const data = await seal({ text, ...(opaque && { opaque }), ...(foreign && { extra: foreign }) });
  return { origin: wire, data };
}
