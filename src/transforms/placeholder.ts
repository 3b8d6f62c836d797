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

/** The request with text in place of history parts that `wire` does not have; the same object if there are none. */
export function withPlaceholders(
  request: GenerateRequest,
  wire: string,
  note: (text: string) => void,
): GenerateRequest {
  if (!holdsPart(request.messages, "opaque")) return request;
  const isForeign = (part: { type: string }): part is OpaquePart =>
    part.type === "opaque" && (part as OpaquePart).extra.wire !== wire;
  const hasForeign = (part: Part): boolean =>
    part.type === "tool-result" ? part.content.some(isForeign) : isForeign(part);
  const replace = <P extends Part>(part: P): (P | TextPart)[] => {
    if (isForeign(part)) return [placeholderFor(part, note) ?? []].flat();
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
 * The text for a history part that only another wire has; `undefined` if there is none. `note` reports either case. It
 * is only for requests: in an answer it would look like the model's own words.
 */
export function placeholderFor({ standIn, extra }: OpaquePart, note: (text: string) => void): TextPart | undefined {
  if (standIn === undefined) {
    noteDropped({ extra }, note);
    return undefined;
  }
  note(`replaced a part of type ${String(extra.fields.type)} with text`);
  return { type: "text", text: standIn };
}

/** Reports that a part of another wire is left out. */
export function noteDropped({ extra }: Pick<OpaquePart, "extra">, note: (text: string) => void): void {
  note(`dropped a part of type ${String(extra.fields.type)}`);
}
