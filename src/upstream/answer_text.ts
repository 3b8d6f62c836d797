/**
 * How much a model may write in one answer. A text is written out up to five times where a wire repeats it at the end of its
 * stream, so the limit on bytes, which pictures and vectors need, is too wide for it.
 */
import type { GenerateEvent, OutputPart } from "../canonical/generate.ts";
import type { StreamReader } from "../contract/stream.ts";
import { GatewayError } from "../errors.ts";

/** Throws `upstream_error` where the parts together have more than `most` characters. */
export function checkText(parts: readonly OutputPart[], most: number): void {
  if (parts.reduce((length, part) => length + textOf(part).length, 0) > most) throw tooMuchText(most);
}

function textOf(part: OutputPart): string {
  if (part.type === "tool-call") return part.input;
  return "text" in part ? part.text : "";
}

/** The same reader, which throws `upstream_error` once its events have more than `most` characters. */
export function withinText<E extends { type: string }>(reader: StreamReader<E>, most: number): StreamReader<E> {
  let length = 0;
  const counted = (emit: (event: E) => void) => (event: E) => {
    if (isDelta(event)) length += event.delta.text.length;
    if (length > most) throw tooMuchText(most);
    emit(event);
  };
  return {
    read: (frame, emit) => reader.read(frame, counted(emit)),
    end: (emit) => reader.end(counted(emit)),
    get done() {
      return reader.done;
    },
  };
}

function isDelta(event: { type: string }): event is GenerateEvent & { type: "part-delta" } {
  return event.type === "part-delta";
}

function tooMuchText(most: number): GatewayError {
  const message = `The upstream's answer has more than ${most} characters of text`;
  return new GatewayError("upstream_error", message, { retryable: false, cause: new RangeError(message) });
}
