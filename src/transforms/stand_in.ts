import type {
  GenerateRequest,
  Message,
  OpaquePart,
  OutputPart,
  TextPart,
  ToolResultPart,
} from "../canonical/generate.ts";
import { holdsPart } from "../canonical/part_types.ts";

type Part = OutputPart | ToolResultPart;

/** The request with words in place of the parts of its history that `wire` does not have; the same one where it has none. */
export function withStandIns(request: GenerateRequest, wire: string, note: (text: string) => void): GenerateRequest {
  if (!holdsPart(request.messages, "opaque")) return request;
  const isForeign = (part: { type: string }): part is OpaquePart =>
    part.type === "opaque" && (part as OpaquePart).extra.wire !== wire;
  const hasForeign = (part: Part): boolean =>
    part.type === "tool-result" ? part.content.some(isForeign) : isForeign(part);
  const replace = <P extends Part>(part: P): (P | TextPart)[] => {
    if (isForeign(part)) return [standInFor(part, note) ?? []].flat();
    return [part.type === "tool-result" ? { ...part, content: part.content.flatMap(replace) } : part];
  };
  const { messages } = request;
  const partsOf = ({ content }: Message): readonly Part[] => content;
  if (!messages.some((message) => partsOf(message).some(hasForeign))) return request;
  return {
    ...request,
    messages: messages.map((message) =>
      partsOf(message).some(hasForeign)
        ? { ...message, content: partsOf(message).flatMap(replace) } as Message
        : message
    ),
  };
}

/**
 * The words for a part of the history that only another wire has; nothing where there are none. `note` reports either. They
 * are for the model alone: in an answer they would pass for its own.
 */
export function standInFor({ standIn, extra }: OpaquePart, note: (text: string) => void): TextPart | undefined {
  if (standIn === undefined) {
    noteDropped({ extra }, note);
    return undefined;
  }
  note(`replaced a part of type ${String(extra.fields.type)} with text`);
  return { type: "text", text: standIn };
}

/** A part that only another wire has, left out. */
export function noteDropped({ extra }: Pick<OpaquePart, "extra">, note: (text: string) => void): void {
  note(`dropped a part of type ${String(extra.fields.type)}`);
}
